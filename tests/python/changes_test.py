"""Chains of a target that changes continue with the energies of its present state, however it has
changed.
"""
import functools

import pytest
import torch

import isinglass as ig
from conftest import Cubic, bars, states_of

SITES = 8


class Changing(torch.nn.Module):
    """A module with everything that a module may hold: layers, a buffer, a buffer that is not
    saved, and a number.
    """

    def __init__(self, frozen=False):
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        self.first, self.second = torch.nn.Linear(SITES, 16), torch.nn.Linear(16, 1)
        for parameter in self.parameters():
            parameter.data = torch.randn(parameter.shape, generator=generator) * 0.7
        self.register_buffer("mean", torch.linspace(-1, 1, SITES))
        self.register_buffer("hidden", torch.linspace(0.5, -0.5, SITES), persistent=False)
        self.beta = 1.0
        if frozen:
            self.requires_grad_(False)

    def forward(self, x):
        return (self.beta *
                (self.second(torch.tanh(self.first(x)))[:, 0] + x @ (self.mean + self.hidden)))

    def free_energy(self, x):
        return self(x)


def replace_data(module):
    module.first.weight.data = module.first.weight.data * 3


def assign(module):
    module.load_state_dict({name: tensor * 2 for name, tensor in module.state_dict().items()},
                           assign=True)


def replace_parameter(module):
    module.first.weight = torch.nn.Parameter(module.first.weight.detach() * 3)


def in_place(module):
    with torch.no_grad():
        module.first.weight.mul_(3)


def adam_after_unfreezing(module):
    module.requires_grad_(True)
    optimiser = torch.optim.Adam(module.parameters(), 0.5)
    module(states_of(SITES)[:9].float()).mean().backward()
    optimiser.step()


def set_attribute(name, value):
    return lambda module: setattr(module, name, value)


CHANGES = {
    "in place": in_place,
    "optimiser": adam_after_unfreezing,
    "data in place": lambda module: module.first.weight.data.mul_(3),
    "data": replace_data,
    "numpy": lambda module: module.first.weight.detach().numpy().__imul__(3),
    "vector": lambda module: torch.nn.utils.vector_to_parameters(
        3 * torch.nn.utils.parameters_to_vector(module.parameters()), module.parameters()),
    "assign": assign,
    "parameter": replace_parameter,
    "buffer in place": lambda module: module.mean.mul_(5),
    "buffer": set_attribute("mean", torch.linspace(2, -2, SITES)),
    "buffer not saved": lambda module: module.hidden.mul_(-7),
    "attribute": set_attribute("beta", 4.0),
    "layer": lambda module: setattr(module, "first", torch.nn.Linear(SITES, 16)),
}
AROUND = {
    "module": lambda module: ig.energy(module, sites=SITES),
    "lambda": lambda module: ig.energy(lambda x: module(x), sites=SITES),
    "partial": lambda module: ig.energy(functools.partial(module), sites=SITES),
    "method": lambda module: ig.energy(module.free_energy, sites=SITES),
    "other gradient": lambda module:
        ig.energy(module, sites=SITES).with_gradient_of(ig.energy(Cubic(SITES), sites=SITES)),
}


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("change", CHANGES)
def test_every_change_is_noticed(change, around, frozen):
    module = Changing(frozen)
    target, sampler = AROUND[around](module), ig.sampler("gwg")
    state = sampler.init(target, chains=64, seed=1)
    sampler.step(target, state)
    for move in (lambda: sampler.step(target, state), lambda: sampler.steps(target, state, 1),
                 lambda: sampler.burn_in(target, state, 1)):
        CHANGES[change](module)
        move()
        assert torch.equal(state.energy, module(state.x.float()).detach().double())
        if around != "other gradient":
            assert torch.allclose(state.gradient, target.energy_and_grad(state.x)[1])


