"""Effective sample sizes, R-hat, MMD and log-probabilities from Python."""
import math

import numpy as np
import pytest
import torch

import isinglass as ig
from conftest import Mlp


def draws(seed, draws=200, chains=4, sites=3):
    """Returns autoregressive chains [draws, chains, sites], float64, of different mixing."""
    noise = np.random.default_rng(seed).normal(size=(draws, chains, sites))
    x = np.zeros_like(noise)
    for t in range(1, draws):
        x[t] = np.array([0.0, 0.5, 0.9]) * x[t - 1] + noise[t]
    return x


@pytest.mark.parametrize("kind,method", [("bulk", "bulk"), ("tail", "tail")])
def test_ess_is_that_of_arviz(kind, method):
    arviz = pytest.importorskip("arviz")
    x = draws(1)
    theirs = [arviz.ess(x[:, :, site].T, method=method) for site in range(3)]
    assert ig.ess(x, kind=kind).tolist() == pytest.approx([float(one) for one in theirs], rel=1e-8)
    assert ig.ess(x)[0] > 2 * ig.ess(x)[2]


@pytest.mark.parametrize("count", [10, 11, 12, 13, 20])
def test_ess_of_short_chains_is_that_of_arviz(count):
    arviz = pytest.importorskip("arviz")
    x = draws(6)[50:50 + count]
    for kind in ("bulk", "tail"):
        theirs = [float(arviz.ess(x[:, :, site].T, method=kind)) for site in range(3)]
        assert ig.ess(x, kind=kind).tolist() == pytest.approx(theirs, rel=1e-8)


def test_ess_of_fewer_than_ten_draws_is_undefined():
    x = draws(6)
    for count in range(4, 10):
        for kind in ("bulk", "tail"):
            assert torch.isnan(ig.ess(x[:count], kind=kind)).all()
    assert torch.isfinite(ig.ess(x[:4], kind="mean")).all()


def test_rhat_is_that_of_arviz():
    arviz = pytest.importorskip("arviz")
    x = draws(2)
    x[:, 0, 1] += 5
    theirs = [float(arviz.rhat(x[:, :, site].T)) for site in range(3)]
    assert ig.rhat(x).tolist() == pytest.approx(theirs, rel=1e-9)
    assert ig.rhat(x)[1] > 1.1


@pytest.mark.parametrize("form", [np.asarray, torch.as_tensor, lambda x: x.tolist()])
def test_every_form_of_draws_gives_the_same(form):
    x = draws(3)
    assert torch.equal(ig.ess(form(x)), ig.ess(x))
    assert torch.equal(ig.rhat(form(x)), ig.rhat(x))
    assert ig.ess(form(x[:, :, 1])) == ig.ess(x)[1].item()
    bits = (x > 0).astype(np.uint8)
    assert ig.mmd(form(bits), form(1 - bits)) == ig.mmd(bits, 1 - bits)


def test_a_run_and_its_summary_agree():
    target = ig.instance("ising-grid:side=4,coupling=0.3")
    run = ig.sample(target, "gwg", chains=6, burn_in=50, steps=200, seed=1)
    assert ig.ess(run.energy, kind="mean") == pytest.approx(run.summary["ess"]["mean"], rel=1e-12)
    # The summary also merges energies that differ by the rounding of float32 sums.
    assert ig.ess(run.energy) == pytest.approx(run.summary["ess"]["bulk"], rel=1e-2)
    assert ig.rhat(run.energy) == pytest.approx(run.summary["rhats"]["energy"], rel=1e-2)
    assert ig.ess(run.samples).shape == (16,)


