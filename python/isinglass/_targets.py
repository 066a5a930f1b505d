"""Targets from callables, files and standard instances."""
import contextlib
import functools
import inspect
import os
from collections.abc import Callable

import torch

from . import _isinglass
from ._tables import TABLES, options_text, parameters, refuse_unknown, texts_of

_LEFT_OUT = ("model", "instance", "weights", "states", "factors")


def module_of(function):
    """Returns the torch.nn.Module that a callable is, or whose method or functools.partial it is,
    compiled or not; None without one."""
    while not isinstance(function, torch.nn.Module):
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "_torchdynamo_orig_callable"):
            function = function._torchdynamo_orig_callable
        else:
            break
    owner = (function if isinstance(function, torch.nn.Module)
             else getattr(function, "__self__", None))
    return owner if isinstance(owner, torch.nn.Module) else None


def _device_of(function):
    """Returns the device of a module's parameters; the CPU for anything else."""
    module = module_of(function)
    for parameter in module.parameters() if module is not None else ():
        return parameter.device
    return torch.device("cpu")


def energy(function: "Callable[[torch.Tensor], torch.Tensor]", *, sites: int,
           categories: "int | None" = None, states: "str | None" = None,
           bounds: "tuple[float, float] | None" = None, name: "str | None" = None,
           device: "str | torch.device | None" = None) -> _isinglass.Target:
    """Makes a target from any callable U that maps states to energies.

    Energies are computed in float32 or better: TF32 and autocast are off while samplers call it.
    The callable may change between calls, and chains notice. Exceptions of the callable are passed
    on unchanged.

    Args:
        function: a torch.nn.Module or a function that maps float32 [B, D], or one-hot [B, D, K] for
            categorical sites, to energies [B], float32 or float64, in nats. Its gradient comes from
            autograd. A module keeps its mode, train or eval. If it is a module's method or a
            functools.partial of one, ig.train trains the module.
        sites: the number of sites D, at least 1.
        categories: the number of values K of categorical or ordered sites, 2 to 256.
        states: binary (the default), categorical (the default with categories), continuous (the
            default with bounds), ordered or permutation.
        bounds: the interval (low, high) in which continuous sites are kept; the callable is never
            called outside.
        name: its name in errors and summaries; by default the callable's own name.
        device: the device of the chains, cpu, cuda or cuda:N; by default that of the module's
            parameters, else the CPU.

    Returns:
        the target, whose attribute `callable` is the function.

    Raises:
        Error: if the function cannot be called, or a number or name is not allowed. What the
            callable returns is checked when it is called: its shape [B], its type, and that its
            first values are finite.

    Example:
        >>> import torch, isinglass as ig
        >>> field = torch.tensor([0.5, -1.0, 2.0])
        >>> target = ig.energy(lambda x: x @ field, sites=3, name="field")
        >>> target
        <isinglass.Target field: 3 binary sites, on cpu>
        >>> target.energy(torch.tensor([[1, 0, 1]], dtype=torch.uint8))
        tensor([2.5000])
    """
    if not callable(function):
        raise _isinglass.Error(f"the energy is {function!r}; a callable is needed")
    for name_of, whole in (("sites", sites), ("categories", categories)):
        if whole is not None and (isinstance(whole, bool) or not hasattr(whole, "__index__")):
            raise _isinglass.Error(f"{name_of}= is {whole!r}; a whole number is needed")
    try:
        device = torch.device(device) if device is not None else _device_of(function)
    except RuntimeError:
        raise _isinglass.Error(f"device= is {device!r}; cpu, cuda or cuda:N is needed") from None
    if device.type not in ("cpu", "cuda"):
        raise _isinglass.Error(f"the energy is on {device}; cpu or cuda is needed")
    if states is None:
        states = ("categorical" if categories is not None
                  else "binary" if bounds is None else "continuous")
    if states in ("categorical", "ordered") and categories is None:
        raise _isinglass.Error(f"categories= is needed: states= is {states}")
    if states in ("binary", "continuous", "permutation") and categories not in (None, 2):
        raise _isinglass.Error(f"categories= is {categories}, but states= is {states}")
    if name is None:
        name = getattr(function, "__name__", None) or type(function).__name__
        if isinstance(function, functools.partial):
            name = getattr(function.func, "__name__", None) or type(function.func).__name__
    if bounds is not None:
        try:
            low, high = map(float, bounds)
        except (TypeError, ValueError):
            raise _isinglass.Error(f"bounds= is {bounds!r}; a pair of numbers is needed, such as "
                                   "(0, 1)") from None
        bounds = low, high
    return _isinglass.callable(function, name, states, sites, categories or 2, str(device), bounds)


@contextlib.contextmanager
def _buffers_as_they_were(module):
    """Restores a module's buffers on exit. Modules such as normalisation layers write or replace
    them at every call."""
    if not isinstance(module, torch.nn.Module):
        yield
        return
    before = [(part, name, buffer, buffer.detach().clone()) for part in module.modules()
              for name, buffer in part._buffers.items() if buffer is not None and
              not buffer.is_inference()]
    try:
        yield
    finally:
        for part, name, buffer, values in before:
            part._buffers[name] = buffer
            if not torch.equal(buffer, values):
                # Values are compared, as normalisation layers write without counting a version.
                with torch.no_grad():
                    buffer.copy_(values)


