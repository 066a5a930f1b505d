"""A directory belongs to one energy. A function has no name that identifies it, so that it is
identified by its values.
"""
import functools
import math

import pytest
import torch

import isinglass as ig
from conftest import Mlp, bars

SITES = 10
EVALUATION = {"sampler": "gwg", "chains": 50, "steps": 60}


def closure(beta):
    w = torch.linspace(-1, 1, SITES) * beta

    def energy(x):
        return x @ w
    return energy


class Holder:
    def __init__(self, beta):
        self.beta = beta

    def energy(self, x):
        return closure(self.beta)(x)


def scaled(x, beta):
    return closure(beta)(x)


class Attribute(torch.nn.Module):
    """beta is not a parameter: all state dicts are the same."""

    def __init__(self, beta):
        super().__init__()
        self.w = torch.nn.Parameter(torch.linspace(-1, 1, SITES))
        self.beta = beta

    def forward(self, x):
        return self.beta * (x @ self.w)


FUNCTIONS = {"closure": closure, "lambda": lambda beta: lambda x: closure(beta)(x),
             "bound method": lambda beta: Holder(beta).energy,
             "partial": lambda beta: functools.partial(scaled, beta=beta), "attribute": Attribute}


def target_of(kind, beta):
    return ig.energy(FUNCTIONS[kind](beta), sites=SITES, name="mine")


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("method", ["ais", "tempering"])
def test_an_evaluation_goes_on_for_the_same_function_alone(kind, method, tmp_path):
    options = {**EVALUATION, "method": method, "out": tmp_path}
    first = ig.evaluate(target_of(kind, 1.0), **options)
    assert ig.evaluate(target_of(kind, 1.0), **options).log_z == first.log_z
    with pytest.raises(ig.Error, match="belongs to a run with another function than energy mine"):
        ig.evaluate(target_of(kind, 3.0), **options)


def test_functions_within_others(tmp_path):
    def product(beta):
        return ig.models.product([target_of("closure", 1.0), target_of("closure", beta)])

    first = ig.evaluate(product(1.0), **EVALUATION, out=tmp_path)
    assert ig.evaluate(product(1.0), **EVALUATION, out=tmp_path).log_z == first.log_z
    with pytest.raises(ig.Error, match="another function"):
        ig.evaluate(product(2.0), **EVALUATION, out=tmp_path)


def test_a_grid_goes_on_for_the_same_function_alone(tmp_path):
    def accepted(beta):
        grid = ig.ablate(targets={"mine": target_of("closure", beta)}, samplers=["gwg"], steps=40,
                         chains=20, out=tmp_path)
        return grid.frame.acceptance[0]

    def fresh(beta):
        return ig.sample(target_of("closure", beta), "gwg", steps=40, chains=20,
                         seed=0).summary["acceptance"]

    assert accepted(1.0) == pytest.approx(fresh(1.0), abs=1e-12)
    written = (tmp_path / "cells/00001.json").stat().st_mtime_ns
    accepted(1.0)
    assert (tmp_path / "cells/00001.json").stat().st_mtime_ns == written
    assert accepted(5.0) == pytest.approx(fresh(5.0), abs=1e-12) != accepted(1.0)


def test_summaries_tell_functions_apart():
    def run(beta):
        return ig.sample(target_of("closure", beta), "gwg", steps=4,
                         chains=4).summary["energies_sha256"]

    assert run(1.0) == run(1.0) != run(2.0)
    assert (ig.evaluate(target_of("closure", 1.0), **EVALUATION).values["energies_sha256"] ==
            run(1.0))
    assert "energies_sha256" not in ig.sample(ig.models.bernoulli(theta=torch.zeros(4)), "gwg",
                                              steps=4).summary


