"""Makes samplers, to be used step by step: a function per sampler, with its own options and
defaults.

samplers.pafs(radius=5) is sampler("pafs", radius=5).
"""
import inspect
import re
import textwrap

from . import _isinglass
from ._tables import (
    TABLES,
    described,
    options_text,
    sampler_options,
    samplers_text,
    spelled,
    value_of,
)
from ._tables import annotation as _annotation

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_SEED = inspect.Parameter("seed", _KEYWORD, default=0, annotation="int")


def sampler(name, *, seed=0, **options):
    return _isinglass.Sampler(name, options, seed)


sampler.__signature__ = inspect.Signature(
    [inspect.Parameter("name", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="str"), _SEED] +
    [inspect.Parameter(option["python"], _KEYWORD, default=None,
                       annotation=f"{_annotation(option)} | None".replace(
                           "None | None", "None")) for option in TABLES["sample"]
     if option["topic"] == "sampler" and option["python"] not in ("sampler", "warm_start")],
    return_annotation="Sampler")
sampler.__doc__ = f"""Makes a sampler by name, to be used step by step.

Args:
    name: the name of a sampler in the list below.
    seed: the seed of starts that have no seed of their own (at least 0).
{options_text("sample", ("sampler", "warm_start"), ("sampler",))}

Samplers:
{samplers_text()}

Returns:
    the sampler, which holds its options and no states.

Raises:
    Error: if the name is unknown, the sampler does not read an option, or a value is not allowed.

Example:
    >>> import torch, isinglass as ig
    >>> target = ig.instance("ising-grid:side=4,coupling=0.3")
    >>> sampler = ig.sampler("pafs", radius=3)
    >>> state = sampler.init(target, chains=8, seed=1)
    >>> info = sampler.step(target, state)
    >>> state.x.shape, info.evaluations
    (torch.Size([8, 16]), 1)
"""


def _function_of(entry):
    options = sampler_options(entry)
    names = {option["name"]: option["python"] for option in TABLES["sample"]}

    def make(*, seed=0, **said):
        return sampler(entry["name"], seed=seed, **said)

    make.__name__ = make.__qualname__ = entry["name"].replace("-", "_")
    make.__module__ = __name__
    make.__signature__ = inspect.Signature(
        [inspect.Parameter(option["python"], _KEYWORD, default=value_of(option),
                           annotation=_annotation(option))
         for option in options] + [_SEED], return_annotation="Sampler")
    lines = textwrap.wrap(f"{entry['summary']}. {entry['paper']}.", 96)
    lines[0] = lines[0][0].upper() + lines[0][1:]
    kinds = " or ".join(entry["states"].rsplit(", ", 1))
    lines += ["", f"It moves {kinds} states. It needs: {entry['needs']}.", "", "Args:"]
    for option in options:
        text = f"{option['python']}: {spelled(described(option, names), names)}"
        if option["default"] is not None:  # the signature has the sampler's own default
            text = re.sub(r" \(default: the sampler's own[^)]*\)", "", text)
        lines += textwrap.wrap(text, 96, initial_indent="    ", subsequent_indent="        ")
    lines += ["    seed: the seed of starts that have no seed of their own (at least 0; default 0)",
              "", "Returns:", "    the sampler, which holds its options and no states."]
    make.__doc__ = "\n".join(lines) + "\n"
    return make


__all__ = ["sampler"]
for _entry in TABLES["samplers"]:
    _function = _function_of(_entry)
    globals()[_function.__name__] = _function
    __all__.append(_function.__name__)
del _entry, _function
