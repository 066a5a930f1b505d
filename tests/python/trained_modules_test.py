"""The trainer takes each parameter of a module once, and leaves the final state in the module."""
import gc
import re
import weakref

import pytest
import torch

import isinglass as ig
from conftest import Mlp, bars

SITES = 16
OPTIONS = {"sampler": "gwg", "batch": 10, "buffer": 20, "steps_per_iter": 1, "warmup": 0,
           "lr": 1e-2, "seed": 1}


class Tied(torch.nn.Module):
    """xᵀ tanh(Wx) with W in one layer or, the same tensor, in two."""

    def __init__(self, twice):
        super().__init__()
        self.enc = torch.nn.Linear(SITES, SITES, bias=False)
        self.dec = torch.nn.Linear(SITES, SITES, bias=False) if twice else None
        with torch.no_grad():
            self.enc.weight.copy_(torch.randn(SITES, SITES,
                                              generator=torch.Generator().manual_seed(1)) * 0.2)
        if twice:
            self.dec.weight = self.enc.weight

    def forward(self, x):
        return ((self.dec or self.enc)(torch.tanh(self.enc(x))) * x).sum(1)


@pytest.mark.parametrize("more", [{}, {"clip": 0.1}, {"weight_decay": 0.5}])
def test_a_parameter_of_two_names_is_trained_once(more):
    one, two = Tied(False), Tied(True)
    fits = [ig.train(module, bars(60), iters=20, **OPTIONS, **more) for module in (one, two)]
    assert torch.equal(one.enc.weight, two.enc.weight)
    assert fits[0].metrics[-1]["gradient_norm"] == fits[1].metrics[-1]["gradient_norm"]
    assert set(fits[1].parameters) == {"enc.weight", "dec.weight"}
    assert torch.equal(fits[1].parameters["dec.weight"], fits[0].parameters["enc.weight"])
    two.load_state_dict(fits[1].parameters)
    assert set(ig.energy(two, sites=SITES).parameters()) == set(two.state_dict())


class BufferWithGradient(torch.nn.Module):
    """Spectral normalisation as in published code: the weight in use is a buffer that needs
    gradients and is set at every call, as is the vector of the power iteration.
    """

    def __init__(self):
        super().__init__()
        generator = torch.Generator().manual_seed(2)
        self.weight_orig = torch.nn.Parameter(torch.randn(8, SITES, generator=generator))
        self.register_buffer("weight", self.weight_orig)
        self.register_buffer("u", torch.ones(8) / 8**0.5)
        self.register_buffer("mean", torch.zeros(SITES))

    def forward(self, x):
        with torch.no_grad():
            v = torch.nn.functional.normalize(self.weight_orig.t() @ self.u, dim=0)
            self.u = torch.nn.functional.normalize(self.weight_orig @ v, dim=0)
            self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        self.weight = self.weight_orig / (self.u @ self.weight_orig @ v)
        return torch.tanh(x @ self.weight.t()).sum(1)


@pytest.mark.parametrize("fresh", [True, False])
def test_buffers_that_need_gradients_and_those_that_are_replaced(fresh, capfd):
    module = BufferWithGradient()
    if not fresh:
        module(torch.zeros(2, SITES))
    before = module.weight_orig.detach().clone()
    ig.train(module, bars(60), iters=1, **OPTIONS)
    step = (module.weight_orig - before).abs().max().item()
    assert step == pytest.approx(1e-2, rel=1e-3)  # Adam's first step equals the learning rate
    fit = ig.train(module, bars(60), iters=20, ema=0.0, **OPTIONS)
    for name in ("u", "mean", "weight_orig"):
        assert torch.equal(fit.parameters[name], module.state_dict()[name]), name
    assert not fit.parameters["mean"].eq(0).all()
    assert all(parameter.grad is None for parameter in module.parameters())
    assert "leaf" not in capfd.readouterr().err


def test_a_resumed_run_has_the_buffers_of_the_interrupted_one(tmp_path):
    whole = ig.train(BufferWithGradient(), bars(60), iters=12, out=tmp_path / "whole", **OPTIONS)
    ig.train(BufferWithGradient(), bars(60), iters=6, out=tmp_path / "parts", **OPTIONS)
    again = ig.train(BufferWithGradient(), bars(60), iters=12, out=tmp_path / "parts", **OPTIONS)
    for name, tensor in whole.parameters.items():
        assert torch.equal(again.parameters[name], tensor), name


def test_a_run_that_is_over_has_its_frame(tmp_path):
    for _ in range(2):
        frame = ig.train(Mlp(SITES), bars(60), iters=3, out=tmp_path, **OPTIONS).frame
        assert len(frame) == 3 and frame.index.name == "iteration"


@pytest.mark.parametrize("layer", [lambda: torch.nn.LazyLinear(12), lambda: torch.nn.Sequential(
    torch.nn.Unflatten(1, (1, SITES)), torch.nn.LazyConv1d(3, 5), torch.nn.Flatten(1))])
