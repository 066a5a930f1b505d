"""Targets, samplers, chains and buffers can be saved by pickle, torch.save and copy.deepcopy, and
sent to the processes of a pool. Chains continue bit for bit.
"""
import copy
import functools
import io
import multiprocessing
import pickle

import pytest
import torch

import isinglass as ig
from conftest import Cubic, Mlp, bars

SITES = 16


def pickled(thing):
    return pickle.loads(pickle.dumps(thing))


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


WAYS = [pickled, copy.deepcopy, saved]


def linear(x):
    return x @ torch.linspace(-1, 1, SITES)


TARGETS = {
    "ising": lambda: ig.instance("ising-grid:side=4,coupling=0.3"),
    "rbm": lambda:
        ig.models.rbm(W=torch.randn(5, SITES), b_v=torch.zeros(SITES), b_h=torch.zeros(5)),
    "maxcut": lambda: ig.models.maxcut(edges=torch.tensor([[0, 1], [1, 2]]), sites=SITES),
    "categorical": lambda: ig.models.categorical(theta=torch.randn(5, 3)),
    "permutation": lambda: ig.models.permutation(w=torch.randn(5, 5)),
    "function": lambda: ig.energy(linear, sites=SITES),
    "module": lambda: ig.energy(Mlp(SITES), sites=SITES),
    "method": lambda: ig.energy(Cubic(SITES).forward, sites=SITES),
    "partial": lambda: ig.energy(functools.partial(Cubic(SITES)), sites=SITES, name="partial"),
    "product": lambda:
        ig.models.product([ig.models.gaussian(mean=torch.zeros(4), precision=torch.ones(4)),
                           ig.energy(Mlp(4), sites=4, states="continuous")]),
    "at temperature": lambda:
        ig.energy(Mlp(SITES), sites=SITES).at_temperature(2.5),
    "other gradient": lambda:
        TARGETS["ising"]().with_gradient_of(ig.energy(Mlp(SITES), sites=SITES)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", TARGETS)
def test_targets(name, way):
    target = TARGETS[name]()
    if name == "rbm":
        with torch.no_grad():
            target.parameters()["W"].mul_(2)
    again = way(target)
    x = target.random_states(9, seed=1)
    assert repr(again) == repr(target) and torch.equal(again.energy(x), target.energy(x))
    if name == "rbm":
        with torch.no_grad():
            again.parameters()["W"].zero_()
        assert not target.parameters()["W"].eq(0).any()


def test_a_target_from_a_file(tmp_path):
    torch.save({"theta": torch.randn(5)}, tmp_path / "model.pt")
    target = ig.load("bernoulli", tmp_path / "model.pt")
    x = target.random_states(9)
    assert torch.equal(pickled(target).energy(x), target.energy(x))


@pytest.mark.parametrize("way", WAYS)
def test_a_module_that_holds_its_target(way):
    module = Mlp(SITES)
    module.target = ig.energy(module, sites=SITES)
    again = way(module)
    assert again.target.callable is again
    ig.sampler("gwg").run(again.target, steps=2, chains=3)


def test_what_cannot_be_pickled_says_so():
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(ig.energy(lambda x: x.sum(1), sites=3))


@pytest.mark.parametrize("way", WAYS)
def test_samplers(way):
    ising = TARGETS["ising"]()
    sampler = ig.sampler("pafs", radius=3, adapt=True, seed=4)
    sampler.run(ising, steps=2, chains=3)
    again = way(sampler)
    assert (again.name == "pafs" and again.options == sampler.options and
            repr(again) == repr(sampler))
    assert torch.equal(again.run(ising, steps=5, chains=3).x,
                       sampler.run(ising, steps=5, chains=3).x)


def options_of(name):
    known = next(s for s in ig._tables.TABLES["samplers"] if s["name"] == name)
    names = [option["name"] for option in known["options"]]
    return {"damping": 0.5} if "damping" in names else {"adapt": True} if "adapt" in names else {}


@pytest.mark.parametrize("name", [s["name"] for s in ig._tables.TABLES["samplers"]])
@pytest.mark.parametrize("kind", ["ising", "module", "product", "categorical"])
def test_chains_go_on_bit_for_bit(name, kind):
    target, sampler = TARGETS[kind](), ig.sampler(name, **options_of(name))
    try:
        state = sampler.init(target, chains=7, seed=3)
    except ig.Error:
        pytest.skip("not a sampler of this target")
    sampler.burn_in(target, state, 30)
    sampler.steps(target, state, 5)
    copies = [way(state) for way in WAYS]
    for one in copies:
        assert one.steps == 35 and one.evaluations == state.evaluations and one.scale == state.scale
        assert torch.equal(one.energy, state.energy)
    info = sampler.step(target, state)
    sampler.steps(target, state, 20)
    for one in copies:
        assert pickled(sampler.step(one.target, one)).evaluations == info.evaluations
        sampler.steps(one.target, one, 20)
        assert torch.equal(one.x, state.x) and torch.equal(one.energy, state.energy)
        assert (torch.equal(one.acceptance, state.acceptance) and
                torch.equal(one.mean_acceptance, state.mean_acceptance))


@pytest.mark.parametrize("way", WAYS)
def test_buffers(way):
    buffer = ig.ReplayBuffer(30, mean=ig.base_mean(bars(60)), seed=2)
    slots, x = buffer.draw(10)
    buffer.write_back(slots, 1 - x)
    again = way(buffer)
    assert torch.equal(again.states, buffer.states) and len(again) == 30
    for one, other in zip(again.draw(12, reinit=0.5), buffer.draw(12, reinit=0.5), strict=True):
        assert torch.equal(one, other)
    again.write_back(slots, x)
    assert not torch.equal(again.states, buffer.states)


def test_fits_and_averaged_modules():
    module = Mlp(SITES)
    fit = ig.train(module, bars(60), sampler="gwg", iters=2, batch=5, buffer=10, steps_per_iter=1)
    again = pickled(fit)
    assert again.metrics == fit.metrics and torch.equal(
        again.target.energy(bars(3)), fit.target.energy(bars(3)))
    module.target = ig.energy(module, sites=SITES)
    torch.optim.swa_utils.AveragedModel(module)


def sampled(target):
    return ig.sample(target, "gwg", chains=3, steps=5, seed=1).samples


def test_processes_of_a_pool_get_targets():
    targets = [TARGETS["ising"](), TARGETS["module"]()]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for target, samples in zip(targets, pool.map(sampled, targets), strict=True):
            assert torch.equal(samples, sampled(target))
