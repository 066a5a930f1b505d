"""Isinglass: a sampling engine for energy-based models, π(x) ∝ exp(−U(x)).

    import torch, isinglass as ig

    target = ig.energy(module, sites=784)      # any callable: float32 [B, D] to energies [B]
    run = ig.sample(target, "pafs", radius=5, chains=100, burn_in=1000, steps=5000, thin=50)
    run.samples, run.energy, run.summary

Targets: `models`, `load`, `instance`, `energy`. Samplers: `sampler`, `samplers`, `sample`. Training:
`train`, `ReplayBuffer`, `base_mean`. Measuring: `evaluate`, `ablate`. Bad input is an `Error`.
"""
from ._waits import torch as _torch

from ._built import TORCH as _BUILT_WITH


def _other_torch(built=_BUILT_WITH, here=_torch.__version__, loaded=True):
    """Why the extension module does not go with this torch; empty where it does. Torch's libraries have one ABI a minor
    version, and may load in spite of another. Where the module has not loaded, a build of the same version for something
    else counts, too: one for the CPU lacks the libraries of one for CUDA."""
    (built_number, _, built_for), (number, _, made_for) = built.partition("+"), str(here).partition("+")
    same = built_number.split(".")[:2] == number.split(".")[:2]
    if not loaded:
        same = built_number == number and built_for in ("", made_for)
    if same:
        return ""
    return (f"isinglass was built with torch {built}, and this is torch {here}: install it again "
            "(pip install . --no-build-isolation)")


if _other_torch():
    raise ImportError(_other_torch())
try:
    from . import _isinglass
except ImportError as _error:
    if _other_torch(loaded=False):
        raise ImportError(_other_torch(loaded=False)) from _error
    raise

from . import models, samplers
from ._ablation import Ablation, ablate
from ._evaluation import Evaluation, evaluate
from ._isinglass import (
    Error,
    Info,
    NumericalError,
    Ranks,
    ReplayBuffer,
    Sampler,
    State,
    Target,
    base_mean,
)
from ._run import Run, sample
from ._targets import energy, instance, load
from ._training import Fit, train
from .samplers import sampler

__version__ = _isinglass.__version__

__all__ = ["Ablation", "Error", "Evaluation", "Fit", "Info", "NumericalError", "Ranks", "ReplayBuffer", "Run", "Sampler",
           "State", "Target", "ablate", "base_mean", "energy", "evaluate", "instance", "load", "models", "sample",
           "sampler", "samplers", "train"]

for _public in (Error, Info, NumericalError, Ranks, ReplayBuffer, Sampler, State, Target):
    _public.__module__ = "isinglass"
del _public