def test_lazy_modules(layer):
    def made():
        torch.manual_seed(0)
        return torch.nn.Sequential(layer(), torch.nn.Tanh(), torch.nn.LazyLinear(1),
                                   torch.nn.Flatten(0))

    called = made()
    called(torch.zeros(2, SITES))
    for module in (called, made()):
        if module is not called:
            torch.manual_seed(0)
        fit = ig.train(module, bars(60), iters=5, **OPTIONS)
        module.load_state_dict(fit.parameters)


def grow(module):
    module.net[0].weight.data = torch.randn(40, SITES)
    module.net[0].bias.data = torch.randn(40)
    module.net[2].weight.data = torch.randn(32, 40)


def stretch(module):
    module.net[2].weight.data = torch.ones(1, 1).expand(32, 32)


def transpose(module):
    module.net[2].weight.data = module.net[2].weight.data.clone().t()


def replace_head(module):
    module.net[4] = torch.nn.Linear(32, 1)


@pytest.mark.parametrize("change,words", [
    (grow, r"a parameter is float32 of shape \[40, 16\]"),
    (stretch, r"with the strides \[0, 0\]"),
    (transpose, r"with the strides \[1, 32\]"),
    (lambda module: module.double(), r"a parameter is float64"),
    (replace_head, r"the parameter 'net\.4\.weight' of energy Mlp is no longer the tensor"),
    (lambda module: module.net[0].requires_grad_(False),
     r"the parameter 'net\.0\.weight' of energy Mlp no longer requires a gradient"),
    (lambda module: module.load_state_dict(module.state_dict(), assign=True),
     "is no longer the tensor")])
def test_parameters_that_a_callback_changes(change, words):
    module = Mlp(SITES)
    with pytest.raises(ig.Error, match=words) as caught:
        ig.train(module, bars(60), iters=5,
                 callback=lambda m: change(module) if m["iteration"] == 2 else None, **OPTIONS)
    assert "\n" not in str(caught.value)


def test_a_module_that_replaces_its_parameters_while_it_computes():
    """The fused optimiser walks memory without a look at its size. Where the module is called by
    its sampler, what it replaces is a stand-in for the parameter, and training goes on."""
    class Growing(Mlp):
        calls, last = 0, 0

        def forward(self, x):
            self.calls += 1
            if self.calls == self.last:
                self.net[0].weight.data = torch.randn(4000, SITES)
                self.net[0].bias.data = torch.zeros(4000)
                self.net[2].weight.data = torch.randn(32, 4000)
            return super().forward(x)

    refused = 0
    for call in range(6, 26):
        module = Growing(SITES)
        module.last = call
        try:
            ig.train(module, bars(60), iters=5, **OPTIONS)
        except (ig.Error, RuntimeError) as error:  # the second is torch's own
            words = "its layout must not change|must not replace|returned an invalid gradient"
            assert re.search(words, str(error)), error
            refused += 1
    assert refused > 0


