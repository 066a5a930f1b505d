"""Wrong callables are refused in one sentence with their name; unusual ones work."""
import warnings

import pytest
import torch

import isinglass as ig
from conftest import Cubic, Mlp, states_of

SITES = 8


def start(chains=4):
    return torch.zeros(chains, SITES, dtype=torch.uint8)


def sampled(function, sampler="gwg", **options):
    return ig.sample(ig.energy(function, sites=SITES), sampler, chains=4, steps=3, **options)


def linear(x):
    return x.sum(1)


BAD = {
    "shape [4, 1]": lambda x: x.sum(1, keepdim=True),
    "shape []": lambda x: x.sum(),
    "a tensor of energies [4]": lambda x: x.sum(1).tolist(),
    "NoneType": lambda x: None,
    "type Half": lambda x: x.sum(1).half(),
    "type Long": lambda x: x.sum(1).long(),
    "type BFloat16": lambda x: x.sum(1).bfloat16(),
    "not a number": lambda x: x.sum(1) / 0 * 0,
    "by differentiable operations": lambda x: x.detach().sum(1),
}


@pytest.mark.parametrize("words", BAD)
def test_wrong_output(words):
    function = BAD[words]
    function.__name__ = "wrong"
    with pytest.raises(ig.Error, match=r"^wrong('s)? ") as error:
        sampled(function)
    assert words in str(error.value) and "\n" not in str(error.value)


def test_exceptions_arrive_unchanged():
    class Own(Exception):
        pass

    thrown = Own("mine", 3)
    calls = []

    def fails(x):
        calls.append(1)
        if len(calls) > 2:
            raise thrown
        return linear(x)

    with pytest.raises(Own) as caught:
        sampled(fails)
    assert caught.value is thrown
    assert any(entry.name == "fails" for entry in caught.traceback)
    with pytest.raises(Own):
        ig.train(_Failing(Own),
                 torch.zeros(20, SITES, dtype=torch.uint8).index_fill(1, torch.tensor([1]), 1),
                 sampler="gwg", iters=2, batch=4, buffer=8, steps_per_iter=1)
    with pytest.raises(RuntimeError, match="mat1 and mat2|size mismatch|must match"):
        sampled(Cubic(SITES + 1))


class _Failing(torch.nn.Module):
    def __init__(self, error):
        super().__init__()
        self.weight, self.error = torch.nn.Parameter(torch.ones(SITES)), error

    def forward(self, x):
        raise self.error


def test_exception_in_backward():
    class Broken(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum(1)

        @staticmethod
        def backward(ctx, gradient):
            raise KeyError("backward")

    with pytest.raises(KeyError, match="backward"):
        sampled(Broken.apply)


def test_nan_later_is_counted_and_rejected():
    calls = []

    def sometimes(x):
        calls.append(1)
        return linear(x) + (float("nan") if len(calls) == 6 else 0)

    run = sampled(sometimes)
    assert run.summary["non_finite"] == 4  # the chains of one step
    assert torch.isfinite(run.energy).all()


def test_one_chain_of_a_module_that_squeezes():
    run = ig.sample(ig.energy(lambda x: x.sum(1, keepdim=True).squeeze(), sites=SITES), "gwg",
                    chains=1, steps=3)
    assert torch.equal(run.energy, run.samples.sum(2).double())


def test_not_callable_and_wrong_arguments():
    with pytest.raises(ig.Error, match="callable is needed"):
        ig.energy(3, sites=4)
    with pytest.raises(ig.Error, match="categories="):
        ig.energy(linear, sites=4, states="categorical")
    with pytest.raises(ig.Error, match="states= is 'round'"):
        ig.energy(linear, sites=4, states="round")
    with pytest.raises(ig.Error, match="sites= is 0"):
        ig.energy(linear, sites=0)
    with pytest.raises(ig.Error, match="cpu or cuda"):
        ig.energy(Cubic(4).to("meta"), sites=4)


def test_states_on_another_device_or_of_another_type():
    target = ig.energy(linear, sites=SITES)
    sampler = ig.sampler("gwg")
    with pytest.raises(ig.Error, match="x is on meta, but the target is on cpu"):
        sampler.init(target, start().to("meta"))
    with pytest.raises(ig.Error, match="must be uint8"):
        sampler.init(target, start().float())
    with pytest.raises(ig.Error, match=r"needs \[N, 8\]"):
        sampler.init(target, start()[:, 1:])
    with pytest.raises(ig.Error, match="value 2"):
        sampler.init(target, start() + 2)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.int32, torch.int64])
