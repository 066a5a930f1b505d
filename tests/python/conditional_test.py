"""Some sites given the others: fixed sites keep their values, the draws of the others have the
conditional distribution, and likelihoods of missing pixels are those of enumeration."""
import math

import pytest
import torch

import isinglass as ig
from conftest import Cubic, states_of

SITES = 5


def rbm():
    torch.manual_seed(3)
    return ig.models.rbm(W=torch.randn(4, SITES), b_v=torch.randn(SITES), b_h=torch.randn(4))


def ising():
    edges = torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])
    return ig.models.ising(edges=edges, coupling=torch.linspace(-.6, .8, 5),
                           field=torch.linspace(-.3, .4, SITES))


TARGETS = {"rbm": rbm, "ising": ising,
           "callable": lambda: ig.energy(Cubic(SITES), sites=SITES),
           "at temperature": lambda: ising().at_temperature(1.5)}
FIXED = {"all chains": torch.tensor([1, -1, -1, 0, -1]),
         "rows of values": torch.tensor([[1, -1, -1, 0, -1], [0, -1, -1, 0, -1]]),
         "rows of sites": torch.tensor([[1, -1, -1, 0, -1], [-1, 1, 1, 0, -1]])}


def temperature_of(name):
    return 1.5 if name == "at temperature" else 1


@pytest.mark.parametrize("fixed", FIXED)
@pytest.mark.parametrize("name", TARGETS)
def test_draws_are_conditional(name, fixed):
    """Each state's frequency is within five standard errors of its conditional probability."""
    target, values = TARGETS[name](), FIXED[fixed]
    rows, chains = values.reshape(-1, SITES), 4000
    run = ig.sample(target, "pafs", radius=2, fixed=values, chains=chains, burn_in=40, steps=1,
                    seed=4)
    x = states_of(SITES)
    u = temperature_of(name) * target.energy(x).detach().double()
    number = torch.tensor([2 ** i for i in range(SITES)])
    assert torch.allclose(run.energy[0], u[torch.argsort((x.long() * number).sum(1))][
        (run.samples[0].long() * number).sum(1)], atol=1e-4)
    drawn = run.samples[0].reshape(len(rows), chains // len(rows), SITES)
    for row, own in zip(rows, drawn):
        assert ((own.long() == row) | (row < 0)).all()
        allowed = ((x.long() == row) | (row < 0)).all(1)
        p = torch.softmax(-u[allowed] / temperature_of(name), 0)
        share = torch.stack([(own == state).all(1).double().mean() for state in x[allowed]])
        assert ((share - p).abs() / (p * (1 - p) / len(own)).sqrt()).max() < 5
    assert run.summary["sites"] == SITES and run.summary["free_sites"] == 3


def test_tempering_and_annealing_keep_fixed_sites():
    for more in ({"rungs": 3}, {"anneal": (3, 1)}):
        for values in FIXED.values():
            run = ig.sample(ising(), "gibbs", fixed=values, chains=6, burn_in=30, steps=20, seed=2,
                            **more)
            row = values.reshape(-1, SITES).repeat_interleave(6 // (values.numel() // SITES), 0)
            assert ((run.samples.long() == row) | (row < 0)).all()
            expected = ising().energy(run.samples.flatten(0, 1))
            assert torch.allclose(run.energy.flatten(), expected.double(), atol=1e-6)


def test_starts_take_the_fixed_values():
    start = torch.zeros(8, SITES, dtype=torch.uint8)
    run = ig.sample(rbm(), "gibbs", fixed=FIXED["all chains"], init=start, steps=3, seed=1)
    assert (run.samples[..., 0] == 1).all() and (run.samples[..., 3] == 0).all()


def test_what_cannot_be_fixed():
    for values, words in ((torch.tensor([1, 0, 1, 0, 1]), "fixes every site"),
                          (torch.tensor([2, -1, -1, -1, -1]), "the values of a site are 0 to 1"),
                          (torch.tensor([1, -1]), r"\[5\] or \[N, 5\] is needed"),
                          (torch.tensor([True] * 5), "truth values")):
        with pytest.raises(ig.Error, match=words):
            ig.sample(rbm(), fixed=values, steps=2)
    with pytest.raises(ig.Error, match="chains= is 3"):
        ig.sample(rbm(), fixed=FIXED["rows of values"], chains=3, steps=2)
    with pytest.raises(ig.Error, match="permutation"):
        ig.sample(ig.models.permutation(w=torch.zeros(3, 3)), fixed=torch.tensor([0, -1, -1]),
                  steps=2)


@pytest.mark.parametrize("sampler", [None, "pafs"])
def test_missing_pixels_have_the_likelihood_of_enumeration(sampler):
    torch.manual_seed(5)
    target = ig.models.rbm(W=torch.randn(3, 6), b_v=torch.randn(6), b_h=torch.randn(3))
    images = torch.randint(0, 2, (4, 2, 3), dtype=torch.uint8)
    found = ig.evaluate(target, images, sampler=sampler, inpaint="left", inpaint_images=4,
                        chains=400, steps=200, seed=1)
    missing = torch.tensor([True, False, False, True, False, False])
    x = states_of(6)
    u = target.energy(x).detach().double()
    exact = []
    for image in images.reshape(4, 6):
        same = ((x == image) | missing).all(1)
        own = (x == image).all(1)
        exact.append((-u[own] - torch.logsumexp(-u[same], 0)).item())
    for image, log_p in zip(found.images, exact):
        assert image["verdict"] == "closed"
        assert abs(image["log_likelihood"]["bidirectional"] - log_p) < 0.05
    mean = found.log_likelihood["bidirectional"]["mean"]
    assert math.isclose(mean, sum(image["log_likelihood"]["bidirectional"]
                                  for image in found.images) / 4, abs_tol=1e-9)
    assert found.closed == found.done == 4


def test_missing_halves_are_filled_in():
    images = torch.randint(0, 2, (4, 2, 3), dtype=torch.uint8)
    target = ig.models.bernoulli(theta=torch.randn(6))
    run = ig.sample(target, "gwg", inpaint="lower", data=images, inpaint_images=4, chains=8,
                    steps=5, seed=1)
    known = images.reshape(4, 6).repeat_interleave(2, 0)[:, :3]
    assert (run.samples[..., :3] == known).all()
    with pytest.raises(ig.Error, match="needs `?dataset"):
        ig.sample(target, "gwg", inpaint="lower", steps=2)


def test_chains_are_compared_with_those_of_the_same_values():
    """The energies of the two rows lie far apart, which is no disagreement of chains."""
    target = ig.models.bernoulli(theta=torch.tensor([9.0, 0.3, -0.2, 0.1]))
    rows = torch.tensor([[0, -1, -1, -1], [1, -1, -1, -1]])
    run = ig.sample(target, "gibbs", fixed=rows, chains=20, steps=400, seed=1)
    assert run.energy[:, 10:].mean() - run.energy[:, :10].mean() > 8
    assert run.summary["rhat"] < 1.05 and run.summary["ess"]["bulk"] > 500
