"""Training of models: the trainer with its checkpoints."""
import contextlib
import inspect
import itertools
import json
import os
import tempfile
import warnings
from typing import Any

import torch

from . import _isinglass
from ._run import directory_for_all, interrupt
from ._show import Shown
from ._stops import callback_function, stop_function
from ._tables import (
    TABLES,
    options_text,
    parameters,
    refuse_unknown,
    refuse_unused,
    texts_of,
    with_sampler,
)

_LEFT_OUT = ("model", "dataset", "sampler")
_OF_NEW_MODELS = ("channels", "hidden", "edges", "proj", "base", "base_smooth", "weights",
                  "gradient_precision", "base_model", "base_log_z", "base_log_z_error",
                  "base_evaluation", "bound", "network", "head")
_OF_CONTINUOUS_STATES = tuple(one["name"] for one in TABLES["samplers"]
                              if one["states"] == "continuous")


class Fit(Shown):
    """A trained model, with the numbers of every iteration.

    Attributes:
        target: the target that was given. For a model by name, a target with its averaged
            parameters; None for a classifier, which needs the name of a class: use load.
        parameters: the averaged parameters (exponential moving average), a state dict.
        iteration: the number of the last iteration.
        metrics: a list with a dictionary of numbers for every iteration, with out= also for those
            of earlier calls; energies are in nats.
        options: the options with all defaults.
        out: the run's directory; None if it was not kept.
        interrupted: True if training ended early.
        recoveries: how often training diverged and went back to a checkpoint.
        notes: sentences on what the data were taken for: missing values, grey levels.

    Example:
        >>> import torch, isinglass as ig
        >>> data = (torch.rand(200, 8) < 0.3).to(torch.uint8)
        >>> module = torch.nn.Sequential(torch.nn.Linear(8, 1), torch.nn.Flatten(0))
        >>> fit = ig.train(module, data, iters=3, steps_per_iter=2, buffer=50, batch=20, warmup=0)
        >>> fit.iteration, list(fit.parameters)
        (3, ['0.weight', '0.bias'])
        >>> fit.load_into(module)  # the averaged parameters
    """

    target: _isinglass.Target
    parameters: "dict[str, torch.Tensor]"
    iteration: int
    metrics: "list[dict[str, float]]"
    options: "dict[str, Any]"
    out: "str | None"
    interrupted: bool
    recoveries: int
    notes: "list[str]"

    def __init__(self, made, target, metrics, out):
        self.target, self.metrics, self.out = target, metrics, out
        self.parameters, self.iteration = made["parameters"], made["iteration"]
        self.options = made["options"]
        self.interrupted, self.recoveries = made["interrupted"], made["recoveries"]
        self.notes = made["notes"]

    def load_into(self, module: "torch.nn.Module") -> None:
        """Loads the averaged parameters into a module.

        Args:
            module: the module that was trained, the module inside it, or a wrapper of it, such as
                torch.compile, DataParallel or Sequential, which prefix the names of parameters.

        Raises:
            Error: if the names of the module's parameters are others.
        """
        own = {name for name in module.state_dict() if not name.endswith("_extra_state")}
        ours = set(self.parameters)
        for theirs, mine in itertools.product(("", *_prefixes(own)), ("", *_prefixes(ours))):
            named = {theirs + name.removeprefix(mine): value
                     for name, value in self.parameters.items()}
            if own == set(named):
                module.load_state_dict(named, strict=False)  # extra state is no tensor
                return
        raise _isinglass.Error(f"the parameters are {_some(ours - own or ours)}, and the module "
                               f"has {_some(own - ours or own)}")

    @property
    def frame(self) -> "pandas.DataFrame":  # noqa: F821
        """The metrics as a pandas.DataFrame, a row per iteration."""
        import pandas

        frame = (pandas.DataFrame(self.metrics) if self.metrics
                 else pandas.DataFrame({"iteration": []}, dtype=int))
        return frame.set_index("iteration")

    def _title(self):
        return (f"{self.options.get('objective', 'pcd')} training of "
                f"{self.target.name if self.target else 'a model'}")

    def _rows(self):
        last = self.metrics[-1] if self.metrics else {}
        rows = [("iteration", self.iteration), ("interrupted", self.interrupted),
                ("recoveries", self.recoveries)]
        rows += [("note", note) for note in self.notes]
        return rows + [(name, value) for name, value in last.items() if name != "iteration"]


