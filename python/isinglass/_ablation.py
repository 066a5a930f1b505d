"""Grids of targets × samplers × settings."""
import contextlib
import inspect
import json
import numbers
import os
import tempfile
import warnings
from collections.abc import Mapping
from typing import Any

from . import _isinglass
from ._run import directory_for_all, interrupt, refuse_other_run, sample
from ._show import Shown
from ._tables import (
    TABLES,
    options_text,
    parameters,
    refuse_unknown,
    refuse_unused,
    texts_of,
)
from ._targets import inexactness

_LEFT_OUT = ("grid", "preset")
_OF_GRIDS_BY_NAME = ("weights", "cache")
_DATA = ("dataset", "data_dir", "levels")
# These are the arguments of sample(), except those that each cell sets itself.
_OF_CELLS = [name for name in sample.__signature__.parameters
             if name not in ("target", "sampler", "data", "moves", "seed",
                             "no_samples")] + ["dataset"]


class Ablation(Shown):
    """The results of a grid, with a row for every cell.

    Attributes:
        results: the contents of results.json: rows, one per cell, and claims with their verdicts.
        directory: the directory of results.json and of the cells; a temporary one if `out` was not
            given.
        frame: the cells as a pandas.DataFrame: model, sampler, settings, repeat, status, error and
            metrics.

    Example:
        >>> import isinglass as ig
        >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
        >>> grid = ig.ablate(targets={"grid": target}, samplers=["gwg", "rwm"], chains=8,
        ...                  burn_in=10, steps=50)
        >>> list(grid.frame["sampler"]), grid.results["failed"]
        (['gwg', 'rwm'], 0)
    """

    results: "dict[str, Any]"
    directory: str

    def __init__(self, results, directory, keeper):
        self.results, self.directory, self._keeper = results, directory, keeper

    @property
    def frame(self) -> "pandas.DataFrame":  # noqa: F821
        """The cells as a pandas.DataFrame: model, sampler, settings, repeat, status, error and
        metrics."""
        import pandas

        return pandas.DataFrame([
            {"model": row["model"], "sampler": row["sampler"], **row["settings"],
             "repeat": row["repeat"], "status": row["status"], "error": row.get("error"),
             **row.get("metrics", {})}
            for row in self.results["rows"]])

    def report(self, file: "str | os.PathLike") -> str:
        """Writes the page of the grid, a single HTML file that needs no network.

        Args:
            file: the file to write, such as page.html.

        Returns:
            the file's name.
        """
        _isinglass.report(self.directory, os.fspath(file))
        return os.fspath(file)

    def _title(self):
        return self.results["title"]

    def _rows(self):
        rows = [("cells", self.results["cells"]), ("failed", self.results["failed"])]
        return rows + [(claim["claim"], claim["verdict"]) for claim in self.results["claims"]]


def _toml(value):
    if isinstance(value, Mapping):
        return ("{" + ", ".join(f"{_toml(str(name))} = {_toml(part)}"
                                for name, part in value.items()) + "}")
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if hasattr(value, "item"):  # a number of numpy or torch
        value = value.item()
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))  # inf and nan are valid in TOML as well
    raise _isinglass.Error(f"a grid holds {value!r}; only strings, numbers, True, False and lists "
                           "of them are allowed")


def _table(values):
    return "".join(f"{_toml(name.removesuffix('_').replace('_', '-'))} = {_toml(value)}\n"
                   for name, value in values.items() if value is not None)


def _sampler_entry(sampler):
    if isinstance(sampler, str):
        return {"sampler": sampler}
    if isinstance(sampler, _isinglass.Sampler):
        if sampler.seed:
            raise _isinglass.Error(f"the seed= of {sampler!r} would have no effect: the seeds of "
                                   "cells follow from seed= of ablate and the number of the repeat")
        return {"sampler": sampler.name, **sampler.options}
    return sampler


def _grid_text(title, targets, samplers, claims, common):
    text = f"title = {_toml(title)}\n[common]\n{_table(common)}"
    for label in targets:
        text += f"[[models]]\nlabel = {_toml(label)}\n"
    for sampler in samplers:
        text += f"[[samplers]]\n{_table(_sampler_entry(sampler))}"
    for claim in claims:
        text += f"[[claims]]\n{_table(claim)}"
    return text


def _refuse_missing_file(grid):
    text = os.fspath(grid)
    is_path = isinstance(grid, os.PathLike) or text.endswith(".toml") or os.sep in text
    if is_path and not os.path.isfile(text):
        raise _isinglass.Error(f"grid= is {text!r}, and there is no such file")


def _own_and_common(grid, options):
    """Returns the grid's own options and those of its cells. Refuses options that neither would
    use."""
    if grid is None:
        refuse_unknown(ablate, options, _OF_CELLS)
        refuse_unused(options,
                      dict.fromkeys(_OF_GRIDS_BY_NAME,
                                    "applies to a grid by name or file, which trains models"))
        if options.get("init") != "data":
            refuse_unused(options, dict.fromkeys(
                _DATA, 'applies to chains that start with init="data", and init= is not "data"'))
    else:
        refuse_unknown(ablate, options)
    cells = set(_OF_CELLS) if grid is None else set()
    own = {option["python"] for option in TABLES["ablate"]} - (set(_DATA) & cells)
    return ({name: value for name, value in options.items() if name in own},
            texts_of({name: value for name, value in options.items() if name not in own}))


