"""Compares the torch that the package was built with and the installed one."""
from ._built import TORCH
from ._waits import torch


def other_torch(built=TORCH, here=torch.__version__, loaded=True):
    """Returns why the extension module does not fit this torch; an empty string if it does. Torch's
    libraries have one ABI per minor version, and may load in spite of a different one. If the
    module has not loaded, a build of the same version for another device is a reason, too: a CPU
    build lacks the libraries of a CUDA build."""
    built_number, _, built_for = built.partition("+")
    number, _, made_for = str(here).partition("+")
    same = built_number.split(".")[:2] == number.split(".")[:2]
    if not loaded:
        same = built_number == number and built_for in ("", made_for)
    if same:
        return ""
    return (f"isinglass was built with torch {built}, but torch {here} is "
            "installed: build it again (pip install . --no-build-isolation)")
