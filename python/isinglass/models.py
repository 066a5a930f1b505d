"""Makes the models of the registry from tensors, a function per model: ising(edges=…, coupling=…,
field=…).

Tensors are checked like those of parameter files. float64 stays float64 except in networks, which
compute in float32. The target is on the tensors' device. Neural networks take a state dict;
Bayesian networks and TorchScript models take a file.

B is the number of states, D the number of sites, K the number of values of a site, and E the number
of edges. Energies are in nats.

Raises:
    Error: if an argument is missing, or a tensor has another shape or type or holds a number that
        is not allowed.

Example:
    >>> import torch, isinglass as ig
    >>> edges = torch.tensor([[0, 1], [1, 2], [2, 0]])
    >>> ring = ig.models.ising(edges=edges, coupling=torch.full((3,), 0.5), field=torch.zeros(3))
    >>> ring.energy(torch.tensor([[0, 0, 0], [0, 0, 1]], dtype=torch.uint8)).tolist()
    [-1.5, 0.5]
    >>> ig.models.gaussian(mean=torch.zeros(2), precision=torch.eye(2))
    <isinglass.Target gaussian: 2 continuous sites, on cpu>
"""
import inspect
import os
import re

import torch

from . import _isinglass
from ._tables import TABLES, described, spelled, texts_of
from ._targets import energy

_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_FIRST = inspect.Parameter.POSITIONAL_OR_KEYWORD
_FILES = ("bayesnet", "script")
# These are options that a model's tensors do not determine, in addition to `sites` of the models
# whose description asks for it.
_MORE = {"maxcut": ["sites"], "mis": ["sites", "penalty"], "maxclique": ["sites", "penalty"],
         "mlp": ["categories", "class_"], "resnet": ["image"],
         "script": ["sites", "categories", "class_"]}

# The meaning of every tensor, by model or for all models; its shape comes from the registry.
_MEANINGS = {
    "bernoulli": {"theta": "the energy of the value 1 of every site"},
    "categorical": {"theta": "the energy of every value of every site"},
    "ising": {"coupling": "the couplings J of the edges", "field": "the fields h"},
    "potts": {"coupling": "the couplings J of the edges", "field": "the fields theta"},
    "rbm": {"W": "the weights of H hidden units", "b_v": "the biases of the visible units",
            "b_h": "the biases of the hidden units"},
    "fhmm": {"y": "the observations at L times",
             "W": "what each of n values of each of M chains adds to the mean",
             "b": "the offset of the mean",
             "sigma": "the standard deviation of the observations, above 0",
             "p_init": "the probability that a chain starts at the value 0, inside (0, 1)",
             "p_stay": "the probability that a chain keeps its value from one time to the "
                       "next, inside (0, 1)"},
    "logistic": {"X": "the inputs of M observations", "y": "the outcomes, 0 or 1"},
    "lattice-gaussian": {"mean": "the mean b"},
    "quartic-mixture": {"centers": "the centres b_c of C components", "scale": "the widths s",
                        "rotation": "the rotation R"},
    "parity": {"u": "the energy of an odd sum"},
    "permutation": {"w": "the energy w_{i,j} of rho(i) = j, for p elements"},
    "gaussian-mixture": {"weights": "the weights of C components", "means": "their means",
                         "precision": "their precisions"},
    "": {"edges": "the pairs of sites that are joined, each once",
         "weight": "the weights of the edges", "mean": "the mean", "precision": "the precision"}}


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


def _shapes(model):
    """Returns what the registry says of each tensor: {"edges": "int64 [E,2]"}. A second form
    follows a semicolon."""
    if model["parameters"].startswith("a graph"):
        return {"edges": "int64 [E,2]", "weight": "[E] (default: 1 each)"}
    first, _, other = model["parameters"].partition("; ")
    shapes = dict(part.split(" ", 1) for part in first.split(", "))
    if other.startswith("categorical: "):
        for part in other.removeprefix("categorical: ").split(", "):
            name, shape = part.split(" ", 1)
            shapes[name] += f", or {shape} of a categorical model"
    return {name: shape.replace("[]", "a number") for name, shape in shapes.items()}