@contextlib.contextmanager
def _undisturbed(target):
    """Restores torch's random numbers and the buffers of a target's module on exit."""
    devices = [target.device] if target.device.type == "cuda" else []
    with torch.random.fork_rng(devices), _buffers_as_they_were(module_of(target.callable)):
        yield


def inexactness(target):
    """Returns a sentence if a target's energies are not a function of each state alone; empty if
    they are. Nothing that the target holds changes."""
    with _undisturbed(target):
        return _isinglass.inexactness(target)


def lacks_gradient(target):
    """Returns True if a callable computes energies of discrete states but no gradient of them.
    Nothing that the target holds changes."""
    if not isinstance(target, _isinglass.Target):
        return False
    function = target.callable
    module = module_of(function)
    compiled = any(hasattr(function, name) for name in ("_torchdynamo_orig_callable", "_orig_mod"))
    lazy = module is not None and any(map(torch.nn.parameter.is_lazy,
                                          [*module.parameters(), *module.buffers()]))
    if (function is None or compiled or lazy or
            target.states not in ("binary", "categorical", "ordered")):
        return False
    with _undisturbed(target):
        x = target.random_states(2)
        try:
            with torch.no_grad():
                target.energy(x)
        except Exception:  # sampling reports the reason
            return False
        try:
            target.energy_and_grad(x)
        except Exception:
            return True
    return False


def energies_twice(function, x):
    """Returns the energies of the states x from two calls, float64 [2, N]; None if they cannot be
    computed. A compiled function is called uncompiled, so that nothing is compiled for these
    states."""
    function = getattr(function, "_torchdynamo_orig_callable",
                       getattr(function, "_orig_mod", function))
    holder = getattr(function, "__self__", function)
    with torch.random.fork_rng([x.device] if x.is_cuda
                               else []), torch.no_grad(), _buffers_as_they_were(holder):
        try:
            return torch.stack([function(x.clone()).detach().double().reshape(len(x))
                                for _ in range(2)])
        except Exception:  # the module need not support this; sampling reports the reason
            return None


def load(model, weights, *, continuous=False, device="cpu", **options):
    refuse_unknown(load, options)
    file = os.fspath(weights)
    return _isinglass.load(model, {}, {"weights": file, **texts_of(options)}, continuous,
                           str(device))


load.__signature__ = inspect.Signature(
    [inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation="str"),
     inspect.Parameter("weights", inspect.Parameter.POSITIONAL_OR_KEYWORD,
                       annotation="str | os.PathLike"),
     inspect.Parameter("continuous", inspect.Parameter.KEYWORD_ONLY, default=False,
                       annotation="bool"),
     inspect.Parameter("device", inspect.Parameter.KEYWORD_ONLY, default="cpu",
                       annotation="str | torch.device"),
     *parameters("target", _LEFT_OUT)], return_annotation="Target")
load.__doc__ = f"""Loads a model of the registry with the parameters of a file.

The file may also be one of a wrapped module, or a checkpoint that holds one state dict beside other
things.

Args:
    model: the model's name; isinglass.models lists them.
    weights: the file (.pt), as training and torch.save write it. The file of a `script` model is a
        program that is executed: load only files that you trust.
    continuous: True if the states of an mlp or script are continuous, which its file does not
        determine.
    device: cpu, cuda or cuda:N.
{options_text("target", _LEFT_OUT)}

Returns:
    the target, on the device.

Raises:
    Error: if the model is unknown, the file cannot be read, or a tensor is missing, superfluous,
        misshapen or not finite.

Example:
    >>> import torch, isinglass as ig
    >>> torch.save({{"theta": torch.zeros(10)}}, "theta.pt")
    >>> ig.load("bernoulli", "theta.pt")
    <isinglass.Target bernoulli: 10 binary sites, on cpu>
"""


def instance(text: str, *, images: "torch.Tensor | None" = None,
             labels: "torch.Tensor | None" = None,
             device: "str | torch.device" = "cpu") -> _isinglass.Target:
    return _isinglass.instance(text, images, labels, str(device))


instance.__doc__ = f"""\
Makes a standard target of the papers by name, without a file: NAME or NAME:KEY=X,KEY=X.

Known: {TABLES['instances']}.

Args:
    text: the name and its numbers, such as "ising-grid:side=50,coupling=0.43". All take seed=.
    images: real numbers from 0 to 1 [N, D], for instances that are made from images.
    labels: the classes of the images, int64 [N].
    device: cpu, cuda or cuda:N.

Returns:
    the target, on the device.

Raises:
    Error: if the name or a key is unknown, a number is not allowed, or images or labels are needed
        and not given.

Example:
    >>> import isinglass as ig
    >>> ig.instance("ising-grid:side=4,coupling=0.3")
    <isinglass.Target ising: 16 binary sites, on cpu>
"""
