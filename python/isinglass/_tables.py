"""Signatures and docstrings of options, made from the registry's own tables."""
import inspect
import textwrap
from collections.abc import Mapping

from . import _isinglass

TABLES = _isinglass.tables()
TYPES = {"bool": bool, "int": int, "float": float, "str": str, "path": str}


def spelled(text, names):
    """Returns a help text with the options in backquotes spelled as in Python: `burn-in` becomes
    burn_in."""
    for name, python in names.items():
        text = text.replace(f"`{name}`", python)
    return text


def value_of(option):
    """Returns the default of an option."""
    return option["default"]


def annotation(option):
    texts = {"HxW": "str | tuple[int, int]", "T0,T1": "str | tuple[float, float]", "R": "int | str",
             "LOW,HIGH": "str | tuple[float, float]"}
    base = texts.get(option["unit"]) if option["type"] == "str" else None
    base = (base or
            ("str | os.PathLike" if option["type"] == "path" else TYPES[option["type"]].__name__))
    return base if option["default"] is not None else f"{base} | None"


def parameters(table, without=()):
    """Returns keyword-only parameters for a table's options."""
    return [inspect.Parameter(option["python"], inspect.Parameter.KEYWORD_ONLY,
                              default=value_of(option), annotation=annotation(option))
            for option in TABLES[table] if option["python"] not in without]


def refuse_unknown(function, options, also=()):
    """Refuses options that the function's signature does not have."""
    known = [one.name
             for one in function.__signature__.parameters.values() if one.kind is one.KEYWORD_ONLY]
    known += [name for name in also if name not in known]
    for name in options:
        if name not in known:
            near = _isinglass.near_name(name, known)
            meant = f"did you mean {near}=? " if near else ""
            raise _isinglass.Error(f"{function.__name__} has no option {name}=; {meant}"
                                   f"help(isinglass.{function.__name__}) lists all")


def refuse_unused(options, reasons):
    """Refuses given options that would have no effect. `reasons` maps their names to the
    reasons."""
    for name, reason in reasons.items():
        if options.get(name) is not None:
            raise _isinglass.Error(f"{name}= {reason}")


def with_sampler(sampler, options):
    """Returns a sampler's name and the options, including those and the seed of a sampler made by
    sampler()."""
    if not isinstance(sampler, _isinglass.Sampler):
        return sampler, options
    return sampler.name, {"seed": sampler.seed, **sampler.options, **options}


def number(value):
    return f"{value:g}" if isinstance(value, float) else str(value)


def range_of(option):
    least, most = option.get("minimum"), option.get("maximum")
    if least is None and most is None:
        return ""
    text = (f"above {number(least)}" if option.get("above_minimum")
            else f"{number(least)}" if least is not None else "")
    if most is not None:
        return f"{text or 'at most'} to {number(most)}" if text else f"at most {number(most)}"
    return text if option.get("above_minimum") else f"at least {text}"


def described(option, names):
    details = [", ".join(option["choices"])] if option.get("choices") else [range_of(option)]
    if option["default"] is not None:
        details.append(f"default {option['default']!r}")
    details = "; ".join(detail for detail in details if detail)
    return spelled(option["help"], names) + (f" ({details})" if details else "")


def options_text(table, without=(), topics=()):
    """Returns the options as a section of a docstring."""
    names = {option["name"]: option["python"] for option in TABLES[table]}
    lines = []
    for option in TABLES[table]:
        if option["python"] in without or (topics and option["topic"] not in topics):
            continue
        lines += textwrap.wrap(f"{option['python']}: {described(option, names)}", 96,
                               initial_indent="    ", subsequent_indent="        ")
    return "\n".join(lines)


def sampler_options(sampler):
    """Returns the options of one sampler, with its own defaults and ranges."""
    texts = {option["name"]: option for option in TABLES["sample"]}
    found = []
    for use in sampler["options"]:
        option = texts[use["name"]]
        default = use["default"] if use["default"] is not None else option["default"]
        found.append({**option,
                      **{key: use.get(key) for key in ("minimum", "maximum", "above_minimum")},
                      "default": default})
    return found


def samplers_text():
    """Returns the list of samplers as a section of a docstring."""
    lines = []
    for sampler in TABLES["samplers"]:
        options = []
        for option in sampler_options(sampler):
            limits = range_of(option)
            default = "" if option["default"] is None else f"default {option['default']!r}"
            details = ", ".join(part for part in (limits, default) if part)
            options.append(option["python"] + (f" ({details})" if details else ""))
        text = (f"{sampler['summary']}. States: {sampler['states']}; needs: "
                f"{sampler['needs']}; options: {', '.join(options) or 'none'}. {sampler['paper']}.")
        lines += textwrap.wrap(f"{sampler['name']}: {text}", 96, initial_indent="    ",
                               subsequent_indent="        ")
    return "\n".join(lines)


def texts_of(options):
    """Returns option values as the tables' texts: a pair of numbers becomes "2,0.1", an image's
    size "28x28"."""
    def text(name, value):
        if isinstance(value, (tuple, list)):
            return ("x" if name == "image" else ",").join(str(part) for part in value)
        if isinstance(value, Mapping):  # a mapping stands for NAME=FILE,…
            return ",".join(f"{key}={part}" for key, part in value.items())
        return value
    return {name: text(name, value) for name, value in options.items()}
