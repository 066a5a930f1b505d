"""Other packages open results and use loops: ArviZ, pandas, DataLoader, TensorBoard, the program
itself.
"""
import subprocess
import sys

import arviz
import numpy
import pytest
import torch
import xarray
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter

import isinglass as ig
from conftest import PROGRAM, Mlp, bars


def test_arviz(ising, tmp_path, program):
    options = {"chains": 4, "burn_in": 20, "steps": 60, "thin": 2, "seed": 3}
    run = ig.sample(ising, "gwg", moves=True, **options)
    data = run.to_arviz()
    assert (data.posterior.x.dims == ("chain", "draw", "site") and
            data.posterior.x.shape == (4, 30, 16))
    summary = arviz.summary(data, group="sample_stats", var_names=["energy"], round_to="none")
    assert summary["ess_bulk"].iloc[0] == pytest.approx(run.summary["ess"]["bulk"], rel=1e-6)
    assert summary["r_hat"].iloc[0] == pytest.approx(run.summary["rhats"]["energy"], rel=1e-6)
    program("sample", "--instance", "ising-grid:side=4,coupling=0.3", "--sampler", "gwg",
            "--netcdf", "--out", tmp_path, "--quiet", "--device", "cpu", "--overwrite",
            *[text for name, value in options.items()
              for text in (f"--{name.replace('_', '-')}", value)])
    theirs = arviz.from_netcdf(tmp_path / "samples.nc")
    for group in ("posterior", "sample_stats"):
        for name, values in theirs[group].data_vars.items():
            assert numpy.array_equal(values, data[group][name]), name
        assert theirs[group].attrs["inference_library"] == data[group].attrs["inference_library"]
        assert theirs[group].attrs["seed"] == data[group].attrs["seed"]


class ArviZ1:
    """from_dict of ArviZ 1 as documented; that version may need a newer Python than this one."""

    __version__ = "1.3.0"

    @staticmethod
    def from_dict(data, *, name=None, sample_dims=None, save_warmup=None, index_origin=None,
                  coords=None, dims=None, pred_dims=None, pred_coords=None, check_conventions=True,
                  attrs=None):
        assert set(attrs or {}) <= {*data, "/"}
        groups = {}
        for group, variables in data.items():
            arrays = {variable: (["chain", "draw", *(dims or {}).get(variable, [])], values)
                      for variable, values in variables.items()}
            groups[group] = xarray.Dataset(arrays, attrs=(attrs or {}).get(group))
        return xarray.DataTree.from_dict(groups, name=name)


def test_arviz_1(ising, monkeypatch):
    run = ig.sample(ising, "gwg", moves=True, chains=4, steps=30, thin=2, seed=3)
    before = run.to_arviz()
    monkeypatch.setitem(sys.modules, "arviz", ArviZ1)
    data = run.to_arviz()
    assert data.groups == ("/", "/posterior", "/sample_stats")
    for group in ("posterior", "sample_stats"):
        assert set(data[group].data_vars) == set(before[group].data_vars)
        for name, values in before[group].data_vars.items():
            assert (data[group][name].dims == values.dims and
                    numpy.array_equal(data[group][name], values)), name
        ours = {name: value
                for name, value in before[group].attrs.items() if name in data[group].attrs}
        assert ours == data[group].attrs and ours["seed"] == 3
    assert (ig.sample(ising, "gwg", chains=4, steps=3, no_samples=True).to_arviz().groups ==
            ("/", "/sample_stats"))


def test_dataloader_feeds_a_loop_of_ones_own():
    images = bars(400)
    module = Mlp(16)
    target, sampler = ig.energy(module, sites=16), ig.sampler("gwg")
    optimiser = torch.optim.Adam(module.parameters(), lr=3e-3)
    buffer = ig.ReplayBuffer(300, mean=ig.base_mean(images), seed=0)
    loader = DataLoader(TensorDataset(images), batch_size=50, shuffle=True,
                        generator=torch.Generator().manual_seed(0))
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
        fit = ig.train("rbm", bars(60), hidden=3, sampler="gwg", iters=5, batch=5, buffer=10,
                       steps_per_iter=1,
                       callback=lambda m: writer.add_scalar("difference", m["difference"],
                                                            m["iteration"]))
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
    program("sample", "--instance", "ising-grid:side=4,coupling=0.3", "--sampler", "pafs",
            "--steps", 2, "--out", tmp_path / "again", "--warm-start",
            tmp_path / "run/summary.json", "--quiet", "--device", "cpu")


def test_trained_directories_open_in_the_program(tmp_path, program):
    torch.save(bars(60), tmp_path / "bars.pt")
    options = {"hidden": 3, "sampler": "gwg", "batch": 5, "buffer": 10, "steps_per_iter": 1,
               "checkpoint_every": 4}
    ig.train("rbm", tmp_path / "bars.pt", iters=4, out=tmp_path / "run", **options)
    program("inspect", tmp_path / "run")
    program("train", "--resume", tmp_path / "run", "--iters", 8, "--quiet", "--device", "cpu")
    whole = ig.train("rbm", tmp_path / "bars.pt", iters=8, **options)
    resumed = torch.load(tmp_path / "run/ema.pt")
    assert all(torch.equal(resumed[name], tensor) for name, tensor in whole.parameters.items())


def test_the_program_comes_along():
    done = subprocess.run([sys.executable, "-m", "isinglass", "--version"], capture_output=True,
                          text=True, check=True)
    assert done.stdout.startswith(f"isinglass {ig.__version__} ")
    assert PROGRAM


def test_numpy_arrays_are_images():
    images = bars(60)
    options = {"hidden": 3, "sampler": "gwg", "iters": 2, "batch": 5, "buffer": 10,
               "steps_per_iter": 1}
    ours, theirs = (ig.train("rbm", data, **options).parameters
                    for data in (images, images.numpy()))
    assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    assert torch.equal(ig.base_mean(images), ig.base_mean(images.numpy()))


@pytest.mark.parametrize("built,here,loaded,fits", [
    ("2.11.0+cu130", "2.11.0+cu130", True, True),
    ("2.11.0+cu130", "2.11.1+cu130", True, True),
    ("2.11.0+cu130", "2.12.0+cu130", True, False),  # it may load and have another ABI
    ("2.11.0+cu130", "2.1.0+cu130", True, False),
    ("2.11.0+cu130", "2.11.0+cpu", True, True),
    # The loader says "libtorch_cuda.so: cannot open shared object file".
    ("2.11.0+cu130", "2.11.0+cpu", False, False),
    ("2.11.0+cu130", "2.11.0+cu130", False, True),
    # The torch of the build does not name its CUDA version.
    ("2.11.0", "2.11.0+cu130", False, True),
    ("2.11.0+cu130", "2.11.1+cu130", False, False)])
def test_the_torch_that_it_was_built_with(built, here, loaded, fits):
    said = ig._versions.other_torch(built, here, loaded)
    assert (said == "" if fits
            else f"built with torch {built}, but torch {here} is installed: build it again" in said)


def test_another_torch_is_refused_though_it_loads(tmp_path):
    """Uses the package as it is, and a torch that reports another version."""
    code = "import torch; torch.__version__ = '1.0.0'; import isinglass"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode and
            "but torch 1.0.0 is installed: build it again" in done.stderr.splitlines()[-1])
    assert torch.__version__ == ig._versions.TORCH