def ablate(grid=None, *, targets=None, samplers=(), title=None, claims=(), out=None, device=None,
           **options):
    directory_for_all(out)
    for label, target in (targets or {}).items():
        if not isinstance(target, _isinglass.Target):
            raise _isinglass.Error(f"targets[{label!r}] is of type {type(target).__name__}; a "
                                   "target is needed: isinglass.energy(…, sites=D) makes one from "
                                   "a module or function")
    if grid is not None and (targets or samplers or claims or title is not None):
        raise _isinglass.Error("a grid by name or file has its own title, targets, samplers and "
                               "claims, so that none can be given")
    values, common = _own_and_common(grid, options)
    if grid is None:
        refuse_unused({"device": device},
                      {"device": "applies to a grid by name or file; targets have their own"})
    device = "cpu" if device is None else device
    keeper = None if out is not None else tempfile.TemporaryDirectory(prefix="isinglass-")
    directory = os.fspath(out) if out is not None else keeper.name
    refuse_other_run(directory, "ablate", ("results.json",))
    os.makedirs(directory, exist_ok=True)
    for target in (targets or {}).values():
        inexact = inexactness(target)
        if inexact:
            warnings.warn(inexact, stacklevel=2)
    with contextlib.ExitStack() as stack:
        if grid is not None:
            _refuse_missing_file(grid)
            values["grid" if isinstance(grid, os.PathLike) or os.path.isfile(
                grid) else "preset"] = grid
        else:
            if not targets or not samplers:
                raise _isinglass.Error("either targets={label: target} and samplers=[…] or a grid "
                                       "by name or file is needed")
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="isinglass-"))
            values["grid"] = os.path.join(folder, "grid.toml")
            with open(values["grid"], "w", encoding="utf-8") as file:
                file.write(_grid_text("Samplers" if title is None else title, targets, samplers,
                                      claims, common))
        try:
            results, error = _isinglass.ablate(values, dict(targets or {}), str(device), directory)
        except (_isinglass.Error, _isinglass.NumericalError) as failure:
            if grid is not None:
                raise
            # The file of a grid in memory is not the user's.
            raise type(failure)(str(failure).replace(values["grid"], "the grid")) from None
    if error is not None:
        return interrupt(error, "directory", directory)
    # Only rank 0 has the results.
    return None if results is None else Ablation(results, directory, keeper)


ablate.__signature__ = inspect.Signature(
    [inspect.Parameter("grid", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None,
                       annotation="str | os.PathLike | None"),
     inspect.Parameter("targets", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="Mapping[str, Target] | None"),
     inspect.Parameter("samplers", inspect.Parameter.KEYWORD_ONLY, default=(),
                       annotation="Sequence[str | Sampler | Mapping[str, Any]]"),
     inspect.Parameter("title", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | None"),
     inspect.Parameter("claims", inspect.Parameter.KEYWORD_ONLY, default=(),
                       annotation="Sequence[Mapping[str, Any]]"),
     inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | os.PathLike | None"),
     inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="str | torch.device | None"),
     *parameters("ablate", _LEFT_OUT),
     inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation="Any")],
    return_annotation="Ablation")
ablate.__doc__ = f"""Runs a grid of targets × samplers × settings, and measures every cell.

A cell that fails, for example by an energy that is not finite, has its error in the column `error`
of frame.

Args:
    grid: the name of a published experiment's grid, or a TOML file; given in place of targets and
        samplers.
    targets: a dictionary of targets by their labels.
    samplers: names, samplers made by sampler(), or dictionaries of a sampler and its options, in
        which a list of values is swept: {{"sampler": "pafs", "radius": [3, 5, 8]}}.
    title: the title of the page (default: Samplers).
    claims: the statements to judge, as in a grid file's [[claims]].
    out: a directory in which finished cells are kept, so that the same call continues the grid.
        Without it only the result is kept.
    device: the device of a grid by name or file (default: cpu); targets have their own.
    options: sampling options for all cells: steps, burn_in, chains, thin, …, as sample() takes
        them.
{options_text("ablate", _LEFT_OUT)}

Returns:
    the rows and verdicts. With several ranks rank 0 gets them, and the others None.

Raises:
    Error: if an option is unknown, not allowed or would have no effect, or if the grid cannot be
        read.
    KeyboardInterrupt: after the current step of a call that Ctrl-C has interrupted, with the name
        of the directory as its attribute `directory`; finished cells stay in `out`.

Example:
    >>> import isinglass as ig
    >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
    >>> samplers = ["gwg", {{"sampler": "pafs", "radius": [2, 4]}}]
    >>> grid = ig.ablate(targets={{"grid": target}}, samplers=samplers, chains=8, burn_in=10,
    ...                  steps=50)
    >>> list(grid.frame["sampler"])
    ['gwg', 'pafs', 'pafs']
"""
