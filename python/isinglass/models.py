"""Makes every model of the registry from tensors: ising(edges=…, coupling=…, field=…).

There is a function per model. Tensors are checked like those of parameter files. float64 stays
float64 except in networks, which compute in float32. The target is on the tensors' device. Neural
networks take a state dict; Bayesian networks and TorchScript models take a file.
"""
import inspect
import os
import re

import torch

from . import _isinglass
from ._tables import TABLES, described, spelled, texts_of

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_FIRST = inspect.Parameter.POSITIONAL_OR_KEYWORD
_FILES = ("bayesnet", "script")
# These are options that a model's tensors do not determine, in addition to `sites` of the models
# whose description asks for it.
_MORE = {"maxcut": ["sites"], "mis": ["sites", "penalty"], "maxclique": ["sites", "penalty"],
         "mlp": ["categories", "class_"], "resnet": ["image"],
         "script": ["sites", "categories", "class_"]}


def _tensor_names(model):
    """Returns the first words of "edges int64 [E,2], coupling [E], field [D]"; none for networks
    and files."""
    text = model["parameters"]
    if text.startswith("a graph"):
        return ["edges", "weight"]
    if "{" in text or "[" not in text:
        return []
    parts = re.sub(r"\[[^\]]*\]", "", text.split(";")[0]).split(",")
    return [part.split()[0] for part in parts]


def _options_of(model):
    asked = [name for name in ("sites", "categories")
             if f"`{name}`" in model["parameters"].partition(";")[2]]
    names = asked + [name for name in _MORE.get(model["name"], []) if name not in asked]
    found = {option["python"]: option for option in TABLES["target"]}
    return [found[name] for name in names]


def _parameter(name, default=inspect.Parameter.empty, note="torch.Tensor", kind=_KEYWORD):
    return inspect.Parameter(name, kind, default=default, annotation=note)


def _signature_of(model, tensors, options):
    first = []
    if model["name"] in _FILES:
        first = [_parameter("file", note="str | os.PathLike", kind=_FIRST)]
    elif not tensors:
        first = [_parameter("state", note="Mapping[str, torch.Tensor] | torch.nn.Module",
                            kind=_FIRST)]
    needed = [name for name in tensors if name != "weight"]
    own = [_parameter(name, note="torch.Tensor | float") for name in needed]
    own += [_parameter("weight", None, "torch.Tensor | None")] if "weight" in tensors else []
    own += [_parameter(option["python"], None, f"{option['type']} | None") for option in options]
    if model["any_continuous"]:
        own.append(_parameter("continuous", False, "bool"))
    own.append(_parameter("device", None, "str | torch.device | None"))
    return inspect.Signature(first + own, return_annotation="Target")


def _doc_of(model, options):
    names = {option["name"]: option["python"] for option in TABLES["target"]}
    parameters = re.sub(r"`([a-z-]+)`( [A-Z])?", lambda m: f"{names.get(m[1], m[1])}=",
                        model["parameters"])
    if parameters.startswith("a graph"):
        parameters = ("edges int64 [E,2], each once, in either direction; weight [E] "
                      "(default: 1 each)")
    lines = [f"U(x) = {spelled(model['energy'], names)}", "",
             f"    states: {spelled(model['states'], names)}", f"    parameters: {parameters}"]
    lines += [f"    {option['python']}: {described(option, names)}" for option in options]
    return "\n".join(lines) + "\n"


def _tensor(value):
    """Returns a tensor as it is, and Python numbers, which have 64 bits, as float64."""
    tensor = torch.as_tensor(value)
    known = (isinstance(value, torch.Tensor) or hasattr(value, "dtype") or
             not tensor.is_floating_point())
    return tensor if known else torch.as_tensor(value, dtype=torch.float64)


def _function_of(model):
    name = model["name"]
    tensors, options = _tensor_names(model), _options_of(model)
    signature = _signature_of(model, tensors, options)

    def make(*arguments, **keywords):
        try:
            said = signature.bind(*arguments, **keywords).arguments
        except TypeError as error:
            raise _isinglass.Error(f"models.{make.__name__}{signature}: {error}") from None
        continuous, device = said.pop("continuous", False), said.pop("device", None)
        given = {key: _tensor(said.pop(key)) for key in tensors if said.get(key) is not None}
        values = {}
        if "state" in said:
            state = said.pop("state")
            given = dict(state.state_dict() if isinstance(state, torch.nn.Module) else state)
        if "file" in said:
            values["weights"] = os.fspath(said.pop("file"))
        values.update({key: value for key, value in said.items() if value is not None})
        return _isinglass.load(name, given, texts_of(values), continuous,
                               None if device is None else str(device))

    make.__name__ = make.__qualname__ = name.replace("-", "_")
    make.__module__ = __name__
    make.__signature__ = signature
    make.__doc__ = _doc_of(model, options)
    return make


def product(factors: "Sequence[Target]") -> _isinglass.Target:  # noqa: F821
    """Makes the product of continuous targets: U(x) = Σ_f U_f(x), with the gradient of the sum.

    factors: targets with equally many sites.
    """
    return _isinglass.product(list(factors))


__all__ = ["product"]
for _model in TABLES["models"]:
    if _model["name"] != "product":
        _function = _function_of(_model)
        globals()[_function.__name__] = _function
        __all__.append(_function.__name__)
del _model, _function
