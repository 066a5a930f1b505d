"""Fixtures that the tests of the package share: the program, and small targets."""
import os
import subprocess
from pathlib import Path

import pytest
import torch

import isinglass as ig

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("ISINGLASS_BINARY", str(ROOT / "build/isinglass"))


@pytest.fixture(scope="session")
def program():
    """Runs the program with these arguments; returns what it printed."""
    def run(*arguments):
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout
    return run


def states_of(sites, categories=2):
    """Returns all states, uint8 [K^D, D]."""
    states = torch.cartesian_prod(*[torch.arange(categories)] * sites)
    return states.reshape(-1, sites).to(torch.uint8)


class Cubic(torch.nn.Module):
    """An asymmetric energy of few sites with a cubic and a sine term. A quadratic energy would hide
    a gradient used in place of a difference, and a symmetric one a wrong sign.
    """

    def __init__(self, sites, categories=1, seed=0):
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        inputs = sites * categories
        self.field = torch.nn.Parameter(torch.randn(inputs, generator=generator) * 0.7)
        self.pairs = torch.nn.Parameter(torch.randn(inputs, inputs, generator=generator) * 0.3)

    def forward(self, x):
        x = x.flatten(1)
        linear = x @ self.field
        return (linear + ((x @ self.pairs) * x).sum(1) + 0.3 * torch.sin(2 * linear) +
                0.05 * linear**3)


class Mlp(torch.nn.Module):
    """A module with the interface of published energy-based models: forward(x) maps [B, D] to [B,
    1] squeezed, a log-density up to a constant.
    """

    def __init__(self, sites, width=32, seed=0):
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            self.net = torch.nn.Sequential(torch.nn.Linear(sites, width), torch.nn.SiLU(),
                                           torch.nn.Linear(width, width), torch.nn.SiLU(),
                                           torch.nn.Linear(width, 1))

    def forward(self, x):
        return -self.net(x).squeeze(-1)


@pytest.fixture
def ising():
    return ig.instance("ising-grid:side=4,coupling=0.3")


def bars(count=200, side=4, seed=0):
    """Returns images of bars, uint8 [count, side²]."""
    generator = torch.Generator().manual_seed(seed)
    images = torch.zeros(count, side, side, dtype=torch.uint8)
    columns = torch.rand(count, side, generator=generator, dtype=torch.float32) < 0.3
    images |= columns[:, None, :].to(torch.uint8)
    return images.flatten(1)
