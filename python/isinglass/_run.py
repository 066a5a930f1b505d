"""Sampling as a whole run: burn-in, steps, draws and their summary."""
import inspect
import json
import os
import warnings
from typing import Any

import torch

from . import _isinglass
from ._show import Shown
from ._stops import callback_function, stop_function
from ._tables import (
    options_text,
    parameters,
    refuse_unknown,
    refuse_unused,
    texts_of,
    with_sampler,
)
from ._targets import lacks_gradient

_LEFT_OUT = ("model", "weights", "factors", "sites", "categories", "penalty", "temperature",
             "class_", "image", "instance", "bounds", "gradient_model", "sampler", "dataset",
             "init", "fixed", "allowed", "reference", "netcdf")


class Run(Shown):
    """The draws of a run and their diagnostics.

    A draw is the state of all chains after every `thin` steps that follow burn-in.

    Attributes:
        samples: the draws [draws, chains, sites]: uint8, float32 for continuous states, int64 for
            permutations; None if they were not kept.
        energy: U of the draws in nats, float64 [draws, chains].
        statistic: the statistic for which ESS is computed, float64 [draws, chains].
        acceptance: the mean acceptance probability of the steps that led to each draw, float64
            [draws, chains]; None unless moves=True.
        hops: the mean number of sites that a step changed, over the steps that led to each draw,
            float64 [draws, chains]; None unless moves=True.
        summary: a dictionary with the contents of the program's summary.json. `exact` is False with
            anneal=, whose draws are those at its last temperature, and for a callable whose
            energies differ between calls or depend on the other states of a batch, for which
            `inexact` says why.
        options: the options with all defaults.
        learned: tensors that the sampler learned in burn-in, by name.
        rungs: with tempering, the rungs of the first ensemble's replicas in the last scans, int16
            [scans, rungs]; None without.
        solution: the best solution of a graph problem, or with anneal= the state of least energy of
            any target, over all chains and steps, uint8 [1, sites]; None if there is none.
        interrupted: True if the run ended early, by stop=, callback=, Ctrl-C or another exception.

    Example:
        >>> import isinglass as ig
        >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
        >>> run = ig.sample(target, "gwg", chains=8, burn_in=50, steps=200, thin=4, seed=1)
        >>> run.samples.shape, run.samples.dtype
        (torch.Size([50, 8, 16]), torch.uint8)
        >>> sorted(run.summary["rhats"]), run.summary["exact"]
        (['energy', 'hamming', 'sum'], True)
    """

    samples: "torch.Tensor | Any"
    energy: torch.Tensor
    statistic: torch.Tensor
    acceptance: "torch.Tensor | Any"
    hops: "torch.Tensor | Any"
    summary: "dict[str, Any]"
    options: "dict[str, Any]"
    learned: "dict[str, torch.Tensor]"
    rungs: "torch.Tensor | Any"
    solution: "torch.Tensor | Any"
    interrupted: bool

    def __init__(self, made, interrupted=False):
        self.summary = made["summary"]
        self.samples, self.energy, self.statistic = (made["samples"], made["energy"],
                                                     made["statistic"])
        self.acceptance, self.hops = made["acceptance"], made["hops"]
        self.options, self.learned, self.solution = (made["options"], made["learned"],
                                                     made["solution"])
        self.rungs = made["rungs"]
        self.interrupted = interrupted

    def to_arviz(self) -> "arviz.InferenceData | xarray.DataTree":  # noqa: F821
        """Returns the draws in the layout of ArviZ, chains first: posterior.x, sample_stats.energy.

        Returns:
            an xarray.DataTree with ArviZ 1 or newer, and an arviz.InferenceData with earlier
            versions.

        Raises:
            ImportError: if ArviZ is not installed.
        """
        import arviz

        def by_chain(tensor):
            return tensor.transpose(0, 1).cpu().numpy()

        stats = {name: by_chain(tensor) for name, tensor in
                 [("energy", self.energy), ("acceptance", self.acceptance), ("hops", self.hops)]
                 if tensor is not None}
        groups = {"sample_stats": stats}
        if self.samples is not None:
            groups = {"posterior": {"x": by_chain(self.samples)}, **groups}
        dims = {"x": ["site"]}
        attributes = {"inference_library": "isinglass",
                      "inference_library_version": _isinglass.__version__,
                      "model": self.summary["model"], "sampler": self.summary["sampler"],
                      "seed": self.summary["seed"]}
        if int(arviz.__version__.split(".")[0]) >= 1:
            return arviz.from_dict(groups, dims=dims,
                                   attrs={group: dict(attributes) for group in groups})
        data = arviz.from_dict(**groups, dims=dims)
        for group in data.groups():
            data[group].attrs.update(attributes)
        return data

    def save(self, directory: "str | os.PathLike", *, overwrite: bool = False) -> None:
        """Writes samples.pt and summary.json, as the program does, to a directory.

        Args:
            directory: the directory, which is made if it is missing.
            overwrite: True to replace a run that was saved by this method.

        Raises:
            Error: if the directory already holds a run.
        """
        saved, others = (("samples.pt", "summary.json"),
                         ("config.toml", "metrics.jsonl", "ais.json", "ais-checkpoint.pt",
                          "results.json"))
        for name in others if overwrite else others + saved:
            if os.path.exists(os.path.join(directory, name)):
                advice = ("another directory" if name in others
                          else ("another directory, or overwrite=True"))
                raise _isinglass.Error(f"{os.fspath(directory)} already holds {name} of a "
                                       f"run; give {advice}")
        os.makedirs(directory, exist_ok=True)
        for name in saved:
            if overwrite and os.path.exists(os.path.join(directory, name)):
                os.remove(os.path.join(directory, name))
        if self.samples is not None:
            torch.save({"samples": self.samples, "energy": self.energy},
                       os.path.join(directory, "samples.pt"))
        with open(os.path.join(directory, "summary.json"), "w", encoding="utf-8") as file:
            file.write(json.dumps(self.summary, indent=2, ensure_ascii=False) + "\n")

    def _title(self):
        left = ", interrupted" if self.interrupted else ""
        return f"{self.summary['sampler']} on {self.summary['model']}{left}"

    def _rows(self):
        s = self.summary
        rows = [("chains", s["chains"]), ("sites", s["sites"]), ("draws", s["draws"]),
                ("steps", s["steps_done"])]
        if "annealing" in s:
            verdict = s["annealing"]
            rows += [("burn-in", s["burn_in"]), ("temperatures", s["anneal"]),
                     ("best value", s["best"]["value"]),
                     ("chains that found it", s["best"].get("found_by", 0)),
                     ("seconds", verdict["seconds"]),
                     ("time to solution", verdict.get("time_to_solution"))]
        else:
            rows += [("acceptance", s["acceptance"]), ("hops per step", s["hops"]),
                     ("ESS per chain", s["ess"]["mean"]), ("ESS, bulk", s["ess"]["bulk"]),
                     ("R-hat", s["rhat"]), ("steps per second", s["steps_per_second"])]
        adapted = "adapted " if "adaptation" in s else ""
        return (rows + [(f"{adapted}{name}", value) for name, value in s["adapted"].items()] +
                [("exact", s["exact"])])


