"""Some sites given the others: fixed sites keep their values, the draws of the others have the
conditional distribution, and likelihoods of missing pixels are those of enumeration."""
import math
import pickle
import subprocess

import numpy as np
import pytest
import torch

import isinglass as ig
from conftest import PROGRAM, Cubic, states_of

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
    for values, words in ((torch.tensor([1, 0, 1, 0, 1]),
                           "^the values of fixed sites: every site is fixed, so that nothing"),
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


@pytest.mark.parametrize("name, method", [("rbm", "ais"), ("callable", "ais"), ("potts", "ais"),
                                          ("at temperature", "ais"), ("potts", "tempering")])
def test_log_z_of_restricted_states(name, method):
    """Within five standard errors of the sum over the states that are left."""
    target = {**CATEGORICAL, **TARGETS}[name]()
    sites, values = (4, 3) if name == "potts" else (SITES, 2)
    x = states_of(sites, values).long()
    u = target.energy(x.byte()).detach().double()
    reference = torch.tensor([1, 0, 1, 1, 0])[:sites]
    table = torch.ones(sites, values)
    table[1, 0] = 0
    fixed = torch.full((sites,), -1)
    fixed[2] = 1
    for limits, left in (
            ({"fixed": fixed}, x[:, 2] == 1),
            ({"allowed": table}, x[:, 1] != 0),
            ({"within": 2, "reference": reference}, (x != reference).sum(1) <= 2),
            ({"fixed": fixed, "allowed": table}, (x[:, 2] == 1) & (x[:, 1] != 0))):
        found = ig.evaluate(target, sampler="gwg", method=method, chains=300, steps=100, seed=2,
                            **limits)
        exact = torch.logsumexp(-u[left], 0).item()
        error = max(5 * found.log_z_bidirectional_se, 1e-3)
        assert abs(found.log_z_bidirectional - exact) < error
        found_x = (found.x.long() * torch.tensor([values ** i for i in reversed(range(sites))])
                   ).sum(-1)
        assert left[found_x].all()


def test_missing_halves_are_filled_in():
    images = torch.randint(0, 2, (4, 2, 3), dtype=torch.uint8)
    target = ig.models.bernoulli(theta=torch.randn(6))
    run = ig.sample(target, "gwg", inpaint="lower", data=images, inpaint_images=4, chains=8,
                    steps=5, seed=1)
    known = images.reshape(4, 6).repeat_interleave(2, 0)[:, :3]
    assert (run.samples[..., :3] == known).all()
    with pytest.raises(ig.Error, match="inpaint= needs data="):
        ig.sample(target, "gwg", inpaint="lower", steps=2)


def test_chains_are_compared_with_those_of_the_same_values():
    """The energies of the two rows lie far apart, which is no disagreement of chains."""
    target = ig.models.bernoulli(theta=torch.tensor([9.0, 0.3, -0.2, 0.1]))
    rows = torch.tensor([[0, -1, -1, -1], [1, -1, -1, -1]])
    run = ig.sample(target, "gibbs", fixed=rows, chains=20, steps=400, seed=1)
    assert run.energy[:, 10:].mean() - run.energy[:, :10].mean() > 8
    assert run.summary["rhat"] < 1.05 and run.summary["ess"]["bulk"] > 500


def test_a_chain_between_fixed_ends_has_the_marginals_of_transfer_matrices():
    """Means of the spins are within five standard errors of the product of 2 x 2 matrices."""
    sites, coupling, field, chains = 30, 0.7, 0.1, 4000
    edges = torch.stack([torch.arange(sites - 1), torch.arange(1, sites)], 1)
    chain = ig.models.ising(edges=edges, coupling=torch.full((sites - 1,), coupling),
                            field=torch.full((sites,), field))
    fixed = torch.full((sites,), -1)
    fixed[0], fixed[-1] = 1, 0
    spin = torch.tensor([-1.0, 1.0], dtype=torch.float64)
    bond, own = (coupling * spin[:, None] * spin).exp(), (field * spin).exp()
    left, right = [torch.tensor([0.0, 1.0]).double()], [torch.tensor([1.0, 0.0]).double()]
    for _ in range(sites - 1):
        left.append(own * (bond @ left[-1]))
        right.append(own * (bond @ right[-1]))
    both = torch.stack(left) * torch.stack(right[::-1]) / own
    exact = (both * spin).sum(1) / both.sum(1)
    for sampler, options in (("gibbs", {"scan": "chromatic"}), ("pafs", {"radius": 4})):
        run = ig.sample(chain, sampler, fixed=fixed, chains=chains, burn_in=300, steps=1, seed=6,
                        **options)
        mean = (2.0 * run.samples[0] - 1).double().mean(0)
        error = ((1 - exact ** 2) / chains).sqrt()
        assert ((mean - exact).abs()[1:-1] / error[1:-1]).max() < 5
        assert mean[0] == 1 and mean[-1] == -1


def expect_law(target, run, allowed, sites, values):
    """Whole states and energies are right, and each state of the allowed ones, bool [S], has its
    share within five standard errors."""
    x = states_of(sites, values)
    u = target.energy(x).detach().double()
    number = torch.tensor([values ** i for i in reversed(range(sites))])
    found = (run.samples[0].long() * number).sum(1)
    assert torch.allclose(run.energy[0], u[found], atol=1e-4)
    p = torch.softmax(torch.where(allowed, -u, -torch.inf), 0)
    share = torch.bincount(found, minlength=len(x)) / len(found)
    assert (share[~allowed] == 0).all()
    error = (p * (1 - p) / len(found)).sqrt()
    assert ((share - p).abs()[allowed] / error[allowed].clamp_min(1e-4)).max() < 5


CATEGORICAL = {
    "potts": lambda: ig.models.potts(edges=torch.tensor([[0, 1], [1, 2], [2, 3]]),
                                     coupling=torch.tensor([0.8, -0.5, 0.6]),
                                     field=torch.linspace(-1, 1, 12).reshape(4, 3)),
    "tables": lambda: ig.models.potts(edges=torch.tensor([[0, 1], [2, 1], [2, 3]]),
                                      coupling=torch.sin(torch.arange(27.)).reshape(3, 3, 3),
                                      field=torch.linspace(-1, 1, 12).reshape(4, 3)),
    "callable": lambda: ig.energy(Cubic(4, 3), sites=4, categories=3),
    "ordered": lambda: ig.models.lattice_gaussian(
        precision=torch.eye(4) * 0.5 + 0.1, mean=torch.tensor([0.3, 1.1, 1.7, 0.9]), categories=3),
}


@pytest.mark.parametrize("sampler", ["gibbs", "gwg", "pafs", "pas", "lb"])
@pytest.mark.parametrize("name", CATEGORICAL)
def test_values_that_are_not_allowed_are_not_drawn(name, sampler):
    target = CATEGORICAL[name]()
    table = torch.tensor([[1, 1, 1], [0, 1, 1], [1, 0, 0], [1, 0, 1]])
    x = states_of(4, 3).long()
    allowed = table[torch.arange(4), x].all(1)
    for fixed in (None, torch.tensor([2, -1, -1, -1])):
        run = ig.sample(target, sampler, allowed=table, fixed=fixed, chains=4000, burn_in=60,
                        steps=1, seed=8)
        own = allowed if fixed is None else allowed & (x[:, 0] == 2)
        expect_law(target, run, own, 4, 3)


@pytest.mark.parametrize("sampler", ["gibbs", "gwg", "pafs", "pas", "lb", "rwm"])
@pytest.mark.parametrize("name", ["rbm", "ising", "callable", "potts"])
def test_states_stay_within_a_distance_of_a_reference(name, sampler):
    target = {**CATEGORICAL, **TARGETS}[name]()
    sites, values = (4, 3) if name == "potts" else (SITES, 2)
    reference = torch.tensor([1, 0, 1, 1, 0])[:sites]
    near = (states_of(sites, values) != reference).sum(1) <= 2
    options = {"radius": 2} if sampler in ("pas", "pafs") else {}
    run = ig.sample(target, sampler, within=2, reference=reference, chains=2000, burn_in=200,
                    steps=1, seed=9, **options)
    expect_law(target, run, near, sites, values)


def test_restrictions_go_together():
    """A row of references, a fixed site and a limit of changes: every state satisfies all three."""
    target = CATEGORICAL["potts"]()
    rows = torch.tensor([[0, 1, 2, 0], [2, 1, 1, 2]])
    run = ig.sample(target, "pafs", fixed=torch.tensor([-1, 1, -1, -1]), within=1, reference=rows,
                    allowed=torch.tensor([[1, 0, 1], [0, 1, 0], [0, 1, 1], [1, 1, 1]]), chains=10,
                    steps=200, seed=1)
    x = run.samples.long()
    reference = rows.repeat_interleave(5, 0)
    assert ((x != reference).sum(2) <= 1).all() and (x[..., 1] == 1).all()
    assert (x[..., 0] != 1).all() and (x[..., 2] != 0).all()
    assert (x != reference).any()


def test_restrictions_that_do_not_fit():
    target = CATEGORICAL["potts"]()
    for options, words in (
            ({"allowed": torch.ones(4, 2)}, r"\[4, 3\] is needed"),
            ({"allowed": torch.tensor([[1, 1, 1], [0, 0, 0], [1, 1, 1], [1, 1, 1]])},
             "the allowed values: no value of site 1 is allowed"),
            ({"within": 2}, "within= needs reference="),
            ({"reference": torch.zeros(4, dtype=torch.uint8)}, "within= needs reference="),
            ({"within": 5, "reference": torch.zeros(4, dtype=torch.uint8)}, "within= is 5"),
            ({"within": 1, "reference": torch.zeros(4, dtype=torch.uint8),
              "allowed": torch.tensor([[0, 1, 1]] * 4)}, "is not allowed")):
        with pytest.raises(ig.Error, match=words):
            ig.sample(target, "gibbs", steps=2, **options)


def test_part_of_a_target_is_a_target():
    """Its chains are moved by hand, its energies are those of whole states, and it notices when the
    parameters of the whole target change."""
    target = rbm()
    part = target.given(torch.tensor([1, -1, -1, float("nan"), 0]))
    assert (part.sites, part.states, part.name) == (3, "binary", "rbm")
    x = states_of(3)
    whole = part.complete(x)
    assert (whole[:, [0, 4]] == torch.tensor([1, 0])).all() and (part.restrict(whole) == x).all()
    assert torch.allclose(part.energy(x).double(), target.energy(whole).double(), atol=1e-5)
    sampler = ig.sampler("pafs", radius=2)
    state = sampler.init(part, chains=4000, seed=5)
    sampler.steps(part, state, 100)
    p = torch.softmax(-part.energy(x).detach().double(), 0)
    share = torch.stack([(state.x == each).all(1).double().mean() for each in x])
    assert ((share - p).abs() / (p * (1 - p) / 4000).sqrt()).max() < 5
    with torch.no_grad():
        target.parameters()["b_v"].add_(1)
    assert torch.allclose(part.energy(x).double(), target.energy(whole).double(), atol=1e-5)
    again = pickle.loads(pickle.dumps(part))
    assert torch.allclose(part.energy(x), again.energy(x))
    run = ig.sample(part, "gibbs", scan="chromatic", chains=10, steps=20, seed=1)
    assert run.samples.shape == (20, 10, 3)
    near = CATEGORICAL["potts"]().given(within=1, reference=[0, 1, 2, 0],
                                        allowed=[[1, 0, 1], [0, 1, 0], [1, 1, 1], [1, 1, 1]])
    assert near.sites == 3
    assert near.complete(near.restrict([[2, 1, 2, 0]])).tolist() == [[2, 1, 2, 0]]
    with pytest.raises(ig.Error, match="is not allowed"):
        near.restrict([[1, 1, 2, 0]])
    with pytest.raises(ig.Error, match="2 rows are given"):
        target.given(torch.tensor([[1, -1, -1, 0, -1], [0, -1, -1, 0, -1]]))
    with pytest.raises(ig.Error, match="is needed"):
        target.given()
    with pytest.raises(ig.Error, match="methods of targets that given"):
        target.complete(x)


@pytest.mark.parametrize("sampler", ["gibbs", "lb", "pafs"])
@pytest.mark.parametrize("run", [{"rungs": 4}, {"anneal": (1e5, 1)}], ids=str)
def test_hot_chains_stay_within_the_distance(sampler, run):
    """Also where the energies of the target count for nearly nothing."""
    target = CATEGORICAL["potts"]()
    reference = torch.tensor([1, 0, 1, 1])
    near = (states_of(4, 3) != reference).sum(1) <= 2
    draws = ig.sample(target, sampler, within=2, reference=reference, chains=1000, burn_in=60,
                      steps=100, thin=100, seed=9, **run)
    expect_law(target, draws, near, 4, 3)


def test_tempering_near_a_reference_knows_log_z():
    """log Z is that of the states with few changes, of allowed values and with a fixed site."""
    target = CATEGORICAL["potts"]()
    reference = torch.tensor([1, 0, 1, 1])
    x = states_of(4, 3).long()
    allowed = torch.tensor([[1, 1, 1], [1, 1, 0], [0, 1, 1], [1, 1, 1]])
    kept = ((x != reference).sum(1) <= 2) & allowed[torch.arange(4), x].all(1) & (x[:, 3] == 2)
    exact = torch.logsumexp(-target.energy(x.to(torch.uint8)).detach().double()[kept], 0)
    run = ig.sample(target, "gibbs", within=2, reference=reference, allowed=allowed,
                    fixed=torch.tensor([-1, -1, -1, 2]), rungs=3, exploration=3, chains=16,
                    burn_in=60, steps=600, seed=4)
    found = run.summary["tempering"]
    assert abs(found["log_z"] - exact) < 5 * found["log_z_se"] < 0.25
    assert found["rejection"][0] < 0.5


def sequence(sites):
    """A sequence of four letters whose neighbours are unlike each other."""
    edges = torch.stack([torch.arange(sites - 1), torch.arange(1, sites)], 1)
    return ig.models.potts(edges=edges, coupling=torch.full((sites - 1,), -1.0),
                           field=torch.linspace(-0.5, 0.5, 4 * sites).reshape(sites, 4))


@pytest.mark.parametrize("sampler", ["gibbs", "pafs"])
def test_restrictions_hold_in_a_million_steps(sampler):
    """Every state of 1000 chains in 1000 steps has the fixed values, allowed values only, and at
    most four changes of its chain's reference, and the chains make use of all that they may."""
    sites, chains, steps, limit = 12, 1000, 1000, 4
    fixed = torch.full((sites,), -1)
    fixed[0], fixed[-1] = 2, 2
    allowed = torch.ones(sites, 4)
    allowed[:, 3] = 0
    allowed[5, 0] = 0
    rows = torch.tensor([[2, 0, 1, 0, 1, 2, 1, 0, 1, 0, 1, 2],
                         [2, 1, 1, 1, 0, 1, 0, 2, 0, 2, 0, 2]])
    run = ig.sample(sequence(sites), sampler, fixed=fixed, allowed=allowed, within=limit,
                    reference=rows, chains=chains, steps=steps, seed=3,
                    **({"radius": 3} if sampler == "pafs" else {}))
    x = run.samples
    assert x.shape == (steps, chains, sites)
    assert (x[..., 0] == 2).all() and (x[..., -1] == 2).all()
    assert (x != 3).all() and (x[..., 5] != 0).all()
    changes = (x != rows.to(torch.uint8).repeat_interleave(chains // 2, 0)).sum(2)
    assert changes.max() == limit and (changes == limit).any(0).all()
    seen = torch.stack([(x == letter).any(0).any(0) for letter in range(4)], 1)
    free = fixed < 0
    assert (seen[free] == (allowed[free] > 0)).all()


def tiny_rbm():
    torch.manual_seed(5)
    return ig.models.rbm(W=torch.randn(3, 6), b_v=torch.randn(6), b_h=torch.randn(3))


IMAGE = torch.tensor([0, 1, 1, 0, 1, 0], dtype=torch.uint8)
ORDERINGS = ([0, 1, 2, 3, 4, 5], [4, 1, 5, 0, 3, 2])


def log_p(target, x):
    """The exact log-probability of a state."""
    u = target.energy(torch.cat([x[None], states_of(len(x))])).detach().double()
    return (-u[0] - torch.logsumexp(-u[1:], 0)).item()


@pytest.mark.parametrize("ordering", ORDERINGS, ids=str)
def test_shares_along_an_ordering_multiply_to_the_joint(ordering):
    """log p(x) is the sum of log p(x_i | the sites before i). Each conditional is the share of
    chains with the value x_i, among independent chains that are fixed at the sites before."""
    target, chains = tiny_rbm(), 4000
    total, variance = 0.0, 0.0
    for place, site in enumerate(ordering):
        fixed = torch.full((6,), -1)
        before = ordering[:place]
        fixed[before] = IMAGE[before].long()
        run = ig.sample(target, "gibbs", scan="chromatic", fixed=fixed if place else None,
                        chains=chains, burn_in=100, steps=1, seed=20 + place)
        share = (run.samples[0, :, site] == IMAGE[site]).double().mean().item()
        total += math.log(share)
        variance += (1 - share) / (share * chains)
    assert variance < 0.05 ** 2
    assert abs(total - log_p(target, IMAGE)) < 5 * math.sqrt(variance)


def test_likelihoods_along_orderings_sum_to_the_joint(tmp_path):
    """log p(x_i | the sites before i) is the difference of the likelihoods of two masks, with the
    site i among the missing pixels and among the known ones. Every likelihood is annealed anew
    with other random numbers, and errors are those that the means over copies of the image report.
    """
    target, copies = tiny_rbm(), 8
    images, half = IMAGE.reshape(1, 2, 3).repeat(copies, 1, 1), torch.full((6,), 0.5)

    def likelihood(known, seed):
        """Returns log p(the other pixels | known pixels) and the variance of its error."""
        if not known:
            found = ig.evaluate(target, scan="chromatic", sampler="gibbs", chains=2000, steps=100,
                                mean=half, seed=seed)
            return -target.energy(IMAGE[None]).item() - found.log_z, found.log_z_se ** 2
        missing = torch.ones(2, 3, dtype=torch.uint8)
        missing.view(-1)[known] = 0
        torch.save(missing, tmp_path / "mask.pt")
        found = ig.evaluate(target, images, inpaint=str(tmp_path / "mask.pt"), mean=half,
                            inpaint_images=copies, chains=100, steps=20, seed=seed)
        own = found.log_likelihood["bidirectional"]
        return own["mean"], own["standard_error"] ** 2

    sums = []
    for number, ordering in enumerate(ORDERINGS):
        total, variance = 0.0, 0.0
        for place in range(6):
            terms = [likelihood(ordering[:place], 1000 * number + 100 * place)]
            if place < 5:
                terms.append(likelihood(ordering[:place + 1], 1000 * number + 100 * place + 50))
            total += terms[0][0] - (terms[1][0] if place < 5 else 0)
            variance += sum(error for _, error in terms)
        assert 0 < variance < 0.05 ** 2
        assert abs(total - log_p(target, IMAGE)) < 5 * math.sqrt(variance)
        sums.append((total, variance))
    assert abs(sums[0][0] - sums[1][0]) < 5 * math.sqrt(sums[0][1] + sums[1][1])


OF_STATES = {
    "fixed": ({}, torch.tensor([1, -1, -1, 0, -1])),
    "fixed, NaN": ({}, torch.tensor([1, math.nan, math.nan, 0, math.nan], dtype=torch.float64)),
    "allowed": ({}, torch.tensor([[1, 1], [1, 0], [0, 1], [1, 1], [1, 1]], dtype=torch.uint8)),
    "reference": ({"within": 2}, torch.tensor([1, 0, 1, 1, 0], dtype=torch.uint8)),
    "init": ({}, torch.tensor([[1, 0, 1, 1, 0]] * 6, dtype=torch.uint8)),
}


@pytest.mark.parametrize("case", OF_STATES)
def test_files_of_states_are_numpys_or_pytorchs(case, tmp_path):
    more, values = OF_STATES[case]
    name = case.split(",")[0]
    np.save(tmp_path / "states.npy", values.numpy())
    torch.save(values, tmp_path / "states.pt")
    runs = [ig.sample(ising(), "gibbs", chains=6, steps=20, seed=2, **more, **{name: file})
            for file in (values, str(tmp_path / "states.pt"), str(tmp_path / "states.npy"))]
    assert all(torch.equal(run.samples, runs[0].samples) for run in runs)


def test_the_program_takes_numpys_masks_and_states(tmp_path):
    edges = torch.tensor([[0, 1], [1, 2], [2, 3], [3, 4], [4, 0]])
    torch.save({"edges": edges, "coupling": torch.linspace(-.6, .8, 5),
                "field": torch.linspace(-.3, .4, SITES)}, tmp_path / "ising.pt")
    torch.save({"W": torch.randn(3, 4), "b_v": torch.randn(4), "b_h": torch.randn(3)},
               tmp_path / "rbm.pt")
    torch.save((torch.rand(20, 4) < 0.4).to(torch.uint8), tmp_path / "images.pt")
    np.save(tmp_path / "mask.npy", np.array([[True, False], [False, True]]))
    states = torch.tensor([[1, 0, 1, 1, 0], [0, 0, 1, 0, 1]], dtype=torch.uint8)
    np.save(tmp_path / "states.npy", states.numpy())
    for command in ("energy --model ising --weights ising.pt --states states.npy --out E.pt",
                    "sample --quiet --model rbm --weights rbm.pt --dataset images.pt --image 2x2 "
                    "--inpaint mask.npy --steps 5 --out inpainted"):
        subprocess.run([PROGRAM, *command.split()], cwd=tmp_path, check=True, timeout=120)
    assert torch.allclose(torch.load(tmp_path / "E.pt")["energy"].double(),
                          ising().energy(states).double())