def test_states_of_other_whole_numbers(dtype):
    target = ig.energy(linear, sites=SITES)
    x = start()
    assert torch.equal(target.energy(x.to(dtype)), target.energy(x))
    plain, other = (ig.sample(target, "gwg", init=states, steps=3, seed=1)
                    for states in (x, x.to(dtype)))
    assert torch.equal(plain.samples, other.samples)
    if dtype == torch.bool:
        return
    spins = 2 * x.to(dtype) - 1
    for refused in (lambda: target.energy(spins),
                    lambda: ig.sample(target, "gwg", init=spins, steps=3)):
        with pytest.raises(ig.Error, match=r"\(x \+ 1\) / 2"):
            refused()


def test_module_changed_between_steps():
    """Chains whose module is trained between steps keep no energies of the earlier module."""
    module = Cubic(SITES)
    target = ig.energy(module, sites=SITES)
    sampler = ig.sampler("gwg")
    state = sampler.init(target, start(), seed=1)
    for optimiser in (torch.optim.SGD(module.parameters(), 0.1),
                      torch.optim.Adam(module.parameters(), 0.1),
                      torch.optim.Adam(module.parameters(), 0.1, foreach=True),
                      torch.optim.Adam(module.parameters(), 0.1, fused=True)):
        sampler.step(target, state)
        optimiser.zero_grad()
        module(state.x.float()).mean().backward()
        optimiser.step()
        sampler.step(target, state)
        assert torch.equal(state.energy, module(state.x.float()).detach().double()), optimiser
    scale = [1.0]
    plain = ig.energy(lambda x: scale[0] * linear(x), sites=SITES)
    state = sampler.init(plain, start() + 1, seed=1)
    scale[0] = 2.0
    sampler.renew(state)
    assert torch.equal(state.energy, 2.0 * state.x.sum(1).double())


@pytest.mark.parametrize("around", [torch.no_grad, torch.inference_mode,
                                    lambda: torch.autocast("cpu", torch.bfloat16),
                                    torch.enable_grad])
def test_modes_around(around):
    """The caller's modes do not change the draws."""
    module = Mlp(SITES)
    expected = sampled(module, "pafs", radius=2)
    with around():
        run = sampled(module, "pafs", radius=2)
        sampler = ig.sampler("pafs", radius=2)
        target = ig.energy(module, sites=SITES)
        x = start()  # an inference tensor in inference mode
        state = sampler.run(target, x, steps=2, seed=1)
        sampler.step(target, state)
        mode = (torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
                torch.is_autocast_enabled("cpu"))
    with around():
        assert (mode ==
                (torch.is_grad_enabled(), torch.is_inference_mode_enabled(),
                 torch.is_autocast_enabled("cpu")))
    assert torch.equal(run.samples, expected.samples) and torch.equal(run.energy, expected.energy)
    sampler.step(target, state)


def test_train_or_eval_as_the_user_left_it():
    module = torch.nn.Sequential(torch.nn.Linear(SITES, 16), torch.nn.BatchNorm1d(16),
                                 torch.nn.Dropout(0.5), torch.nn.SiLU(), torch.nn.Linear(16, 1),
                                 torch.nn.Flatten(0))
    for mode in (True, False):
        module.train(mode)
        before = module[1].num_batches_tracked.item()
        sampled(module)
        assert module.training is mode
        assert (module[1].num_batches_tracked.item() > before) is mode


def test_half_of_a_module_in_float64():
    module = Cubic(SITES).double()
    with pytest.raises(RuntimeError, match="dtype|scalar type"):
        sampled(module)
    run = sampled(lambda x: module(x.double()))
    assert torch.equal(run.energy[-1], module(run.samples[-1].double()).detach())


def test_compiled_modules():
    module = Mlp(SITES)
    run = sampled(torch.compile(module, backend="aot_eager"), "pafs", radius=2)
    assert torch.allclose(run.energy[-1], module(run.samples[-1].float()).detach().double(),
                          atol=1e-5)


