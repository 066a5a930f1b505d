"""The wheel in a clean environment, without a compiler on the path: it imports, samples the same
draws as the tree's package, and its command runs. Torch is linked, because a second copy would take
gigabytes.
"""
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import torch

import isinglass as ig
from conftest import ROOT

SITE = Path(sysconfig.get_path("purelib"))
OURS = ("isinglass", "__pycache__", "_distutils_hack", "pip", "setuptools")
DRAW = """
import isinglass, shutil, sys, torch
assert "clean" in isinglass.__file__ and shutil.which("cc") is None and shutil.which("g++") is None
target = isinglass.instance("ising-grid:side=4,coupling=0.3")
run = isinglass.sample(target, "pafs", radius=3, chains=8, steps=20, seed=1)
torch.save(run.samples, sys.argv[1])
"""


def run(command, folder, path):
    environment = {"PATH": path, "HOME": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True,
                          check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """ISINGLASS_WHEEL, or a wheel that is built here."""
    if given := os.environ.get("ISINGLASS_WHEEL"):
        return Path(given)
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps",
                    "--no-index", "-w", folder, ROOT], check=True)
    return next(folder.glob("isinglass-*.whl"))


def test_wheel(wheel, tmp_path):
    clean = tmp_path / "clean"
    subprocess.run([sys.executable, "-m", "venv", clean], check=True)
    python = clean / "bin/python"
    site = clean / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    run([python, "-m", "pip", "install", "--no-deps", "--no-index", wheel], tmp_path,
        f"{clean}/bin")
    for entry in SITE.iterdir():
        if not entry.name.startswith(OURS) and not (site / entry.name).exists():
            (site / entry.name).symlink_to(entry)
    run([python, "-c", DRAW, tmp_path / "draws.pt"], tmp_path, f"{clean}/bin")
    ours = ig.sample(ig.instance("ising-grid:side=4,coupling=0.3"), "pafs", radius=3, chains=8,
                     steps=20, seed=1)
    assert torch.equal(torch.load(tmp_path / "draws.pt"), ours.samples)
    version = run([clean / "bin/isinglass", "--version"], tmp_path, f"{clean}/bin")
    assert version.startswith("isinglass ")
    run([clean / "bin/isinglass", "sample", "--instance", "bernoulli", "--sampler", "gwg",
         "--steps", "2", "--out", tmp_path / "run", "--device", "cpu"], tmp_path, f"{clean}/bin")
    # All dependencies of the libraries are in the wheel, in torch, or on every machine.
    for file in [*site.glob("isinglass/_isinglass*.so"), site / "isinglass/bin/isinglass"]:
        lines = subprocess.run(["ldd", file], capture_output=True, text=True,
                               check=True).stdout.splitlines()
        assert not [line for line in lines if "not found" in line]
        found = [line.split("=> ")[1] for line in lines if "libpng" in line or "libnettle" in line]
        assert found and all("site-packages/isinglass" in line for line in found), found
