"""Targets from callables, files and standard instances."""
import contextlib
import functools
import inspect
import os
from collections.abc import Callable

import torch

from . import _isinglass
from ._tables import TABLES, options_text, parameters, texts_of

_LEFT_OUT = ("model", "weights", "states", "factors")


def module_of(function):
    """Returns the torch.nn.Module that a callable is, or whose method or functools.partial it is;
    None without one."""
    while isinstance(function, functools.partial):
        function = function.func
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
           categories: "int | None" = None, states: "str | None" = None, name: "str | None" = None,
           device: "str | torch.device | None" = None) -> _isinglass.Target:
    """Makes a target from any callable U that maps float32 [B, D] to energies [B], float32 or
    float64.

    function: a torch.nn.Module or a function. For categorical sites its input is one-hot [B, D, K].
        Its gradient comes from autograd. A module keeps its mode, train or eval. The callable may
        change between calls, and chains notice. If it is a module's method or a functools.partial
        of one, ig.train trains the module. Exceptions of the callable are passed on unchanged.
    sites: the number of sites, D.
    categories: the number of values K of categorical or ordered sites, 2 to 256.
    states: binary (the default), categorical (the default with categories), ordered, continuous or
        permutation.
    name: its name in errors and summaries; by default the callable's own name.
    device: the device of the chains; by default that of the module's parameters, else the CPU.

    Energies are computed in float32 or better: TF32 and autocast are off while samplers call it.

    >>> import torch, isinglass as ig
    >>> field = torch.tensor([0.5, -1.0, 2.0])
    >>> ig.energy(lambda x: x @ field, sites=3, name="field")
    <isinglass.Target field: 3 binary sites, on cpu>
    """
    if not callable(function):
        raise _isinglass.Error(f"the energy is {function!r}; a callable is needed")
    for name_of, whole in (("sites", sites), ("categories", categories)):
        if whole is not None and (isinstance(whole, bool) or not hasattr(whole, "__index__")):
            raise _isinglass.Error(f"{name_of}= is {whole!r}; a whole number is needed")
    device = torch.device(device) if device is not None else _device_of(function)
    if device.type not in ("cpu", "cuda"):
        raise _isinglass.Error(f"the energy is on {device}; cpu or cuda is needed")
    if states is None:
        states = "binary" if categories is None else "categorical"
    if states in ("categorical", "ordered") and categories is None:
        raise _isinglass.Error(f"categories= is needed: states= is {states}")
    if states in ("binary", "continuous", "permutation") and categories not in (None, 2):
        raise _isinglass.Error(f"categories= is {categories}, but states= is {states}")
    if name is None:
        name = getattr(function, "__name__", None) or type(function).__name__
        if isinstance(function, functools.partial):
            name = getattr(function.func, "__name__", None) or type(function.func).__name__
    return _isinglass.callable(function, name, states, sites, categories or 2, str(device))


@contextlib.contextmanager
def _buffers_as_they_were(module):
    """Restores a module's buffers on exit. Modules such as normalisation layers write or replace
    them at every call."""
    if not isinstance(module, torch.nn.Module):
        yield
        return
    before = [(part, name, buffer, buffer.detach().clone()) for part in module.modules()
              for name, buffer in part._buffers.items()
              if buffer is not None and not buffer.is_inference()]
    try:
        yield
    finally:
        for part, name, buffer, values in before:
            part._buffers[name] = buffer
            if not torch.equal(buffer, values):
                # Values are compared, as normalisation layers write without counting a version.
                with torch.no_grad():
                    buffer.copy_(values)


def energies_twice(function, x):
    """Returns the energies of the states x from two calls, float64 [2, N]; None if they cannot be
    computed. A compiled function is called uncompiled, so that nothing is compiled for these
    states."""
    function = getattr(function, "_torchdynamo_orig_callable",
                       getattr(function, "_orig_mod", function))
    holder = getattr(function, "__self__", function)
    devices = [x.device] if x.is_cuda else []
    with torch.random.fork_rng(devices), torch.no_grad(), _buffers_as_they_were(holder):
        try:
            return torch.stack([function(x.clone()).detach().double().reshape(len(x))
                                for _ in range(2)])
        except Exception:  # the module need not support this; sampling reports the reason
            return None


def load(model, weights, *, continuous=False, device="cpu", **options):
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

    model: the model's name; isinglass.models lists them.
    weights: the file (.pt), as training and torch.save write it. The file of a `script` model is a
        program that is executed: load only files that you trust.
    continuous: the states of an mlp or script are continuous, which its file does not determine.
    device: cpu, cuda or cuda:N.
{options_text("target", _LEFT_OUT)}
"""


def instance(text: str, *, images: "torch.Tensor | None" = None,
             labels: "torch.Tensor | None" = None,
             device: "str | torch.device" = "cpu") -> _isinglass.Target:
    return _isinglass.instance(text, images, labels, str(device))


instance.__doc__ = f"""\
Makes a standard target of the papers by name, without a file: NAME or NAME:KEY=X,KEY=X.

    text: the name and its numbers, such as "ising-grid:side=50,coupling=0.43". All take seed=.
    images, labels: for instances that are made from images: real numbers from 0 to 1 [N, D], and
        their classes, int64 [N].
    device: cpu, cuda or cuda:N.

    Known: {TABLES['instances']}.
"""
