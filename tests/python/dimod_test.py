"""The sampler for dimod passes dimod's own tests, and finds the least energy by enumeration."""
import importlib
import random
import unittest
import warnings

import numpy
import pytest
import torch

import isinglass as ig

dimod = pytest.importorskip("dimod")
testing = importlib.import_module("dimod.testing")
IsinglassSampler = importlib.import_module("isinglass.dimod").IsinglassSampler


@testing.load_sampler_bqm_tests(IsinglassSampler)
class TestOfDimod(unittest.TestCase):
    def test_api(self):
        testing.assert_sampler_api(IsinglassSampler())


def random_model(vartype, variables=10, seed=0, density=0.6):
    """Labels are strings, numbers and tuples. Terms are multiples of 1/8: sums are exact."""
    draw = random.Random(seed)
    labels = [(f"v{i}", i, ("t", i))[i % 3] for i in range(variables)]
    bqm = dimod.BinaryQuadraticModel({v: draw.randint(-16, 16) / 8 for v in labels}, {},
                                     draw.randint(-40, 40) / 8, vartype)
    for i, u in enumerate(labels):
        for v in labels[:i]:
            if draw.random() < density:
                bqm.add_quadratic(u, v, draw.randint(-16, 16) / 8)
    return bqm


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_least_energy_is_found(vartype, seed):
    bqm = random_model(vartype, seed=seed)
    found = IsinglassSampler().sample(bqm, num_reads=20, num_sweeps=200, seed=seed)
    assert found.vartype is bqm.vartype and len(found) == 20
    assert list(found.variables) == list(bqm.variables)
    testing.assert_sampleset_energies(found, bqm, precision=12)
    assert found.record.energy.dtype == numpy.float64
    assert found.first.energy == dimod.ExactSolver().sample(bqm).first.energy
    values = set(numpy.unique(found.record.sample))
    assert values <= ({-1, 1} if vartype == "SPIN" else {0, 1})


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_reads_at_one_temperature_have_the_distribution(vartype):
    bqm = random_model(vartype, variables=4, seed=3)
    beta, reads = 0.5, 20000
    found = IsinglassSampler().sample(bqm, num_reads=reads, num_sweeps=60, seed=1,
                                      beta_range=(beta, beta))
    exact = dimod.ExactSolver().sample(bqm)
    weight = numpy.exp(-beta * exact.record.energy)
    probability = dict(zip(map(tuple, _ordered(exact, bqm)), weight / weight.sum()))
    count = dict.fromkeys(probability, 0)
    for state in map(tuple, _ordered(found, bqm)):
        count[state] += 1
    for state, p in probability.items():
        assert abs(count[state] - reads * p) < 6 * (reads * p * (1 - p)) ** 0.5, state


def _ordered(found, bqm):
    column = {v: i for i, v in enumerate(found.variables)}
    return found.record.sample[:, [column[v] for v in bqm.variables]].tolist()


def test_seeds_repeat():
    bqm = random_model("SPIN", 30)
    sampler = IsinglassSampler()
    hot = {"num_reads": 8, "num_sweeps": 5, "beta_range": (0.1, 0.2)}
    one, same, other = (sampler.sample(bqm, seed=seed, **hot) for seed in (3, 3, 4))
    assert numpy.array_equal(one.record.sample, same.record.sample)
    assert not numpy.array_equal(one.record.sample, other.record.sample)
    free = sampler.sample(bqm, **hot)
    again = sampler.sample(bqm, seed=free.info["seed"], **hot)
    assert numpy.array_equal(free.record.sample, again.record.sample)
    assert free.info["seed"] != sampler.sample(bqm, **hot).info["seed"]