def interrupt(error, name, value):
    """Raises the exception that ended a computation early, with the partial result as its
    attribute."""
    setattr(error, name, value)
    raise error


def directory_for_all(out):
    """Refuses a missing directory if several ranks share the work."""
    if out is None and _isinglass.joined_ranks() > 1:
        raise _isinglass.Error("with several ranks out= is needed, a directory that all "
                               "of them can access")


def refuse_other_run(directory, command, own):
    """Refuses a directory that holds a run of another command than this one, whose files, besides
    config.toml, are `own`."""
    config = os.path.join(directory, "config.toml")
    if os.path.isfile(config):
        with open(config, encoding="utf-8") as file:
            line = file.readline().strip()
        if line.startswith("# isinglass ") and line != f"# isinglass {command}":
            raise _isinglass.Error(f"out= {os.fspath(directory)} holds a run of "
                                   f"{line.removeprefix('# isinglass ')}, which is another kind of "
                                   "run; give another directory")
    for name in ("metrics.jsonl", "checkpoints", "samples.pt", "sample-checkpoint.pt",
                 "summary.json", "ais.json", "conditional.json", "ais-checkpoint.pt",
                 "results.json", "bench.json"):
        if name not in own and os.path.exists(os.path.join(directory, name)):
            raise _isinglass.Error(f"out= {os.fspath(directory)} already holds {name}, which "
                                   "belongs to another kind of run; give another directory")


def restrictions(values, **given):
    """Returns the tensors of what restricts the states, and puts names of files into the values."""
    for name, value in given.items():
        if isinstance(value, (str, os.PathLike)):
            values[name], given[name] = os.fspath(value), None
        elif isinstance(value, torch.Tensor):
            given[name] = value.detach()
    return list(given.values())


def restriction_parameters():
    """Returns the parameters of sample() and evaluate() that restrict the states."""
    return [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None,
                              annotation="torch.Tensor | str | os.PathLike | None")
            for name in ("fixed", "allowed", "reference")]


