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
    "ising": {"edges": "the pairs of sites that are joined, each once, [shape]; or a dict "
                       "{(i, j): J}; or a networkx graph, whose weights are J; or a "
                       "dimod.BinaryQuadraticModel of spins, whose energy is then U, so that J "
                       "and h change their signs",
              "coupling": "the couplings J of the edges, by default those that edges gives",
              "field": "the fields h, or a dict of them; 0 by default where edges is not a tensor"},
    "potts": {"coupling": "the couplings J of the edges, by default those that edges gives, or a "
                          "table for each, by the values of its first and second site",
              "field": "the fields theta"},
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
    "": {"edges": "the pairs of sites that are joined, each once, [shape]; or a dict "
                  "{(i, j): value} or a networkx graph, which also give the weights or couplings",
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
    given = _given_by_edges(model["name"]) if "edges" in tensors else ()
    own = [_parameter(name, None, f"{_type_of(model, name)} | None") if name in given
           else _parameter(name, note=_type_of(model, name))
           for name in tensors if name != "weight"]
    # Python requires parameters without a default to come first.
    own.sort(key=lambda one: one.default is None)
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


def _type_of(model, tensor):
    """Returns the annotation of a tensor."""
    if tensor == "edges":
        return "torch.Tensor | Mapping[tuple[int, int], float] | object"
    fields = model["name"] == "ising" and tensor == "field"
    return "torch.Tensor | float" + (" | Mapping[object, float]" if fields else "")


def _given_by_edges(name):
    """Returns the tensors of a model that a graph gives together with its edges."""
    return {"ising": ("coupling", "field"), "potts": ("coupling",)}.get(name, ("weight",))


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
        if "[shape]" not in meaning:
            meaning += ", [shape]"
        lines.append(f"    {name}: {meaning.replace('[shape]', shapes[name])}")
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


def _is_graph(value):
    """Returns True for a networkx graph, or anything that has its nodes and edges."""
    return all(hasattr(value, name) for name in ("nodes", "edges", "is_directed"))


def _is_model(value):
    """Returns True for a dimod.BinaryQuadraticModel, or anything that has its terms."""
    return all(hasattr(value, name) for name in ("linear", "quadratic", "offset", "vartype"))


def _weight_of(ends):
    """Returns the weight of an edge (u, v, data) of networkx, which is 1 if it has none."""
    u, v, data = ends
    try:
        return float(data.get("weight", 1))
    except (TypeError, ValueError):
        raise _isinglass.Error(f"the edge ({u!r}, {v!r}) has the weight {data['weight']!r}; a "
                               "number is needed") from None


def _graph_edges(graph):
    """Returns (sites by node, edges as pairs of sites, values): site i is the i-th node."""
    if graph.is_directed():
        raise _isinglass.Error("the graph is directed; an undirected one is needed, such as "
                               "graph.to_undirected()")
    place = {node: site for site, node in enumerate(graph.nodes)}
    ends = list(graph.edges(data=True))
    return place, [(place[u], place[v]) for u, v, _ in ends], [_weight_of(one) for one in ends]


def _mapped_edges(edges, field):
    """Returns the same for {(i, j): value}: the sites are those of the keys."""
    count, rows, columns, values, _ = _mapped_terms(edges, "edges")
    keys = list(field) if hasattr(field, "items") else []
    for key in keys:
        if not hasattr(key, "__index__") or int(key) < 0:
            raise _isinglass.Error(f"field has the key {key!r}; whole numbers from 0 are needed")
    sites = max([count, *(int(key) + 1 for key in keys)])
    return {site: site for site in range(sites)}, list(zip(rows, columns)), values


def _refuse_other_edges(name, edges):
    """Refuses `edges` that are the name of a file, or that torch cannot convert to a tensor."""
    needed = "a tensor [E, 2], a dict {(i, j): value} or a networkx graph is needed"
    if isinstance(edges, (str, os.PathLike)):
        raise _isinglass.Error(f"edges is the text {os.fspath(edges)!r}; {needed}, and "
                               f"isinglass.load({name!r}, file) reads a file")
    try:
        torch.as_tensor(edges)
    except (TypeError, ValueError, RuntimeError):
        raise _isinglass.Error(f"edges is of type {type(edges).__name__}, which torch cannot "
                               f"convert to a tensor; {needed}") from None


def _with_graph(name, said, tensors, counted):
    """Replaces `edges` that are a graph, a dict or a model of dimod by tensors."""
    edges, field = said["edges"], said.get("field")
    if _is_model(edges):
        return _with_model(name, said)
    if _is_graph(edges):
        place, pairs, values = _graph_edges(edges)
    elif hasattr(edges, "items"):
        place, pairs, values = _mapped_edges(edges, field)
    else:
        _refuse_other_edges(name, edges)
        return said
    said = dict(said)
    said["edges"] = torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2)
    value = "coupling" if "coupling" in tensors else "weight"
    if value in tensors and said.get(value) is None:
        said[value] = torch.tensor(values, dtype=torch.float64)
    if hasattr(field, "items"):
        unknown = [key for key in field if key not in place]
        if unknown:
            raise _isinglass.Error(f"field has the key {unknown[0]!r}, which is no node of the "
                                   "graph")
        said["field"] = torch.tensor([float(field.get(node, 0)) for node in place],
                                     dtype=torch.float64)
    elif name == "ising" and field is None:
        said["field"] = torch.zeros(len(place), dtype=torch.float64)
    if counted and said.get("sites") is None and place:
        said["sites"] = len(place)
    return said