def test_initial_states():
    # Two separate ferromagnetic groups: cold chains stay where they start.
    bqm = dimod.BinaryQuadraticModel.from_ising({}, {("a", "b"): -1, ("c", "d"): -1})
    start = [{"d": 1, "c": 1, "b": -1, "a": -1}, {"d": -1, "c": -1, "b": 1, "a": 1}]
    cold = {"num_sweeps": 20, "beta_range": (50, 50), "seed": 1}
    found = IsinglassSampler().sample(bqm, initial_states=start, **cold)
    assert [dict(one) for one in found.samples(sorted_by=None)] == start
    tiled = IsinglassSampler().sample(bqm, initial_states=start, num_reads=5,
                                      initial_states_generator="tile", **cold)
    assert len(tiled) == 5
    binary = [{v: (s + 1) // 2 for v, s in one.items()} for one in start]
    same = IsinglassSampler().sample(bqm, initial_states=binary, **cold)
    assert numpy.array_equal(same.record.sample, found.record.sample)
    with pytest.raises(ValueError, match="insufficient number of initial states"):
        IsinglassSampler().sample(bqm, initial_states=start, num_reads=5,
                                  initial_states_generator="none", **cold)
    with pytest.raises(ValueError, match="mismatch between variables"):
        IsinglassSampler().sample(bqm, initial_states=[{"a": 1}])


@pytest.mark.parametrize("vartype", ["SPIN", "BINARY"])
def test_models_without_terms(vartype):
    empty = IsinglassSampler().sample(dimod.BinaryQuadraticModel({}, {}, 1.5, vartype),
                                      num_reads=3)
    assert len(empty) == 3 and list(empty.record.energy) == [1.5] * 3
    flat = dimod.BinaryQuadraticModel({"a": 0, "b": 0}, {}, -2, vartype)
    found = IsinglassSampler().sample(flat, num_reads=400, num_sweeps=3, seed=1)
    assert set(found.record.energy) == {-2.0}
    assert len(numpy.unique(found.record.sample, axis=0)) == 4
    alone = dimod.BinaryQuadraticModel({"a": 3, "b": -0.5}, {}, 0, vartype)
    least = IsinglassSampler().sample(alone, num_reads=5, seed=1).first
    assert least.energy == (-3.5 if vartype == "SPIN" else -0.5)


def test_other_options_are_ignored_with_a_warning():
    bqm = random_model("SPIN", 3)
    with pytest.warns(dimod.exceptions.SamplerUnknownArgWarning, match="annealing_time"):
        IsinglassSampler().sample(bqm, annealing_time=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IsinglassSampler().sample(bqm, num_reads=2)


@pytest.mark.parametrize("wrong, words", [
    ({"num_sweeps": 2}, "num_sweeps is 2; a whole number from 3"),
    ({"num_sweeps": 2.5}, "num_sweeps is 2.5; a whole number from 3"),
    ({"beta_range": (1, 0.1)}, "beta_range is 1, 0.1; the first"),
    ({"beta_range": 3}, "beta_range is 3; two numbers"),
    ({"beta_range": (0, 1)}, "beta_range is 0, 1; the first"),
    ({"seed": -1}, "seed is -1; a whole number from 0"),
    ({"seed": 2**32}, "seed is 4294967296; a whole number from 0"),
    ({"num_reads": 0}, "'num_reads' should be a positive integer")])
def test_what_is_refused(wrong, words):
    with pytest.raises(ValueError, match=words):
        IsinglassSampler().sample(random_model("SPIN", 3), **wrong)


def test_composites_of_dimod_work():
    bqm = random_model("BINARY", 6)
    tracked = dimod.TrackingComposite(IsinglassSampler())
    testing.assert_sampleset_energies(tracked.sample(bqm, num_reads=4, seed=1), bqm)
    cubic = {("a", "b", "c"): 1.0, ("a",): 0.5, ("b", "d"): -2.0}
    found = dimod.HigherOrderComposite(IsinglassSampler()).sample_poly(
        dimod.BinaryPolynomial(cubic, "SPIN"), num_reads=20, seed=1)
    assert found.first.energy == -3.5


def test_models_take_those_of_dimod():
    spins = dimod.BinaryQuadraticModel({"b": 0.5, "a": -1.0}, {("a", "b"): 2.0, ("b", "c"): -0.75},
                                       0.0, "SPIN")
    x = torch.cartesian_prod(*[torch.arange(2)] * 3).to(torch.uint8)
    labels = list(spins.variables)
    exact = spins.energies((2 * x.numpy().astype("int8") - 1, labels)).tolist()
    assert ig.models.ising(edges=spins).energy(x).tolist() == exact
    assert ig.models.qubo(spins).energy(x).tolist() == exact
    for kind in (dimod.Float32BQM, dimod.DictBQM):
        assert ig.models.qubo(kind(spins)).energy(x).tolist() == exact
    spins.offset = 1.5
    with pytest.raises(ig.Error, match="has an offset; models.qubo takes it"):
        ig.models.ising(edges=spins)
    with pytest.raises(ig.Error, match="has binary variables; models.qubo takes it"):
        ig.models.ising(edges=spins.change_vartype("BINARY", inplace=False))
    with pytest.raises(ig.Error, match="is not a graph; models.qubo takes it"):
        ig.models.maxcut(edges=spins)
    spins.offset = 0
    with pytest.raises(ig.Error, match="couplings and fields of its own"):
        ig.models.ising(edges=spins, field=torch.zeros(3))
