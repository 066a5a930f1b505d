"""Grids of targets × samplers × settings."""
import contextlib
import inspect
import json
import os
import tempfile
from typing import Any

from . import _isinglass
from ._run import directory_for_all, interrupt
from ._show import Shown
from ._tables import TABLES, options_text, parameters, texts_of

_LEFT_OUT = ("grid", "preset", "dataset", "weights")


class Ablation(Shown):
    """The results of a grid.

    results: what results.json holds: rows, one a cell, and claims with their verdicts.
    frame: a pandas.DataFrame, a row per cell.
    """

    results: "dict[str, Any]"
    directory: str

    def __init__(self, results, directory, keeper):
        self.results, self.directory, self._keeper = results, directory, keeper

    @property
    def frame(self) -> "pandas.DataFrame":  # noqa: F821
        """A row per cell: model, sampler, settings, repeat, status and metrics."""
        import pandas

        return pandas.DataFrame([
            {"model": row["model"], "sampler": row["sampler"], **row["settings"], "repeat": row["repeat"],
             "status": row["status"], "error": row.get("error"), **row.get("metrics", {})}
            for row in self.results["rows"]])

    def report(self, file: "str | os.PathLike") -> str:
        """Writes the page of the grid, one HTML file that opens with no network. Returns its name."""
        _isinglass.report(self.directory, os.fspath(file))
        return os.fspath(file)

    def _title(self):
        return self.results["title"]

    def _rows(self):
        rows = [("cells", self.results["cells"]), ("failed", self.results["failed"])]
        return rows + [(claim["claim"], claim["verdict"]) for claim in self.results["claims"]]


def _toml(value):
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(part) for part in value) + "]"
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    return json.dumps(value, ensure_ascii=False)


def _table(values):
    return "".join(f"{name.removesuffix('_').replace('_', '-')} = {_toml(value)}\n" for name, value in values.items()
                   if value is not None)


def _sampler_entry(sampler):
    if isinstance(sampler, str):
        return {"sampler": sampler}
    if isinstance(sampler, _isinglass.Sampler):
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


def ablate(grid=None, *, targets=None, samplers=(), title="Samplers", claims=(), out=None, device="cpu", **options):
    directory_for_all(out)
    own = {option["python"] for option in TABLES["ablate"]}
    values = {name: value for name, value in options.items() if name in own}
    common = texts_of({name: value for name, value in options.items() if name not in own})
    keeper = None if out is not None else tempfile.TemporaryDirectory(prefix="isinglass-")
    directory = os.fspath(out) if out is not None else keeper.name
    os.makedirs(directory, exist_ok=True)
    with contextlib.ExitStack() as stack:
        if grid is not None:
            if targets or samplers or common:
                raise _isinglass.Error("a grid by name or file has targets, samplers and options of its own")
            values["grid" if os.path.exists(grid) else "preset"] = grid
        else:
            if not targets or not samplers:
                raise _isinglass.Error("targets={label: target} and samplers=[…] are needed, or a grid by name or file")
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="isinglass-"))
            values["grid"] = os.path.join(folder, "grid.toml")
            with open(values["grid"], "w", encoding="utf-8") as file:
                file.write(_grid_text(title, targets, samplers, claims, common))
        results, error = _isinglass.ablate(values, dict(targets or {}), str(device), directory)
    if error is not None:
        return interrupt(error, "directory", directory)
    return None if results is None else Ablation(results, directory, keeper)  # rank 0 has it


ablate.__signature__ = inspect.Signature(
    [inspect.Parameter("grid", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None,
                       annotation="str | os.PathLike | None"),
     inspect.Parameter("targets", inspect.Parameter.KEYWORD_ONLY, default=None,
                       annotation="Mapping[str, Target] | None"),
     inspect.Parameter("samplers", inspect.Parameter.KEYWORD_ONLY, default=(),
                       annotation="Sequence[str | Sampler | Mapping[str, Any]]"),
     inspect.Parameter("title", inspect.Parameter.KEYWORD_ONLY, default="Samplers", annotation="str"),
     inspect.Parameter("claims", inspect.Parameter.KEYWORD_ONLY, default=(),
                       annotation="Sequence[Mapping[str, Any]]"),
     inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | os.PathLike | None"),
     inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default="cpu", annotation="str | torch.device"),
     *parameters("ablate", _LEFT_OUT),
     inspect.Parameter("options", inspect.Parameter.VAR_KEYWORD, annotation="Any")], return_annotation="Ablation")
ablate.__doc__ = f"""Runs a grid of targets × samplers × settings, and measures every cell.

    grid: a grid of the papers by name, or a TOML file; in place of targets and samplers.
    targets: the targets by their labels.
    samplers: names, samplers made by sampler(), or dictionaries of a sampler and its options, where a list of
        values is swept: {{"sampler": "pafs", "radius": [3, 5, 8]}}.
    claims: what is to be judged, as in a grid file's [[claims]].
    out: a directory, in which finished cells are kept: the same call goes on. Without it nothing is kept but the
        result.
    options: of sampling, for all cells: steps, burn_in, chains, thin, ….
{options_text("ablate", _LEFT_OUT)}

Returns an Ablation (of ranks: to rank 0, and None to the others). A cell that fails, as by an energy that is not finite, says so in frame.error. What a
target's callable raises arrives unchanged, and Ctrl-C raises KeyboardInterrupt; finished cells stay in `out`.
"""
