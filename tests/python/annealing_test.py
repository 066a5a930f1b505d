"""sample(anneal="auto") and sample(time=...): the best state of any target by enumeration, and the
verdict on the run."""
import itertools
import math
import warnings

import pytest
import torch

import isinglass as ig

SITES = 8


def states(values=2, sites=SITES):
    return torch.tensor(list(itertools.product(range(values), repeat=sites)), dtype=torch.uint8)


def glass(scale):
    """Returns the energy of a cubic function, which no lattice is."""
    generator = torch.Generator().manual_seed(3)
    weight = scale * torch.randn(SITES, SITES, SITES, generator=generator, dtype=torch.float64)

    def energy(x):
        z = 2 * x.to(torch.float64) - 1
        return torch.einsum("bi,bj,bk,ijk->b", z, z, z, weight)

    return energy


def annealed(target, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # an annealing run that worked warns of nothing
        return ig.sample(target, anneal="auto", chains=20, seed=2, **options)


@pytest.mark.parametrize("scale", [1e-3, 1, 1e6])
@pytest.mark.parametrize("sampler", [None, "gibbs"])
def test_the_best_state_of_a_function(scale, sampler):
    energy = glass(scale)
    run = annealed(ig.energy(energy, sites=SITES), sampler=sampler, burn_in=400)
    least = energy(states()).min().item()
    assert run.summary["best"]["value"] == pytest.approx(least, rel=1e-12)
    assert energy(run.solution).item() == pytest.approx(least, rel=1e-12)
    first, last = map(float, run.summary["anneal"].split(","))
    assert run.options["anneal"] == run.summary["anneal"]
    assert run.summary["exact"] is False
    assert 0 < last < first < 100 * scale


def test_the_best_state_of_categorical_sites():
    table = torch.randn(5, 3, generator=torch.Generator().manual_seed(1), dtype=torch.float64)

    def energy(x):
        value = x if x.is_floating_point() else torch.nn.functional.one_hot(x.long(), 3)
        value = value.to(torch.float64)
        return (value * table).sum((1, 2)) - (value[:, :-1] * value[:, 1:]).sum((1, 2))

    target = ig.energy(energy, sites=5, states="categorical", categories=3)
    run = annealed(target, burn_in=300)
    assert run.summary["best"]["value"] == pytest.approx(energy(states(3, 5)).min().item())


def test_a_time_replaces_burn_in():
    target = ig.models.qubo({(i, j): math.sin(7 * i + 3 * j) for i in range(9) for j in range(9)})
    run = annealed(target, time=2)
    assert run.summary["sampler"] == "metropolis"
    assert run.summary["steps"] == 10 and "time" not in run.options
    again = ig.sample(target, "metropolis", chains=20, seed=2, steps=10,
                      anneal=run.options["anneal"], burn_in=run.options["burn-in"])
    assert torch.equal(again.samples, run.samples)
    assert again.summary["best"] == run.summary["best"]


def test_the_verdict():
    target = ig.models.qubo({(i, j): math.sin(7 * i + 3 * j) for i in range(9) for j in range(9)})
    least = target.energy(states(sites=9)).min().item()
    run = annealed(target, burn_in=300, optimum=least, population=1)
    verdict = run.summary["annealing"]
    assert verdict["sought"] == "optimum"
    assert run.summary["best"]["ratio"] == pytest.approx(1)
    share = verdict["found_by"] / 20
    needed = 1 if share >= 0.99 else math.log(0.01) / math.log(1 - share)
    assert verdict["chains_needed"] == pytest.approx(needed)
    assert verdict["time_to_solution"] == pytest.approx(needed * verdict["seconds"] / 20)
    assert "chains that found it" in repr(run)
    assert "R-hat" not in repr(run)


def test_resampled_chains():
    target = ig.models.qubo({(i, j): math.sin(7 * i + 3 * j) for i in range(40) for j in range(40)})
    run = annealed(target, burn_in=100)
    assert run.summary["annealing"]["group"] == run.options["population"] == 10
    apart = annealed(target, burn_in=100, population=1)
    assert run.summary["best"]["value"] <= apart.summary["best"]["value"]
    with pytest.raises(ig.Error, match="population= is 3, which does not divide"):
        ig.sample(target, anneal="auto", burn_in=9, chains=20, population=3)


def test_what_does_not_go_together():
    target = ig.models.qubo({(0, 1): 1})
    with pytest.raises(ig.Error, match="time= is the time of an annealing run"):
        ig.sample(target, time=2)
    with pytest.raises(ig.Error, match="time= and burn_in= exclude each other"):
        ig.sample(target, anneal="auto", time=2, burn_in=3)
    with pytest.raises(ig.Error, match="which heats; annealing cools"):
        ig.sample(target, anneal=(0.1, 2), burn_in=3)
    with pytest.warns(UserWarning, match="anneal= 2000,1000 ends too hot"):
        ig.sample(target, anneal=(2000, 1000), burn_in=30)