def test_rounding_of_a_float32_network_is_no_disagreement():
    """One state has nearly all the mass. A network computes its energy with other roundings in
    other rows of a batch, which are chains."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(8, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64),
                              torch.nn.Tanh(), torch.nn.Linear(64, 1), torch.nn.Flatten(0))
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(2)
    field = 1.6 * torch.linspace(3.5, 5, 8)
    target = ig.energy(lambda x: 3 * net(x) + x @ field, sites=8)
    run = ig.sample(target, "gibbs", chains=37, burn_in=100, steps=600, seed=1)
    assert run.summary["rhats"]["energy"] < 1.05
    assert ig.rhat(run.energy, rounding=2**-20) == run.summary["rhats"]["energy"]
    assert ig.ess(run.energy, rounding=2**-20) == run.summary["ess"]["bulk"]
    for options in ({"steps": 300}, {"method": "tempering", "steps": 600, "rungs": 6}):
        found = ig.evaluate(target, sampler="gibbs", chains=37, seed=1, **options)
        assert found.values["verdict"] == "closed", found


def test_undefined_diagnostics_are_nan():
    assert math.isnan(ig.ess(torch.zeros(100, 4)))
    assert math.isnan(ig.ess(torch.randn(3, 4)))
    assert math.isnan(ig.rhat(torch.randn(100, 1)))
    assert math.isnan(ig.mmd(torch.zeros(5, 1, 2, dtype=torch.uint8),
                             torch.zeros(5, 1, 2, dtype=torch.uint8)))


def test_mmd_of_known_samples():
    """Between equal points k = 1, between opposite ones exp(-1)."""
    x, y = [[0, 0]] * 4, [[1, 1]] * 3
    assert ig.mmd(x, y) == pytest.approx(2 - 2 * math.exp(-1), rel=1e-12)
    assert ig.mmd(x, y, biased=True) == pytest.approx(2 - 2 * math.exp(-1), rel=1e-12)
    assert ig.mmd(x, y, standard_error=True) == pytest.approx((2 - 2 * math.exp(-1), 0.0))
    bits = np.random.default_rng(5).integers(0, 2, size=(2, 50, 8))
    value, error = ig.mmd(bits[0], bits[1], standard_error=True)
    assert abs(value) < 5 * error


@pytest.mark.parametrize("call,said", [
    (lambda: ig.ess(torch.randn(10)), r"x has shape \[10\]; \[draws, chains\]"),
    (lambda: ig.ess(torch.randn(10, 2), kind="median"), "kind= is 'median'; known: bulk, tail"),
    (lambda: ig.rhat(torch.zeros(0, 2)), r"x has shape \[0, 2\], which holds no number"),
    (lambda: ig.rhat("abc"), "x is a str"),
    (lambda: ig.mmd(torch.rand(4, 2), torch.rand(4, 2)), "whole numbers are needed"),
    (lambda: ig.mmd([[0, 1]], [[0, 1, 1]]), "x has 2 sites and y has 3"),
    (lambda: ig.mmd([[0, 1]], [[1, 1]], biased=True, standard_error=True), "standard_error="),
])
def test_refusals(call, said):
    with pytest.raises(ig.Error, match=said):
        call()


def test_log_prob_of_independent_sites_is_normalised():
    target = ig.models.bernoulli(theta=torch.tensor([1.0, -2.0, 0.3]))
    states = torch.cartesian_prod(*[torch.arange(2)] * 3).to(torch.uint8)
    log_prob = target.log_prob(states)
    assert log_prob.double().exp().sum().item() == pytest.approx(1, abs=3e-7)
    theirs = torch.distributions.Bernoulli(logits=torch.tensor([-1.0, 2.0, -0.3]))
    assert torch.allclose(log_prob.double(), theirs.log_prob(states.float()).sum(1).double(),
                          rtol=0, atol=1e-6)
    assert torch.equal(target.log_prob(states.numpy(), log_z=0), -target.energy(states))


def test_log_prob_needs_log_z_where_it_is_not_known():
    module = Mlp(5)
    target = ig.energy(module, sites=5)
    x = target.random_states(7, seed=1)
    with pytest.raises(ig.Error, match="log Z of .* is not known in closed form; give log_z="):
        target.log_prob(x)
    with pytest.raises(ig.Error, match="log_z= is nan"):
        target.log_prob(x, log_z=float("nan"))
    given = target.log_prob(x, log_z=2.5)
    assert torch.equal(given, -target.energy(x) - 2.5)
    given.sum().backward()
    assert all(parameter.grad is not None for parameter in module.parameters())
