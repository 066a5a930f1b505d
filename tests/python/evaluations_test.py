"""Evaluations: intervals of log Z hold the truth as often as they should, models without a definite
energy get no closed verdict, and a directory holds the results as the program writes them.
"""
import json
import math

import pytest
import torch

import isinglass as ig
from conftest import Cubic, Mlp, bars, states_of

SITES = 8


def quadratic():
    torch.manual_seed(0)
    pairs = 1.5 * torch.triu(torch.randn(SITES, SITES), 1)
    return ig.energy(lambda x: torch.einsum("bi,ij,bj->b", x, pairs, x), sites=SITES)


def images_of(count):
    return bars(count, side=3)[:, :SITES]


@pytest.mark.parametrize("options", [{"method": "tempering", "chains": 20, "steps": 100},
                                     {"sampler": "gwg", "chains": 40, "steps": 60}])
def test_intervals_hold_log_z(options):
    """Ends that are two standard errors beyond bounds on average miss less than 5 % of the time: 4
    or more of 16 misses have a probability below 1 %.
    """
    target = quadratic()
    exact = torch.logsumexp(-target.energy(states_of(SITES)).double(), 0).item()
    held, both = 0, []
    for seed in range(16):
        found = ig.evaluate(target, seed=seed, **options)
        low, high = found.log_z_interval
        ends = sorted([(found.log_z, found.log_z_se), (found.log_z_upper, found.log_z_upper_se)])
        assert [low, high] == pytest.approx([ends[0][0] - 2 * ends[0][1],
                                             ends[1][0] + 2 * ends[1][1]])
        assert low < high and "on average" in found.note and "errors" in found.note
        held += low <= exact <= high
        both.append((found.log_z_bidirectional - exact) / found.log_z_bidirectional_se)
    assert held > 12
    assert 0.5 < torch.tensor(both).square().mean().sqrt() < 1.7


def test_likelihoods_have_the_same_interval():
    target, images = ig.energy(Cubic(SITES), sites=SITES), images_of(100)
    found = ig.evaluate(target, images, method="tempering", chains=10, steps=60)
    low, high = found.log_z_interval
    energy = target.energy(images).double().mean().item()
    assert found.log_likelihood_interval == pytest.approx([-energy - high, -energy - low], abs=1e-4)
    if found.verdict == "closed":
        assert f"from {-energy - high:.3f} to {-energy - low:.3f}" in found.log_likelihood_text


class Noisy(Mlp):
    def forward(self, x):
        return super().forward(torch.nn.functional.dropout(x, 0.2, self.training))


@pytest.mark.parametrize("method", ["ais", "tempering"])
def test_a_model_without_a_definite_energy_is_never_closed(method):
    module = Noisy(SITES)
    options = {"sampler": "gwg", "method": method, "chains": 40, "steps": 100, "bracket": 1e3}
    target = ig.energy(module, sites=SITES)
    with pytest.warns(UserWarning, match="differ between two calls"):
        found = ig.evaluate(target, **options)
    assert found.verdict == "open" and "no definite energy" in found.reason
    module.eval()
    found = ig.evaluate(target, **options)
    assert "definite" not in (found.reason or "")


def test_training_warns_of_energies_that_are_not_those_of_states():
    options = {"sampler": "gwg", "iters": 3, "batch": 5, "buffer": 10, "steps_per_iter": 2,
               "warmup": 0}
    images = images_of(50)
    with pytest.warns(UserWarning, match="differ between two calls"):
        fit = ig.train(Noisy(SITES, seed=3), images, **options)
    assert fit.iteration == 3
    normalised = torch.nn.Sequential(torch.nn.Linear(SITES, 4), torch.nn.BatchNorm1d(4),
                                     torch.nn.Linear(4, 1), torch.nn.Flatten(0))
    with pytest.warns(UserWarning, match="depend on the other states"):
        ig.train(normalised, images, **options)


def test_a_directory_holds_the_results(tmp_path, program):
    target, out = quadratic(), tmp_path / "log-z"
    found = ig.evaluate(target, method="tempering", chains=10, steps=40, out=out)
    written = json.loads((out / "ais.json").read_text())
    assert written["log_z"] == found.log_z and written["verdict"] == found.verdict
    chains = torch.load(out / "chains.pt")
    assert torch.equal(chains["x"], found.x)
    assert torch.load(out / "rungs.pt").shape[1] == written["tempering"]["rungs"]
    program("report", out)
    assert "log_z" in (out / "report.html").read_text()
    again = ig.evaluate(target, method="tempering", chains=10, steps=40, out=out)
    assert again.log_z == found.log_z


def test_a_directory_of_another_kind_of_run_is_refused(tmp_path):
    target, images = quadratic(), images_of(50)
    training = {"sampler": "gwg", "iters": 2, "batch": 5, "buffer": 10, "steps_per_iter": 2}
    ig.train("rbm", images, out=tmp_path / "trained", hidden=3, warmup=0, **training)
    with pytest.raises(ig.Error, match="holds a run of train, which is another kind of run"):
        ig.evaluate(target, chains=4, steps=5, out=tmp_path / "trained")
    ig.sample(target, "gwg", chains=4, steps=5).save(tmp_path / "sampled")
    with pytest.raises(ig.Error, match="already holds samples.pt"):
        ig.evaluate(target, chains=4, steps=5, out=tmp_path / "sampled")
    ig.evaluate(target, sampler="gwg", chains=4, steps=5, out=tmp_path / "evaluated")
    with pytest.raises(ig.Error, match="already holds ais.json"):
        ig.train("rbm", images, out=tmp_path / "evaluated", hidden=3, **training)


def test_other_data_have_a_short_sentence(tmp_path):
    target = ig.energy(Cubic(SITES), sites=SITES)
    options = {"sampler": "gwg", "chains": 4, "steps": 5, "out": tmp_path / "out"}
    ig.evaluate(target, images_of(50), **options)
    with pytest.raises(ig.Error, match="a run with other data") as caught:
        ig.evaluate(target, 1 - images_of(50), **options)
    assert max(map(len, str(caught.value).split())) < 64 + len(str(tmp_path))


def test_metrics_of_a_finished_training_are_read(tmp_path):
    images = images_of(100)
    options = {"hidden": 3, "sampler": "gwg", "batch": 5, "buffer": 10, "steps_per_iter": 2,
               "warmup": 2, "out": tmp_path / "run"}
    fit = ig.train("rbm", images, iters=6, **options)
    again = ig.train("rbm", images, iters=6, **options)
    further = ig.train("rbm", images, iters=9, **options)
    assert len(fit.metrics) == 6 and len(further.metrics) == 9
    for rows in (again.metrics, further.metrics[:6]):
        for row, was in zip(rows, fit.metrics, strict=True):
            assert row.keys() == was.keys()
            assert all(row[name] == was[name] or math.isnan(was[name]) for name in row)
    with pytest.warns(UserWarning, match="has made 9 iterations, more than the 1") as told:
        less = ig.train("rbm", images, iters=1, **options)
    assert less.iteration == 9 and not any("warm-up" in str(one.message) for one in told)