def sample(target, sampler=None, *, init=None, data=None, fixed=None, allowed=None, reference=None,
           moves=False, callback=None, stop=None, **options):
    refuse_unknown(sample, options)
    callback, stop = callback_function(callback), stop_function(stop)
    named = isinstance(data, (str, os.PathLike))
    begins_at_data = isinstance(init, str) and init == "data"
    if data is not None and not begins_at_data and options.get("inpaint") is None:
        given = "not given" if init is None else "another"
        raise _isinglass.Error('data= applies to inpaint= and to chains that start with '
                               f'init="data"; init= is {given}')
    if data is None:
        refuse_unused(options, {"levels": "applies to images, and data= is not given"})
    if not named:
        refuse_unused(options,
                      {"data_dir": "is the folder of a data set by name, and data= is not a name"})
    if data is None and (begins_at_data or options.get("inpaint") is not None):
        needing = 'init="data"' if begins_at_data else "inpaint="
        raise _isinglass.Error(f"{needing} needs data=, the images")
    sampler, options = with_sampler(sampler, options)
    if sampler is None and lacks_gradient(target):
        sampler = "gibbs"
    values = {**({} if sampler is None else {"sampler": sampler}), **texts_of(options)}
    states = None
    if init is not None and not isinstance(init, (str, os.PathLike)):
        states = init.detach() if isinstance(init, torch.Tensor) else init
    elif init is not None:
        values["init"] = init
    if named:
        values["dataset"] = data
    limits = restrictions(values, fixed=fixed, allowed=allowed, reference=reference)
    made, error = _isinglass.sample(target, values, states, *limits, data, moves, callback,
                                    stop)
    if made is None:  # only rank 0 has the results
        return interrupt(error, "run", None) if error is not None else None
    run = Run(made, interrupted=made["stopped"] or error is not None)
    names = {name.replace("_", "-"): name for name in sample.__signature__.parameters}
    for text in [made["complaint"]] + ([] if run.interrupted else made["warnings"]):
        for name, python in names.items():
            text = text.replace(f"`{name}`", f"{python}=")
        if text:
            warnings.warn(f"{run.summary['sampler']}: {text}", stacklevel=2)
    if "inexact" in run.summary:
        warnings.warn(run.summary["inexact"], stacklevel=2)
    return interrupt(error, "run", run) if error is not None else run


sample.__signature__ = inspect.Signature(
    [inspect.Parameter("target", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="Target"),
     inspect.Parameter("sampler", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None,
                       annotation="str | Sampler | None"),
     inspect.Parameter("init", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="torch.Tensor | str | os.PathLike | None"),
     inspect.Parameter("data", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="torch.Tensor | Mapping[str, torch.Tensor] | str | "
                                  "os.PathLike | None"),
     *restriction_parameters(),
     inspect.Parameter("moves", inspect.Parameter.KEYWORD_ONLY, default=False, annotation="bool"),
     inspect.Parameter("callback", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="Callable[[dict[str, float]], bool | None] | None"),
     inspect.Parameter("stop", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="threading.Event | Callable[[], bool] | None"),
     *parameters("sample", _LEFT_OUT)], return_annotation="Run")
sample.__doc__ = f"""\
Draws samples from a target, as `isinglass sample` does, with the same bits for the same seed.

Args:
    target: the target to sample from.
    sampler: a sampler's name, or one made by sampler(), whose seed is used if seed= is not given;
        by default gibbs with scan="chromatic" for lattices and RBMs, unless an option of another
        sampler is given; else pafs, or gibbs for a target without a gradient, hmc for continuous
        states, and lb for permutations.
    init: where the chains start: states [B, D], a .pt file of them, or random, data or instance.
    data: for init="data" and inpaint=: images, as train() takes them, or the name of a data set.
    fixed: samples some sites given the others: values [sites], or [N, sites] with a row for each
        chain or for as many consecutive ones, or a file of them; NaN, or -1 if states are whole
        numbers, marks a site that is sampled, and the other sites keep their values.
    allowed: limits the values of sites: a table [sites, values], or a file of it, that is not 0
        where a site may take a value.
    reference: with within=k, limits the states to those that differ from this one at k sites at
        most: states [sites] or [N, sites], or a file of them. Chains start there.
    moves: True to keep acceptance and hops (the number of sites that changed) of every draw.
    callback: a function that is called after the first step, then at most ten times a second, and
        after the last step, with a dictionary: step (steps made, burn-in included), total, draws,
        acceptance (mean over the steps since the last call) and energy (mean U of the chains). If
        it returns True, the run ends.
    stop: a threading.Event, or a function without arguments, which is called at most ten times a
        second. Once the event is set or the function returns True, the run ends after the current
        step. A run in another thread than the main one, which Ctrl-C does not reach, needs it.
{options_text("sample", _LEFT_OUT)}

Returns:
    the draws, their energies and diagnostics: those so far, with `interrupted` True, if stop= or
    callback= ended the run. With several ranks rank 0 gets them, and the others None.

Raises:
    Error: if an option is unknown, not allowed or would have no effect, or if the energy or the
        gradient is not finite at a start.
    KeyboardInterrupt: after the current step of a call that Ctrl-C has interrupted, with the draws
        so far as its attribute `run`. So does an exception of the functions of stop= and callback=,
        and one of the target's own callable after the first step.

Example:
    >>> import isinglass as ig
    >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
    >>> run = ig.sample(target, "pafs", radius=3, chains=8, burn_in=20, steps=100, thin=10, seed=1)
    >>> run.samples.shape, run.energy.shape
    (torch.Size([10, 8, 16]), torch.Size([10, 8]))
"""