def _with_model(name, said):
    """Replaces `edges` that are a dimod.BinaryQuadraticModel of spins by an Ising model's
    tensors."""
    model = said["edges"]
    kind = _kind_of(model)
    if name != "ising" or kind != "SPIN" or float(model.offset) != 0:
        reason = ("is not a graph" if name != "ising" else
                  "has binary variables" if kind != "SPIN" else "has an offset")
        raise _isinglass.Error(f"edges is a model of dimod that {reason}; models.qubo takes it")
    if said.get("coupling") is not None or said.get("field") is not None:
        raise _isinglass.Error("edges is a model of dimod, which has couplings and fields of its "
                               "own; coupling= and field= are not allowed")
    place = {variable: site for site, variable in enumerate(model.linear)}
    pairs = [(place[u], place[v]) for u, v in model.quadratic]
    return {**said, "edges": torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2),
            "coupling": torch.tensor([-float(J) for J in model.quadratic.values()],
                                     dtype=torch.float64),
            "field": torch.tensor([-float(h) for h in model.linear.values()],
                                  dtype=torch.float64)}


def _terms(Q):
    """Returns (number of variables, rows, columns, values, offset) of Q in binary variables."""
    if _is_model(Q):
        return _model_terms(Q)
    if hasattr(Q, "tocoo"):  # scipy.sparse
        matrix = Q.tocoo()
        shape, rows, columns, values = matrix.shape, matrix.row, matrix.col, matrix.data
    elif hasattr(Q, "items"):
        return _mapped_terms(Q)
    else:
        matrix = _tensor(Q).detach().cpu()
        shape = tuple(matrix.shape)
        rows, columns = matrix.nonzero().T if len(shape) == 2 else ((), ())
        values = matrix[rows, columns] if len(shape) == 2 else ()
    if len(shape) != 2 or shape[0] != shape[1]:
        raise _isinglass.Error(f"Q has the shape {list(shape)}; a square matrix is needed")
    return shape[0], rows, columns, values, 0.0


def _mapped_terms(Q, name="Q"):
    for key in Q:
        pair = isinstance(key, tuple) and len(key) == 2
        if not pair or not all(hasattr(i, "__index__") and int(i) >= 0 for i in key):
            raise _isinglass.Error(f"{name} has the key {key!r}; pairs (i, j) of whole numbers "
                                   "from 0 are needed")
    rows, columns = [int(i) for i, _ in Q], [int(j) for _, j in Q]
    return max(rows + columns, default=-1) + 1, rows, columns, list(Q.values()), 0.0


def _kind_of(model):
    """Returns SPIN or BINARY: the variables of a model of dimod."""
    kind = getattr(model.vartype, "name", str(model.vartype))
    if kind not in ("SPIN", "BINARY"):
        raise _isinglass.Error(f"the vartype is {kind}; SPIN and BINARY are allowed")
    return kind


def _model_terms(model):
    """Returns the terms of a dimod.BinaryQuadraticModel; spins become s = 2x - 1."""
    place = {variable: site for site, variable in enumerate(model.linear)}
    linear = {place[v]: float(h) for v, h in model.linear.items()}
    pairs = {(place[u], place[v]): float(J) for (u, v), J in model.quadratic.items()}
    kind = _kind_of(model)
    offset = float(model.offset)
    if kind == "SPIN":
        offset += sum(pairs.values()) - sum(linear.values())
        linear = {i: 2 * h for i, h in linear.items()}
        for (i, j), J in pairs.items():
            linear[i] -= 2 * J
            linear[j] -= 2 * J
        pairs = {pair: 4 * J for pair, J in pairs.items()}
    terms = {**{(i, i): h for i, h in linear.items()}, **pairs}
    return (len(place), [i for i, _ in terms], [j for _, j in terms], list(terms.values()), offset)


def qubo(Q: "Mapping | torch.Tensor", *, offset: float = 0.0,  # noqa: F821
         sites: "int | None" = None,
         device: "str | torch.device | None" = None) -> _isinglass.Target:
    """U(x) = offset + sum_ij Q_ij x_i x_j

    A quadratic function of binary variables. Q counts as it is given: a symmetric matrix has every
    pair twice, and an upper triangular one has it once. States: binary.

    Args:
        Q: a dict {(i, j): value}, a matrix [D, D] of NumPy, PyTorch or scipy.sparse, or a
            dimod.BinaryQuadraticModel, whose offset is added and whose spins s are 2x - 1. Site i
            is then the i-th of its variables.
        offset: what is added to all energies (default 0)
        sites: the number of variables of a dict (default: the largest that it names, plus one)
        device: cpu, cuda or cuda:N (default: the CPU)

    Returns:
        the target, on the device.
    """
    count, rows, columns, values, own_offset = _terms(Q)
    if sites is not None:
        if sites < count:
            raise _isinglass.Error(f"sites is {sites}, but Q has {count} variables")
        count = sites
    rows = torch.as_tensor(rows, dtype=torch.int64).reshape(-1)
    columns = torch.as_tensor(columns, dtype=torch.int64).reshape(-1)
    values = torch.as_tensor(values, dtype=torch.float64).reshape(-1).cpu()
    own = rows == columns
    tensors = {"linear": torch.zeros(count, dtype=torch.float64).index_add_(0, rows[own],
                                                                            values[own]),
               "edges": torch.stack([rows[~own], columns[~own]], 1), "weight": values[~own],
               "offset": torch.tensor(float(offset) + own_offset, dtype=torch.float64)}
    return _isinglass.load("qubo", tensors, {}, False, None if device is None else str(device))


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
        if "edges" in said:
            said = _with_graph(name, said, tensors, "sites" in signature.parameters)
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


__all__ = ["product", "qubo", "residual"]
for _model in TABLES["models"]:
    if _model["name"] not in __all__:
        _function = _function_of(_model)
        globals()[_function.__name__] = _function
        __all__.append(_function.__name__)
del _model, _function