def test_the_law_after_a_change_is_that_of_the_new_energy():
    """Independent sites whose logits change their signs by a write that does not increase the
    version of a tensor. After enough steps for every chain to forget, means are right within their
    standard errors; with stale cached energies they are not.
    """
    logits = torch.linspace(-2.5, 2.5, SITES)
    module = torch.nn.Linear(SITES, 1, bias=False)
    module.weight.data = -logits[None].clone()
    target, sampler = ig.energy(lambda x: module(x)[:, 0], sites=SITES), ig.sampler("rwm")
    state = sampler.init(target, chains=20_000, seed=1)
    sampler.steps(target, state, 150)
    module.weight.data.neg_()
    sampler.steps(target, state, 150)
    means = torch.sigmoid(-logits)
    errors = (means * (1 - means) / 20_000).sqrt()
    assert ((state.x.double().mean(0) - means) / errors).abs().max() < 5
    assert torch.equal(state.energy, module(state.x.float())[:, 0].detach().double())


def test_products_and_the_librarys_own_models():
    sampler = ig.sampler("mala")
    module = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1),
                                 torch.nn.Flatten(0))
    gaussian = ig.models.gaussian(mean=torch.zeros(3), precision=torch.ones(3))
    product = ig.models.product([ig.energy(module, sites=3, states="continuous"), gaussian])
    changes = [lambda: module[0].weight.data.mul_(3), lambda: gaussian.parameters()["mean"].add_(1),
               lambda: gaussian.parameters()["mean"].data.add_(1),
               lambda: gaussian.parameters()["mean"].numpy().__iadd__(1)]
    for target, some in ((product, changes), (gaussian, changes[1:])):
        state = sampler.init(target, chains=16, seed=1)
        for change in some:
            change()
            sampler.step(target, state)
            assert torch.allclose(state.energy, target.energy(state.x).detach().double())


def test_training_between_steps():
    """Uses a target of the library, whose optimiser's writes do not increase the tensors'
    versions."""
    rbm = ig.models.rbm(W=torch.randn(5, 16) * 0.1, b_v=torch.zeros(16), b_h=torch.zeros(5))
    for name in ("gwg", "gibbs", "rwm"):
        sampler = ig.sampler(name)
        state = sampler.init(rbm, chains=16, seed=1)
        sampler.step(rbm, state)
        ig.train(rbm, bars(60), sampler="gwg", iters=20, batch=10, buffer=20, steps_per_iter=1,
                 lr=0.05, warmup=0)
        sampler.step(rbm, state)
        assert torch.allclose(state.energy, rbm.energy(state.x).detach().double(), atol=1e-4), name


@pytest.mark.parametrize("name", ["gwg", "gibbs", "rwm", "lbj", "pas"])
def test_states_that_are_written_to(name, ising):
    for target in (ising, ig.energy(Cubic(16), sites=16)):
        sampler = ig.sampler(name)
        state = sampler.init(target, chains=10, seed=1)
        sampler.steps(target, state, 5)
        state.x[::2] = target.random_states(5, seed=9)
        sampler.step(target, state)
        assert torch.allclose(state.energy, target.energy(state.x).detach().double(), atol=1e-4)
        state.x[0, 0] = 7
        with pytest.raises(ig.Error, match="hold the value 7"):
            sampler.step(target, state)


@pytest.mark.parametrize("name,states",
                         [("gwg", "binary"), ("pafs", "binary"), ("lbj", "binary"),
                          ("lb", "binary"), ("ab-1st", "binary"), ("hmc", "continuous"),
                          ("mala", "continuous")])
