"""Every sampler leaves a callable's law invariant: chains that begin at exact draws of the
enumerated law remain exact draws of it. Time averages of independent chains give a standard error.
"""
import itertools

import pytest
import torch

import isinglass as ig
from conftest import Cubic, states_of

# One of 45 averages differs by more than ERRORS standard errors with probability 3e-5.
CHAINS, STEPS, ERRORS = 3000, 24, 5

KINDS = {
    "binary": (ig.energy(Cubic(8), sites=8), states_of(8)),
    "categorical": (ig.energy(Cubic(5, 3), sites=5, categories=3), states_of(5, 3)),
    "ordered": (ig.energy(Cubic(5), sites=5, categories=3, states="ordered"), states_of(5, 3)),
    "permutation": (ig.energy(Cubic(4), sites=4, states="permutation"),
                    torch.tensor(list(itertools.permutations(range(4))))),
}


def cases():
    for sampler in ig._tables.TABLES["samplers"]:
        for kind in sampler["states"].split(", "):
            if kind in KINDS:
                yield sampler["name"], kind


def moments(x):
    """Returns averages over draws of the sites' values and of products of two, [draws, chains,
    …]."""
    x = x.double()
    pairs = torch.einsum("tbi,tbj->tbij", x, x)
    upper = torch.triu_indices(x.shape[2], x.shape[2], 1)
    return torch.cat([x, (x**2), pairs[..., upper[0], upper[1]]], 2).mean(0)


@pytest.mark.parametrize("sampler,kind", cases())
def test_law(sampler, kind):
    target, states = KINDS[kind]
    energy = target.energy(states).detach().double()
    law = torch.softmax(-energy, 0)
    generator = torch.Generator().manual_seed(1)
    start = states[torch.multinomial(law, CHAINS, replacement=True, generator=generator)]
    try:
        run = ig.sample(target, sampler, init=start, steps=STEPS, thin=2, seed=11)
    except ig.Error as error:
        assert "fit" in str(error) or "need" in str(error), error
        pytest.skip(str(error))
    if not run.summary["exact"]:
        pytest.skip(f"{sampler} says that it is not exact")
    assert (run.samples[0] != run.samples[-1]).any()
    exact = (law[:, None] * moments(states[None])).sum(0)
    means = moments(run.samples)
    error = means.std(0) / CHAINS**0.5
    assert (means.mean(0) - exact).abs().div(error.clamp_min(1e-12)).max() < ERRORS
    of_energy = run.energy.mean(0)
    assert (of_energy.mean() - (law * energy).sum()).abs() < ERRORS * of_energy.std() / CHAINS**0.5


@pytest.mark.parametrize("sampler", ["mala", "hmc", "uhmc", "fhl", "rwm"])
def test_continuous_law(sampler):
    names = {entry["name"]: entry["states"] for entry in ig._tables.TABLES["samplers"]}
    if "continuous" not in names.get(sampler, ""):
        pytest.skip(f"{sampler} does not move continuous states")
    deviation = torch.tensor([1.0, 0.5, 2.0])
    target = ig.energy(lambda x: 0.5 * ((x / deviation) ** 2).sum(1), sites=3, states="continuous",
                       name="normal")
    start = torch.randn(CHAINS, 3, generator=torch.Generator().manual_seed(2)) * deviation
    run = ig.sample(target, sampler, init=start, steps=STEPS, thin=2, seed=3)
    if not run.summary["exact"]:
        pytest.skip(f"{sampler} says that it is not exact")
    for power, exact in ((1, torch.zeros(3)), (2, deviation**2)):
        means = run.samples.double().pow(power).mean(0)
        assert ((means.mean(0) - exact).abs() < ERRORS * means.std(0) / CHAINS**0.5).all()


def test_gradient_is_the_modules_own():
    module = Cubic(8)
    target = ig.energy(module, sites=8)
    x = states_of(8)
    energy, gradient = target.energy_and_grad(x)
    relaxed = x.float().requires_grad_()
    expected = module(relaxed)
    assert torch.equal(energy, expected.detach().double())
    assert torch.equal(gradient, torch.autograd.grad(expected.sum(), relaxed)[0])
    differences = torch.autograd.functional.jacobian(lambda v: target.energy(v).sum(),
                                                     x[:3].float())
    assert torch.equal(differences, gradient[:3])


def test_differentiable_in_parameters():
    module = Cubic(6)
    target = ig.energy(module, sites=6)
    target.energy(states_of(6)).mean().backward()
    ours = module.field.grad.clone()
    module.zero_grad()
    module(states_of(6).float()).mean().backward()
    assert torch.equal(ours, module.field.grad)


def test_annealed_log_z():
    target, states = KINDS["binary"]
    exact = torch.logsumexp(-target.energy(states).detach().double(), 0)
    found = ig.evaluate(target, sampler="gwg", chains=400, steps=300, seed=2)
    assert abs(found.log_z - exact) < 5 * found.log_z_se
    categorical, states = KINDS["categorical"]
    exact = torch.logsumexp(-categorical.energy(states).detach().double(), 0)
    found = ig.evaluate(categorical, sampler="gwg", chains=400, steps=300, seed=2)
    assert abs(found.log_z - exact) < 5 * found.log_z_se


def test_likelihood_of_images():
    target, states = KINDS["binary"]
    images = states[torch.arange(0, 256, 5)]
    energy = target.energy(states).detach().double()
    found = ig.evaluate(target, images, mean=torch.full((8,), 0.4), sampler="gwg", chains=400,
                        steps=300, seed=2)
    exact = -energy[::5].mean() - torch.logsumexp(-energy, 0)
    assert abs(found.log_likelihood["forward"] - exact) < 5 * found.log_z_se
