"""What others wrote opens results and feeds loops: ArviZ, pandas, DataLoader, TensorBoard, the program itself."""
import subprocess
import sys

import arviz
import numpy
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

import isinglass as ig
from conftest import PROGRAM, Mlp, bars


def test_arviz(ising, tmp_path, program):
    options = {"chains": 4, "burn_in": 20, "steps": 60, "thin": 2, "seed": 3}
    run = ig.sample(ising, "gwg", moves=True, **options)
    data = run.to_arviz()
    assert data.posterior.x.dims == ("chain", "draw", "site") and data.posterior.x.shape == (4, 30, 16)
    summary = arviz.summary(data, group="sample_stats", var_names=["energy"], round_to="none")
    assert summary["ess_bulk"].iloc[0] == pytest.approx(run.summary["ess"]["bulk"], rel=1e-6)
    assert summary["r_hat"].iloc[0] == pytest.approx(run.summary["rhat"], rel=1e-6)
    program("sample", "--instance", "ising-grid:side=4,coupling=0.3", "--sampler", "gwg", "--netcdf", "--out", tmp_path,
            "--quiet", "--device", "cpu", "--overwrite",
            *[text for name, value in options.items() for text in (f"--{name.replace('_', '-')}", value)])
    theirs = arviz.from_netcdf(tmp_path / "samples.nc")
    for group in ("posterior", "sample_stats"):
        for name, values in theirs[group].data_vars.items():
            assert numpy.array_equal(values, data[group][name]), name
        assert theirs[group].attrs["inference_library"] == data[group].attrs["inference_library"]
        assert theirs[group].attrs["seed"] == data[group].attrs["seed"]


def test_dataloader_feeds_a_loop_of_ones_own():
    images = bars(400)
    module = Mlp(16)
    target, sampler = ig.energy(module, sites=16), ig.sampler("gwg")
    optimiser = torch.optim.Adam(module.parameters(), lr=3e-3)
    buffer = ig.ReplayBuffer(300, mean=ig.base_mean(images), seed=0)
    loader = DataLoader(TensorDataset(images), batch_size=50, shuffle=True, generator=torch.Generator().manual_seed(0))
    for _ in range(12):
        for (batch,) in loader:
            slots, x = buffer.draw(50)
            x = sampler.run(target, x, steps=5).x
            loss = module(batch.float()).mean() - module(x.float()).mean()
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            buffer.write_back(slots, x)
    noise = torch.randint(0, 2, (400, 16), generator=torch.Generator().manual_seed(1)).float()
    with torch.no_grad():
        assert module(images.float()).mean() < module(noise).mean() - 1


def test_tensorboard(tmp_path):
    with SummaryWriter(tmp_path) as writer:
        fit = ig.train("rbm", bars(60), hidden=3, sampler="gwg", iters=5, batch=5, buffer=10, steps_per_iter=1,
                       callback=lambda m: writer.add_scalar("difference", m["difference"], m["iteration"]))
    events = EventAccumulator(str(tmp_path))
    events.Reload()
    written = [event.value for event in events.Scalars("difference")]
    assert written == pytest.approx([row["difference"] for row in fit.metrics])


def test_saved_runs_open_in_the_program(ising, tmp_path, program):
    run = ig.sample(ising, "pafs", radius=3, chains=4, steps=20, thin=2, seed=1)
    run.save(tmp_path / "run")
    saved = torch.load(tmp_path / "run/samples.pt")
    assert torch.equal(saved["samples"], run.samples)
    assert "[10,4,16]" in program("inspect", tmp_path / "run/samples.pt")
    program("report", tmp_path / "run")
    program("sample", "--instance", "ising-grid:side=4,coupling=0.3", "--sampler", "pafs", "--steps", 2, "--out",
            tmp_path / "again", "--warm-start", tmp_path / "run/summary.json", "--quiet", "--device", "cpu")


def test_trained_directories_open_in_the_program(tmp_path, program):
    torch.save(bars(60), tmp_path / "bars.pt")
    options = {"hidden": 3, "sampler": "gwg", "batch": 5, "buffer": 10, "steps_per_iter": 1, "checkpoint_every": 4}
    ig.train("rbm", tmp_path / "bars.pt", iters=4, out=tmp_path / "run", **options)
    program("inspect", tmp_path / "run")
    program("train", "--resume", tmp_path / "run", "--iters", 8, "--quiet", "--device", "cpu")
    whole = ig.train("rbm", tmp_path / "bars.pt", iters=8, **options)
    resumed = torch.load(tmp_path / "run/ema.pt")
    assert all(torch.equal(resumed[name], tensor) for name, tensor in whole.parameters.items())


def test_the_program_comes_along():
    done = subprocess.run([sys.executable, "-m", "isinglass", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"isinglass {ig.__version__} ")
    assert PROGRAM


def test_numpy_arrays_are_images():
    images = bars(60)
    options = {"hidden": 3, "sampler": "gwg", "iters": 2, "batch": 5, "buffer": 10, "steps_per_iter": 1}
    ours, theirs = (ig.train("rbm", data, **options).parameters for data in (images, images.numpy()))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert torch.equal(ig.base_mean(images), ig.base_mean(images.numpy()))