def test_dropout_varies_and_is_known_by_its_parameters(tmp_path):
    module = torch.nn.Sequential(torch.nn.Linear(SITES, 8), torch.nn.Dropout(0.5),
                                 torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    target = ig.energy(module, sites=SITES)
    first = ig.evaluate(target, **EVALUATION, out=tmp_path)
    assert first.values["energies_sha256"] is None
    assert ig.evaluate(target, **EVALUATION, out=tmp_path).log_z == first.log_z
    with torch.no_grad():
        module[0].weight.mul_(2)
    with pytest.raises(ig.Error, match="with other parameters"):
        ig.evaluate(target, **EVALUATION, out=tmp_path)


def test_what_varies_without_parameters_is_never_gone_on_with(tmp_path):
    target = ig.energy(lambda x: x.sum(1) + torch.rand(len(x)), sites=SITES, name="mine")
    ig.evaluate(target, **EVALUATION, out=tmp_path)
    with pytest.raises(ig.Error, match="it cannot be checked whether .* belongs to energy mine, "
                                       "which has no parameters"):
        ig.evaluate(target, **EVALUATION, out=tmp_path)


class Normalised(torch.nn.Module):
    """Writes one buffer at every call and replaces another."""

    def __init__(self):
        super().__init__()
        self.net = torch.nn.Sequential(torch.nn.Linear(SITES, 8), torch.nn.BatchNorm1d(8),
                                       torch.nn.Linear(8, 1), torch.nn.Flatten(0))
        self.register_buffer("mean", torch.zeros(SITES))

    def forward(self, x):
        self.mean = 0.9 * self.mean + 0.1 * x.detach().mean(0)
        return self.net(x)


def test_asking_changes_nothing():
    module = Normalised()
    mean, state = (module.mean,
                   {name: tensor.clone() for name, tensor in module.state_dict().items()})
    random = torch.get_rng_state()
    torch.manual_seed(0)
    before = torch.get_rng_state()
    asked = ig._targets.energies_twice(module,
                                       ig.energy(Mlp(SITES), sites=SITES).random_states(5).float())
    assert (asked.shape == (2, 5) and module.mean is mean and
            torch.equal(torch.get_rng_state(), before))
    assert all(torch.equal(tensor, state[name]) for name, tensor in module.state_dict().items())
    assert ig._targets.energies_twice(lambda x: 1 / 0, torch.zeros(2, SITES)) is None
    torch.set_rng_state(random)


def test_nothing_is_compiled_for_it():
    shapes = []

    def backend(graph, inputs):
        shapes.append([tuple(value.shape) for value in inputs if isinstance(value, torch.Tensor)])
        return graph.forward

    module = Mlp(SITES)
    for compiled in (torch.compile(module, backend=backend),
                     torch.compile(closure(1.0), backend=backend)):
        assert ig._targets.energies_twice(compiled, torch.zeros(2, SITES)).shape == (2, 2)
    assert not shapes


def test_an_evaluation_begun_before_goes_on(tmp_path):
    """Checkpoints of earlier versions hold no energies."""
    for target, refused in ((target_of("attribute", 1.0), False),
                            (target_of("closure", 1.0), True)):
        out = tmp_path / str(refused)
        first = ig.evaluate(target, **EVALUATION, out=out)
        assert math.isfinite(first.log_z)
        saved = torch.load(out / "ais-checkpoint.pt", weights_only=True)
        assert saved.pop("functions")
        torch.save(saved, out / "ais-checkpoint.pt")
        if refused:
            with pytest.raises(ig.Error, match="it holds none of its energies"):
                ig.evaluate(target, **EVALUATION, out=out)
        else:
            assert ig.evaluate(target, **EVALUATION, out=out).log_z == first.log_z


def test_a_training_goes_on_for_the_same_function_alone(tmp_path):
    """The modules have the same class and parameters; an attribute tells them apart."""
    options = {"out": tmp_path / "run", "sampler": "gwg", "batch": 10, "buffer": 20,
               "steps_per_iter": 1, "warmup": 0, "seed": 1}
    images = (torch.rand(100, SITES) < 0.4).to(torch.uint8)
    first = ig.train(Attribute(1.0), images, iters=5, **options)
    assert ig.train(Attribute(1.0), images, iters=7, **options).iteration == 7
    with pytest.raises(ig.Error, match="belongs to a run with another function than"):
        ig.train(Attribute(2.0), images, iters=9, **options)
    again = ig.train(Attribute(1.0), images, iters=7, **options)
    assert first.iteration == 5 and again.iteration == 7


@pytest.mark.parametrize("name", ["config.toml", "summary.json", "ais-checkpoint.pt"])
def test_training_leaves_the_files_of_others(name, tmp_path):
    (tmp_path / name).write_text("mine")
    with pytest.raises(ig.Error, match=f"already holds {name}, which does not belong to"):
        ig.train("rbm", bars(50), iters=1, out=tmp_path)
    assert (tmp_path / name).read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == [name]
