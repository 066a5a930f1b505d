"""Isinglass: a sampling engine for energy-based models, π(x) ∝ exp(−U(x)).

    import torch, isinglass as ig

    target = ig.energy(module, sites=784)      # any callable: float32 [B, D] to energies [B]
    run = ig.sample(target, "pafs", radius=5, chains=100, burn_in=1000, steps=5000, thin=50)
    run.samples, run.energy, run.summary

Targets: `models`, `load`, `instance`, `energy`. Samplers: `sampler`, `samplers`, `sample`.
Training: `train`, `ReplayBuffer`, `base_mean`. Measuring: `evaluate`, `ablate`,
`ess`, `rhat`, `mmd`. Bad input raises `Error`.
"""
from . import _versions

if _versions.other_torch():
    raise ImportError(_versions.other_torch())
try:
    from . import _isinglass
except ImportError as _error:
    if _versions.other_torch(loaded=False):
        raise ImportError(_versions.other_torch(loaded=False)) from _error
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
    ess,
    mmd,
    rhat,
)
from ._run import Run, sample
from ._targets import energy, instance, load
from ._training import Fit, train
from .samplers import sampler

__version__ = _isinglass.__version__

__all__ = ["Ablation", "Error", "Evaluation", "Fit", "Info", "NumericalError", "Ranks",
           "ReplayBuffer", "Run", "Sampler", "State", "Target", "ablate", "base_mean", "energy",
           "ess", "evaluate", "instance", "load", "mmd", "models", "rhat", "sample", "sampler",
           "samplers", "train"]

for _public in (Error, Info, NumericalError, Ranks, ReplayBuffer, Sampler, State, Target):
    _public.__module__ = "isinglass"
del _public