def test_parameters_without_memory_of_their_own():
    module = Mlp(SITES)
    module.net[0].bias = torch.nn.Parameter(torch.zeros(1).expand(32))
    with pytest.raises(ig.Error, match=r"float32 of shape \[32\] on cpu\) share memory"):
        ig.train(module, bars(60), iters=2, **OPTIONS)

    class Sparse(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.table = torch.nn.Embedding(SITES, 1, sparse=True)

        def forward(self, x):
            return (x * self.table(torch.arange(SITES))[:, 0]).sum(1)

    with pytest.raises(ig.Error, match="is sparse"):
        ig.train(Sparse(), bars(60), iters=2, **OPTIONS)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_parameters_of_another_type_are_trained_as_by_torch(dtype):
    """The trainer's Adam works in the parameters' own type, as torch's does."""
    class Cast(Mlp):
        def forward(self, x):
            return super().forward(x.to(dtype)).double()

    module, twin = (Cast(SITES).to(dtype) for _ in range(2))
    ig.train(module, bars(60), iters=1, **OPTIONS)
    moved = [(a.double() - b.double()).abs().max().item()
             for a, b in zip(module.parameters(), twin.parameters(), strict=True)]
    assert max(moved) == pytest.approx(1e-2, rel=0.1)


def test_the_method_of_a_module_is_trained_as_the_module():
    class WithMethod(Mlp):
        def free_energy(self, x):
            return self(x)

    one, other, third = (WithMethod(SITES) for _ in range(3))
    compiled = torch.compile(third.free_energy, backend="eager")
    fits = [ig.train(ig.energy(energy, sites=SITES), bars(60), iters=5, **OPTIONS)
            for energy in (one, other.free_energy, compiled)]
    for fit in fits[1:]:
        assert set(fit.parameters) == set(one.state_dict())
        assert all(torch.equal(fits[0].parameters[name], fit.parameters[name])
                   for name in one.state_dict())


def test_a_training_without_a_directory_names_no_file_of_it(tmp_path):
    options = {"lr": 1e-3, "recover": 0, "sampler": "gwg", "batch": 10, "buffer": 20,
               "steps_per_iter": 1, "warmup": 0, "seed": 1, "checkpoint_every": 50}

    def diverges(iteration, **more):
        module = Mlp(SITES)

        def spoil(numbers):
            if numbers["iteration"] == iteration:
                with torch.no_grad():
                    next(module.parameters()).fill_(float("inf"))

        with pytest.raises(ig.NumericalError) as caught:
            ig.train(module, bars(60), iters=500, callback=spoil, **options, **more)
        return str(caught.value)

    late = diverges(450)
    assert late.endswith("; out= a directory keeps checkpoints to go back to")
    assert "checkpoints/" not in late
    assert diverges(450, out=tmp_path / "late").endswith(
        f"; the checkpoint to go back to is {tmp_path}/late/checkpoints/00000400.pt")
    early = diverges(20)
    assert early.endswith("; start again with a lower lr=")
    assert diverges(20, out=tmp_path / "early") == (
        f"{early}, because only the checkpoint of iteration 0 is from before the divergence")


def test_a_step_size_that_is_too_small_is_named():
    module = Mlp(SITES)

    def spoil(numbers):
        if numbers["iteration"] == 60:
            with torch.no_grad():
                next(module.parameters()).fill_(float("nan"))

    target = ig.energy(module, sites=SITES, states="continuous", bounds=(-1, 1))
    points = torch.rand(60, SITES, generator=torch.Generator().manual_seed(3)) - 0.5
    with pytest.raises(ig.NumericalError, match=(
            "; the step size is too small: with step_size= 1e-05 the mean acceptance of the last "
            r"50 iterations is (1\.0000|0\.99\d\d); start again with a larger step_size= or a "
            "lower lr=$")):
        ig.train(target, points, sampler="mala", step_size=1e-5, iters=80, lr=1e-4, recover=0,
                 batch=10, buffer=20, steps_per_iter=1, warmup=0, seed=1, callback=spoil)


def test_a_damaged_checkpoint_is_warned_of(tmp_path):
    out, options = tmp_path / "run", {**OPTIONS, "checkpoint_every": 5}
    del options["warmup"]
    whole = ig.train("rbm", bars(60), iters=20, hidden=3, **options, out=tmp_path / "whole")
    ig.train("rbm", bars(60), iters=12, warmup=2, hidden=3, **options, out=out)
    newest = out / "checkpoints" / "00000012.pt"
    newest.write_bytes(newest.read_bytes()[:1000])
    with pytest.warns(UserWarning) as told:
        fit = ig.train("rbm", bars(60), iters=20, hidden=3, **options, out=out)
    assert [str(one.message) for one in told] == [
        f"{newest} is damaged and was set aside as *.unreadable; training goes on from iteration "
        "10, so that 2 iterations are lost and made again"]
    assert whole.options["warmup"] == fit.options["warmup"] == 2
    assert all(torch.equal(fit.parameters[name], value)
               for name, value in whole.parameters.items())


class WithExtraState(Mlp):
    def get_extra_state(self):
        return {"note": 3}

    def set_extra_state(self, state):
        pass


def test_extra_state_is_no_parameter():
    module = WithExtraState(SITES)
    fit = ig.train(module, bars(60), iters=3, **OPTIONS)
    other = WithExtraState(SITES)
    fit.load_into(other)
    assert all(torch.equal(fit.parameters[name], value) for name, value in
               other.state_dict().items() if name in fit.parameters)


def continuous(module):
    return ig.energy(module, sites=SITES, states="continuous")


HOLDERS = {
    "target": lambda module: ig.energy(module, sites=SITES),
    "function": lambda module: ig.energy(lambda x: module(x), sites=SITES),
    "method": lambda module: ig.energy(module.forward, sites=SITES),
    "product": lambda module: ig.models.product([continuous(module), continuous(module)]),
    "same twice": lambda module: ig.models.product([continuous(module)] * 2),
    "other gradient": lambda module:
        ig.energy(Mlp(SITES), sites=SITES).with_gradient_of(ig.energy(module, sites=SITES)),
    "state": lambda module: ig.sampler("gwg").init(ig.energy(module, sites=SITES), chains=2),
    "state of a product": lambda module:
        ig.sampler("mala").init(ig.models.product([continuous(module)]), chains=2),
    "fit": lambda module: ig.train(module, bars(60), iters=1, **OPTIONS),
}


@pytest.mark.parametrize("kind", HOLDERS)
def test_cycles_through_what_holds_a_module_are_collected(kind):
    module = Mlp(SITES)
    module.held = HOLDERS[kind](module)
    gc.collect()
    target = getattr(module.held, "target", module.held)
    assert target.energy(target.random_states(2)).shape == (2,)  # a module in use is kept
    alive = weakref.ref(module)
    del module, target
    gc.collect()
    assert alive() is None