def test_torch_func():
    module = Cubic(SITES)
    parameters = {name: tensor.detach() * 2 for name, tensor in module.named_parameters()}
    run = sampled(lambda x: torch.func.functional_call(module, parameters, (x,)))
    assert torch.equal(run.energy[-1],
                       torch.func.functional_call(module, parameters,
                                                  (run.samples[-1].float(),)).double())
    target = ig.energy(module, sites=SITES)
    gradient = torch.func.grad(lambda x: module(x).sum())
    x = states_of(SITES)[:5]
    assert torch.allclose(gradient(x.float()), target.energy_and_grad(x)[1])
    with pytest.raises(ig.Error, match="torch.func"):
        torch.func.grad(lambda x: target.energy(x).sum())(x.float())
    inside = ig.energy(lambda x: torch.func.vmap(lambda row: module(row[None])[0])(x), sites=SITES)
    assert torch.allclose(inside.energy(x), target.energy(x), atol=1e-6)


def test_target_state_and_sampler_go_together():
    one, other = (ig.energy(linear, sites=SITES) for _ in range(2))
    state = ig.sampler("gwg").init(one, start())
    with pytest.raises(ig.Error, match="another target"):
        ig.sampler("gwg").step(other, state)
    with pytest.raises(ig.Error, match="belongs to the sampler gwg"):
        ig.sampler("pafs").step(one, state)


class Noisy(Mlp):
    def forward(self, x):
        return super().forward(torch.nn.functional.dropout(x, 0.2, self.training))


def normalised():
    return torch.nn.Sequential(torch.nn.Linear(SITES, 16), torch.nn.BatchNorm1d(16),
                               torch.nn.SiLU(), torch.nn.Linear(16, 1), torch.nn.Flatten(0))


@pytest.mark.parametrize("make,words",
                         [(lambda: Noisy(SITES), "differ between two calls of the same states"),
                          (normalised, "depend on the other states of a batch")])
def test_energies_that_are_not_those_of_states_are_told(make, words):
    module = make()
    target = ig.energy(module, sites=SITES, name="mine")
    both = target.with_gradient_of(ig.energy(Mlp(SITES), sites=SITES))
    for one in (target, both):
        with pytest.warns(UserWarning,
                          match=f"energy mine gives energies that {words}|model "
                                f"mine gives.*{words}"):
            run = ig.sample(one, "gwg", chains=4, steps=3)
        assert run.summary["exact"] is False and words in run.summary["inexact"]
    with pytest.warns(UserWarning, match=words):
        assert words in ig.evaluate(target, sampler="gwg", chains=4, steps=5).values["inexact"]
    with pytest.warns(UserWarning, match=words):
        ig.sampler("gwg").init(target, chains=8)
    module.eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ig.sample(target, "gwg", chains=40, steps=30).summary["exact"] is True
        ig.sampler("gwg").init(target, chains=8)
        assert "inexact" not in ig.evaluate(target, sampler="gwg", chains=4, steps=5).values
        ig.sample(ig.energy(lambda x: module(x).bfloat16().float(), sites=SITES), "rwm", chains=4,
                  steps=3)



def test_energies_that_depend_on_the_batch_in_its_second_half_alone_are_told():
    def energy(x):
        late = torch.arange(len(x)) >= len(x) // 2
        return x.sum(1) + torch.where(late, 0.1 * x.sum(), 0)

    with pytest.warns(UserWarning, match="depend on the other states of a batch"):
        run = ig.sample(ig.energy(energy, sites=SITES), "gibbs", chains=8, steps=3)
    assert run.summary["exact"] is False


def test_states_may_be_forbidden():
    """U is +infinity where two neighbouring sites are both 1."""
    def energy(x):
        both = (x[:, :-1] * x[:, 1:]).sum(1) > 0
        return torch.where(both, torch.inf, x.sum(1) * 0.5)

    states = torch.cartesian_prod(*[torch.arange(2)] * 5).float()
    log_z = torch.logsumexp(-energy(states).double(), 0).item()
    target = ig.energy(energy, sites=5)
    found = ig.evaluate(target, sampler="gibbs", chains=400, steps=60, seed=1)
    assert abs(found.log_z - log_z) < 4 * found.log_z_se and found.log_z_se < 0.1
    assert abs(found.log_z_upper - log_z) < 4 * found.log_z_upper_se
    assert abs(found.log_z_bidirectional - log_z) < 4 * found.log_z_bidirectional_se
    assert found.verdict == "closed"
    run = ig.sample(target, "rwm", init=torch.zeros(200, 5, dtype=torch.uint8), steps=200, seed=1)
    assert torch.isfinite(run.energy).all()
    with pytest.raises(ig.Error, match="-infinity or not a number"):
        ig.sample(ig.energy(lambda x: x.sum(1) * torch.nan, sites=5), "rwm", steps=3)
