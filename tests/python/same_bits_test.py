"""The package's draws equal the program's, bit for bit; so do trained parameters and annealed
estimates.
"""
import json

import pytest
import torch

import isinglass as ig
from conftest import bars

BINARY = ["ising-grid:side=4,coupling=0.3", "fhmm:steps=6,chains=2"]
CATEGORICAL = ["categorical:sites=6,categories=3", "potts-field:side=3,categories=3"]
ORDERED = ["lattice-gaussian-rotated:sites=6,categories=5,mean=2"]
CONTINUOUS = ["misled-mixture"]
PERMUTATION = ["permutation:sites=6"]
SPACES = {"binary": BINARY, "categorical": CATEGORICAL, "ordered": ORDERED,
          "continuous": CONTINUOUS, "permutation": PERMUTATION}


def cases():
    for sampler in ig._tables.TABLES["samplers"]:
        for kind in sampler["states"].split(", "):
            for instance in SPACES[kind]:
                yield sampler["name"], instance


def test_there_are_cases_enough():
    assert len(list(cases())) >= 30


@pytest.mark.parametrize("sampler", sorted({sampler for sampler, _ in cases()}))
def test_draws(sampler, program, tmp_path):
    for number, (_, instance) in enumerate(case for case in cases() if case[0] == sampler):
        options = {"chains": 20, "burn_in": 8, "steps": 12, "thin": 3, "seed": 3 + number}
        try:
            run = ig.sample(ig.instance(instance), sampler, **options)
        except ig.Error as error:  # the two do not fit: the program says so in the same words
            assert "fit" in str(error) or "need" in str(error), error
            continue
        out = tmp_path / str(number)
        flags = [text for name, value in options.items()
                 for text in (f"--{name.replace('_', '-')}", value)]
        program("sample", "--instance", instance, "--sampler", sampler, *flags, "--out", out,
                "--quiet", "--device", "cpu")
        theirs = torch.load(out / "samples.pt")
        assert torch.equal(run.samples, theirs["samples"]), instance
        assert torch.equal(run.energy, theirs["energy"]), instance
        summary = json.loads((out / "summary.json").read_text())
        for name in ("acceptance", "hops", "adapted", "ess", "rhat", "parameters_sha256",
                     "sampler_options", "exact"):
            if name == "ess":
                assert run.summary["ess"]["mean"] == summary["ess"]["mean"]
            else:
                assert run.summary[name] == summary[name], name


def test_step_by_step_is_the_run(ising):
    run = ig.sample(ising, "pafs", radius=3, chains=6, steps=10, seed=4)
    sampler = ig.sampler("pafs", radius=3)
    state = sampler.init(ising, chains=6, seed=4)
    for draw in run.samples:
        sampler.step(ising, state)
        assert torch.equal(state.x, draw)
    # Energies accumulated from differences equal those of the states up to the rounding of the
    # sums.
    for energy in (state.energy, run.energy[-1]):
        assert torch.allclose(energy, ising.energy(state.x), rtol=0, atol=1e-12)
    state = sampler.init(ising, chains=6, seed=4)
    assert torch.equal(sampler.steps(ising, state, 10).x, run.samples[-1])


def test_trained_parameters(program, tmp_path):
    images = bars()
    torch.save(images, tmp_path / "bars.pt")
    options = {"hidden": 6, "sampler": "gwg", "steps_per_iter": 3, "buffer": 50, "batch": 20,
               "iters": 12, "lr": 1e-2, "warmup": 0, "checkpoint_every": 5, "seed": 7}
    flags = [text for name, value in options.items()
             for text in (f"--{name.replace('_', '-')}", value)]
    program("train", "--model", "rbm", "--dataset", tmp_path / "bars.pt", *flags, "--out",
            tmp_path / "theirs", "--quiet", "--device", "cpu")
    ours = ig.train("rbm", tmp_path / "bars.pt", **options, out=tmp_path / "ours")
    in_memory = ig.train("rbm", images, **options)
    theirs = torch.load(tmp_path / "theirs/ema.pt")
    for name, tensor in theirs.items():
        assert torch.equal(ours.parameters[name], tensor), name
        assert torch.equal(in_memory.parameters[name], tensor), name
    checkpoint = "checkpoints/00000012.pt"
    assert _same(torch.load(tmp_path / "ours" / checkpoint)["parameters"],
                 torch.load(tmp_path / "theirs" / checkpoint)["parameters"])


def _same(ours, theirs):
    return (set(ours) == set(theirs) and
            all(torch.equal(ours[name], theirs[name]) for name in theirs))


def test_annealed_estimate(program, tmp_path):
    images = bars()
    torch.save(images, tmp_path / "bars.pt")
    fit = ig.train("rbm", images, hidden=6, sampler="gwg", steps_per_iter=2, buffer=50, batch=20,
                   iters=5, warmup=0, checkpoint_every=5)
    torch.save(fit.parameters, tmp_path / "rbm.pt")
    flags = ["--chains", 8, "--steps", 60, "--seed", 5, "--sampler", "gwg"]
    program("evaluate", "--model", "rbm", "--weights", tmp_path / "rbm.pt", "--dataset",
            tmp_path / "bars.pt", *flags, "--out", tmp_path / "ais", "--quiet", "--device", "cpu",
            "--image", "4x4")
    theirs = json.loads((tmp_path / "ais/ais.json").read_text())
    ours = ig.evaluate(fit.target, tmp_path / "bars.pt", chains=8, steps=60, seed=5, sampler="gwg")
    assert ours.log_z == theirs["log_z"]
    assert ours.log_likelihood == theirs["log_likelihood"]