def _prefixes(names):
    """Returns the prefixes that all names share, such as module. and module.net."""
    first = min(names, default="")
    prefixes = [first[:place + 1] for place, letter in enumerate(first) if letter == "."]
    return [prefix for prefix in prefixes if all(name.startswith(prefix) for name in names)]


def _earlier(directory, before):
    """Returns the numbers of the iterations below `before` that earlier calls have written."""
    file = os.path.join(directory, "metrics.jsonl")
    if not os.path.exists(file):
        return []
    with open(file, encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    return [{name: float("nan") if value is None else value for name, value in row.items()
             if not isinstance(value, str)} for row in rows if row["iteration"] < before]


def _some(names):
    return ", ".join(sorted(names)[:4]) + (", …" if len(names) > 4 else "")


def train(model, data, *, sampler=None, out=None, labels=None, callback=None, stop=None,
          device=None, **options):
    directory_for_all(out)
    refuse_unknown(train, options)
    callback, stop = callback_function(callback), stop_function(stop)
    if not isinstance(model, str):
        given = "applies to a model by name only; a target or module has its own"
        refuse_unused({**options, "device": device},
                      dict.fromkeys((*_OF_NEW_MODELS, "device"), given))
    if isinstance(model, _isinglass.Target):
        refuse_unused(options, {"bounds": "applies to a module or a model by name; a target has "
                                          "its own, which its method bounded() sets"})
    if not isinstance(data, (str, os.PathLike)):
        refuse_unused(options,
                      {"data_dir": "is the folder of a data set by name, and the "
                                   "data are in memory"})
    if options.get("objective") != "classify" or isinstance(data, (str, os.PathLike)):
        refuse_unused({"labels": labels},
                      {"labels": "applies to images in memory with objective=\"classify\" only"})
    device = "cpu" if device is None else device
    sampler, options = with_sampler(sampler, options)
    values = texts_of(options)
    target = model
    if isinstance(model, str):
        target, values["model"] = None, model
    elif not isinstance(model, _isinglass.Target):
        sites = _isinglass.sites_of(data)
        if sites is None:
            raise _isinglass.Error("the number of a module's sites is known only from data in "
                                   "memory; for a data set by name or file "
                                   "isinglass.energy(module, sites=…) is needed")
        from ._targets import energy
        levels = values.get("levels")
        without_chains = values.get("objective") in ("dsm", "classify")
        bounds = None if without_chains else options.get("bounds")
        continuous = (without_chains or bounds is not None or sampler in _OF_CONTINUOUS_STATES)
        states = "continuous" if continuous else "categorical" if levels else "binary"
        target = energy(model, sites=sites, states=states,
                        categories=levels if states == "categorical" else None, bounds=bounds)
    values["sampler"] = sampler
    if isinstance(data, (str, os.PathLike)):
        values["dataset"] = data
    metrics = []

    def note(numbers):
        metrics.append(numbers)
        return callback(numbers) if callback is not None else None

    with contextlib.ExitStack() as stack:
        directory = (out if out is not None
                     else stack.enter_context(tempfile.TemporaryDirectory(prefix="isinglass-")))
        try:
            made, error = _isinglass.train(target, values, data, labels, str(device),
                                           os.fspath(directory), note, stop)
        except _isinglass.NumericalError as diverged:
            if out is not None:
                raise
            what, earlier, _ = str(diverged).partition("; the checkpoint to go back to is ")
            what, _, _ = what.partition(", because only the checkpoint of iteration 0")
            raise _isinglass.NumericalError(
                f"{what}; out= a directory keeps checkpoints to go back to" if earlier
                else what) from None
    if target is None and values.get("objective") != "classify":
        target = _isinglass.load(made["options"]["model"], made["parameters"],
                                 {name: made["options"][name] for name in ("image", "bounds")
                                  if name in made["options"]},
                                 made["continuous"], str(device))
    if out is not None:
        metrics = _earlier(directory, metrics[0]["iteration"] if metrics
                           else made["iteration"] + 1) + metrics
    fit = Fit(made, target, metrics, None if out is None else os.fspath(out))
    in_memory = not isinstance(data, (str, os.PathLike))
    if made["draws_from_grey_levels"] and in_memory and _isinglass.are_points(data):
        warnings.warn(fit.notes[-1], stacklevel=2)
    return interrupt(error, "fit", fit) if error is not None else fit


train.__signature__ = inspect.Signature(
    [inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD,
                       annotation="Target | torch.nn.Module | str"),
     inspect.Parameter("data", inspect.Parameter.POSITIONAL_OR_KEYWORD,
                       annotation="torch.Tensor | Mapping[str, torch.Tensor] | str | os.PathLike"),
     inspect.Parameter("sampler", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | Sampler | None"),
     inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | os.PathLike | None"),
     inspect.Parameter("labels", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="torch.Tensor | None"),
     inspect.Parameter("callback", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="Callable[[dict[str, float]], bool | None] | None"),
     inspect.Parameter("stop", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="threading.Event | Callable[[], bool] | None"),
     inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | torch.device | None"),
     *parameters("train", _LEFT_OUT)], return_annotation="Fit")
train.__doc__ = f"""\
Trains a model on images or points, as `isinglass train` does, with the same bits for the same seed.

Args:
    model: a torch.nn.Module or a target, whose parameters are trained in place; or the name of a
        model of the registry (resnet, mlp, rbm, ising), which starts from new parameters. The
        states of a module are continuous if bounds= or a sampler of such states is given.
    data: a tensor, array or list of images [N, D], [N, H, W] or [N, 1, H, W]. Values are 0 and 1 of
        any type, grey levels 0 to 255, real numbers from 0 to 1, or with levels= whole numbers
        below it. Images are shuffled with a fixed seed and split 80/10/10. A dictionary with train
        and optionally validation and test gives the splits, whose values are read in one way. Or
        the name or file of a data set. pcd and cd take NaN in real training images as missing
        values, which they sample given the known ones; a tensor with some is not split. dsm,
        classify, and chains of continuous states take real [N, D] as points.
    sampler: a sampler's name (default: pafs; mala for continuous states), or one made by sampler(),
        whose seed is used if seed= is not given.
    out: the run's directory, with checkpoints; a run that is there is continued. Without it nothing
        is kept.
    labels: for classify: the classes of the images [N], whole numbers from 0, which are split like
        the images; for a dictionary the classes of train.
    callback: a function that is called after every iteration with a dictionary of its numbers. If
        it returns True, training saves and ends.
    stop: a threading.Event, or a function without arguments, which is called at most ten times a
        second. Once the event is set or the function returns True, training saves and ends after
        the current iteration.
    device: the device of a model by name (default: cpu); a target has its own.
{options_text("train", _LEFT_OUT)}

Returns:
    the averaged parameters, and the numbers of every iteration: those so far, with `interrupted`
    True, if stop= or callback= ended the training.

Raises:
    Error: if an option is unknown, not allowed or would have no effect, or if the data cannot be
        read.
    NumericalError: if training diverges, and `recover` returns to a checkpoint have not helped.
    KeyboardInterrupt: after the current iteration of a call that Ctrl-C has interrupted, with the
        fit so far as its attribute `fit`. A checkpoint is saved, so that with `out` the same call
        continues the run. So does an exception of the functions of stop= and callback=.

Example:
    >>> import torch, isinglass as ig
    >>> data = (torch.rand(200, 8) < 0.3).to(torch.uint8)
    >>> module = torch.nn.Sequential(torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    >>> fit = ig.train(module, data, sampler="pafs", radius=2, iters=3, steps_per_iter=2,
    ...                buffer=50, batch=20, warmup=0)
    >>> fit.iteration, fit.interrupted
    (3, False)
"""
