"""A sampler for programs that use dimod: annealed Gibbs sampling of binary quadratic models.

It takes a dimod.BinaryQuadraticModel, an Ising model (h, J) or a QUBO, wherever a dimod.Sampler is
expected, and returns a dimod.SampleSet. dimod is needed, and is imported with this module only:
`pip install dimod`.

Example:
    >>> from isinglass.dimod import IsinglassSampler
    >>> sampler = IsinglassSampler()
    >>> found = sampler.sample_ising({}, {("a", "b"): 1, ("b", "c"): 1, ("c", "a"): -1}, seed=1)
    >>> float(found.first.energy)
    -3.0
"""
import math
import random
from collections.abc import Sequence
from typing import Any

import dimod
import torch

from . import _isinglass, models
from ._run import sample as _sample

_SEEDS = 2**32  # dimod's seeds have 32 bits
_LEAST_SWEEPS = 3  # two to cool, and one whose states are returned


def _temperatures(bqm, beta_range):
    """Returns the first and the last temperature, or auto if the engine is to choose them, which it
    cannot if all energies are equal."""
    if beta_range is not None:
        try:
            hot, cold = (float(beta) for beta in beta_range)
        except (TypeError, ValueError):
            raise _isinglass.Error(f"beta_range is {beta_range!r}; two numbers are needed, the "
                                   "first and the last inverse temperature") from None
        if not 0 < hot <= cold < math.inf:
            raise _isinglass.Error(f"beta_range is {hot:g}, {cold:g}; the first and the last "
                                   "inverse temperature must be above 0, and the last one the "
                                   "larger")
        return 1 / hot, 1 / cold
    terms = (*bqm.linear.values(), *bqm.quadratic.values())
    return "auto" if any(terms) else (1.0, 1.0)


class IsinglassSampler(dimod.Sampler, dimod.Initialized):
    """Simulated annealing by Gibbs sampling, as a dimod.Sampler.

    Each read is a chain, and all reads run at once. A sweep tests the flip of every variable,
    all variables of one colour of the graph at once, while the temperature falls by a constant
    factor between levels. The energies of the samples are dimod's own, in float64.

    Args:
        device: cpu, cuda or cuda:N: where the chains run (default: the CPU).

    Attributes:
        parameters: the options of `sample`, as dimod asks for.
        properties: the device.

    Example:
        >>> import dimod
        >>> from isinglass.dimod import IsinglassSampler
        >>> bqm = dimod.BinaryQuadraticModel({"a": -1, "b": 0.5}, {("a", "b"): 2}, 0, "BINARY")
        >>> found = IsinglassSampler().sample(bqm, num_reads=10, num_sweeps=100, seed=1)
        >>> float(found.first.energy), len(found)
        (-1.0, 10)
    """

    def __init__(self, device: "str | torch.device | None" = None):
        self._device = None if device is None else str(device)

    @property
    def parameters(self) -> "dict[str, list[str]]":
        return {name: [] for name in ("num_reads", "num_sweeps", "beta_range", "seed",
                                      "initial_states", "initial_states_generator")}

    @property
    def properties(self) -> "dict[str, Any]":
        return {"device": self._device or "cpu"}

    def sample(self, bqm: "dimod.BinaryQuadraticModel", *, num_reads: "int | None" = None,
               num_sweeps: int = 1000, beta_range: "Sequence[float] | None" = None,
               seed: "int | None" = None, initial_states: "Any" = None,
               initial_states_generator: str = "random", **kwargs: "Any") -> "dimod.SampleSet":
        """Samples a binary quadratic model. Other options are ignored with a warning, as dimod's
        own samplers do.

        Args:
            bqm: the model, of spins or of binary variables.
            num_reads: the number of samples (default: as many as there are initial states, or 1).
            num_sweeps: the number of sweeps of a read, at least 3.
            beta_range: the first and the last inverse temperature (default: those of `anneal`
                auto, from the changes of energy that chains meet).
            seed: a whole number from 0 to 2^32 - 1; equal seeds give equal samples (default: a
                random one, which is returned in `info`).
            initial_states: where the reads start, in any form that dimod.as_samples takes
                (default: random states).
            initial_states_generator: what happens if there are fewer initial states than reads:
                none (an error), tile or random.

        Returns:
            the last state of every read, with its energy; `info` has the seed and the
            `beta_range`.

        Raises:
            Error: if num_sweeps, beta_range or seed is not allowed.
            ValueError: if num_reads or the initial states do not fit the model.
        """
        self.remove_unknown_kwargs(**kwargs)
        sweeps = num_sweeps if hasattr(num_sweeps, "__index__") else 0
        if sweeps < _LEAST_SWEEPS:
            raise _isinglass.Error(f"num_sweeps is {num_sweeps}; a whole number from "
                                   f"{_LEAST_SWEEPS} is needed")
        if seed is None:
            seed = random.SystemRandom().randrange(_SEEDS)
        elif not hasattr(seed, "__index__") or not 0 <= seed < _SEEDS:
            raise _isinglass.Error(f"seed is {seed}; a whole number from 0 to {_SEEDS - 1} is "
                                   "needed")
        seed = int(seed)
        start = self.parse_initial_states(bqm, initial_states, initial_states_generator, num_reads,
                                          seed)
        labels = list(bqm.variables)
        temperatures = _temperatures(bqm, beta_range)
        states = dimod.as_samples(start.initial_states, labels_type=list)
        found = _in_order(states, labels)
        if labels:
            found, temperatures = _annealed(bqm, found, sweeps, temperatures, seed, self._device)
        info = {"seed": seed, "beta_range": tuple(1 / temperature for temperature in temperatures)}
        return dimod.SampleSet.from_samples_bqm((found, labels), bqm, info=info)


def _in_order(states, labels):
    """Returns the array int8 [reads, variables] with its columns in the order of the labels."""
    values, own = states
    column = {label: place for place, label in enumerate(own)}
    return values[:, [column[label] for label in labels]]


def _annealed(bqm, values, sweeps, temperatures, seed, device):
    """Returns the states after annealing, in the alphabet of the model, int8 [reads, variables],
    and the first and the last temperature."""
    spin = bqm.vartype is dimod.SPIN
    start = torch.as_tensor((values > 0).astype("uint8"))
    target = models.qubo(bqm, device=device)
    run = _sample(target, "metropolis", population=1, chains=len(values),
                  init=start.to(target.device), anneal=temperatures, burn_in=sweeps - 1, steps=1,
                  thin=1, seed=seed)
    last = run.samples[-1].cpu().numpy().astype("int8")
    used = [float(temperature) for temperature in run.summary["anneal"].split(",")]
    return 2 * last - 1 if spin else last, used


__all__ = ["IsinglassSampler"]