def _doc_of(model, tensors, options):
    names = {option["name"]: option["python"] for option in TABLES["target"]}
    states = re.sub(r" \(`\w+`\)", "", model["states"])
    lines = [f"U(x) = {spelled(model['energy'], names)}", "", f"States: {states}.", "", "Args:"]
    file = spelled(model["parameters"].partition("; and")[0], names)
    if model["name"] in _FILES:
        lines.append(f"    file: {file}")
    elif not tensors:
        lines.append(f"    state: the state dict, or the module that has it: {file}")
    shapes = _shapes(model) if tensors else {}
    own_meanings = _MEANINGS.get(model["name"], {})
    for name in tensors:
        meaning = own_meanings.get(name) or _MEANINGS[""][name]
        lines.append(f"    {name}: {meaning}, {shapes[name]}")
    lines += [f"    {option['python']}: {described(option, names)}" for option in options]
    if model["any_continuous"]:
        lines.append("    continuous: True if the states are continuous (default False)")
    own = "the CPU" if model["name"] in _FILES else "the tensors' own"
    lines += [f"    device: cpu, cuda or cuda:N (default: {own})", "", "Returns:",
              "    the target, on the device."]
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
    make.__doc__ = _doc_of(model, tensors, options)
    return make


def product(factors: "Sequence[Target]") -> _isinglass.Target:  # noqa: F821
    """U(x) = sum_f U_f(x)

    The product of the factors' distributions, with the sum of their gradients. States: continuous.

    Args:
        factors: continuous targets with equally many sites.

    Returns:
        the target, on the device of the first factor.
    """
    return _isinglass.product(list(factors))


def residual(base: "Target",  # noqa: F821
             network: "Target | torch.nn.Module",  # noqa: F821
             *, bound: float = 16.0, log_z: "float | None" = None,
             log_z_error: float = 0.0) -> _isinglass.Target:
    """U(x) = U_base(x) + c tanh(f(x) / c), c = bound

    A network f corrects a base, and samplers also move by the base.

    Args:
        base: a target whose log Z is known or measured, such as an RBM.
        network: f, a torch.nn.Module that maps float32 [B, D], or one-hot [B, D, K], to [B], or a
            target of the same states, such as models.resnet(...). `train` trains its parameters,
            and those of the base if the base is a module.
        bound: the largest number of nats by which the network changes an energy; with 0 there is
            no bound, and the energy is U_base(x) + f(x).
        log_z: log Z of the base, if it is known; it is computed for bernoulli and categorical.
        log_z_error: the standard error of log_z.

    Returns:
        the target, on the device of the base.

    Raises:
        Error: if base and network have different states or devices, or the bound is negative.

    Example:
        >>> import torch, isinglass as ig
        >>> base = ig.models.bernoulli(theta=torch.tensor([0.5, -1.0, 2.0]))
        >>> network = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0))
        >>> ig.models.residual(base, network, bound=8)
        <isinglass.Target residual: 3 binary sites, on cpu>
    """
    if not isinstance(base, _isinglass.Target):
        raise _isinglass.Error(f"the base is a {type(base).__name__}, but must be a target")
    if not isinstance(network, _isinglass.Target):
        categories = base.categories if base.states in ("categorical", "ordered") else None
        network = energy(network, sites=base.sites, categories=categories, states=base.states,
                         device=str(base.device))
    return _isinglass.residual(base, network, bound, log_z, log_z_error)


__all__ = ["product", "residual"]
for _model in TABLES["models"]:
    if _model["name"] not in __all__:
        _function = _function_of(_model)
        globals()[_function.__name__] = _function
        __all__.append(_function.__name__)
del _model, _function