def test_nothing_changes_where_nothing_has_changed(name, states):
    """A loop of steps has the draws of one call, with at most one more call of the energy each."""
    calls = []
    module = Cubic(SITES)

    def counted(x):
        calls.append(len(x))
        return module(x)

    target = ig.energy(counted, sites=SITES, states=states)
    sampler = ig.sampler(name, **({"damping": 0.5} if states == "continuous" else {}))
    whole = sampler.run(target, chains=6, steps=12, seed=2)
    for unchanged in (False, True):
        state = sampler.init(target, chains=6, seed=2)
        calls.clear()
        for _ in range(12):
            sampler.step(target, state, unchanged=unchanged)
        looped = len(calls)
        assert torch.equal(state.x, whole.x) and torch.equal(state.energy, whole.energy)
        assert state.evaluations == whole.evaluations
        again = sampler.init(target, chains=6, seed=2)
        calls.clear()
        sampler.steps(target, again, 12, unchanged=unchanged)
        if name != "lb":  # which also asks for every neighbour
            assert ((looped, len(calls)) == ((12, 12) if unchanged else (24, 13)) or
                    states == "continuous")


def test_a_state_is_moved_by_one_call_at_a_time():
    state, nested = None, []

    def greedy(x):
        if state is not None and not nested:
            nested.append(1)
            with pytest.raises(ig.Error, match="in use by another call"):
                sampler.step(target, state)
        return x.sum(1)

    target, sampler = ig.energy(greedy, sites=SITES), ig.sampler("gwg")
    state = sampler.init(target, chains=4)
    sampler.step(target, state)
    assert nested
    sampler.step(target, state)


def test_a_run_has_the_tensors_of_now():
    """Whole runs start with the module's present tensors: the identity of a run is that of its
    parameters.
    """
    module = Changing()
    target = ig.energy(module, sites=SITES)
    shas = []
    for change in (lambda module: None, replace_parameter, assign, CHANGES["layer"]):
        change(module)
        shas.append(ig.sample(target, "gwg", chains=4, steps=2).summary["parameters_sha256"])
    assert len(set(shas)) == 4


def written_by_data(target, name):
    target.parameters()[name].data.neg_()


def written_by_numpy(target, name):
    array = target.parameters()[name].numpy()
    array *= -1


@pytest.mark.parametrize("write", [written_by_data, written_by_numpy])
@pytest.mark.parametrize("around", ["alone", "product", "product of a product", "temperature"])
def test_whole_runs_notice_writes_that_count_as_no_version(write, around):
    sites = ig.models.bernoulli(theta=torch.full((8,), 2.0))
    target = {"alone": lambda: sites, "product": lambda: ig.models.product([sites]),
              "product of a product": lambda: ig.models.product([ig.models.product([sites])]),
              "temperature": lambda: ig.models.product([sites]).at_temperature(2.0)}[around]()
    options = {"chains": 200, "burn_in": 50, "steps": 50, "seed": 1}
    state = ig.sampler("gwg").init(target, chains=50, seed=1)
    before = ig.sample(target, "gwg", **options).samples.double().mean()
    assert (before < 0.5) == (sites.energy(torch.ones(1, 8)) > 0)
    write(sites, "theta")
    run = ig.sample(target, "gwg", **options)
    after = run.samples.double().mean()
    assert abs(before + after - 1) < 0.05 and abs(after - before) > 0.3
    temperature = 2 if around == "temperature" else 1  # recorded energies are U, not U/T
    recorded = temperature * target.energy(run.samples[-1]).detach().double()
    assert torch.allclose(run.energy[-1], recorded)
    x = run.samples[-1]
    energy, gradient = target.energy_and_grad(x)
    fresh = x.float().requires_grad_()
    target.energy(fresh).sum().backward()
    assert torch.allclose(energy.double(), target.energy(x).detach().double())
    assert torch.allclose(gradient, fresh.grad)
    log_z = torch.logsumexp(-target.energy(states_of(8)).detach().double(), 0).item()
    found = ig.evaluate(target, sampler="gwg", chains=50, steps=200, seed=1)
    assert abs(found.log_z - log_z) < max(0.05, 5 * found.log_z_se)
    ig.sampler("gwg").step(target, state)
    assert torch.allclose(state.energy, temperature * target.energy(state.x).detach().double())
