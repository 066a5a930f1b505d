"""The torch that the package was built with, and the one that is here."""
from ._built import TORCH
from ._waits import torch


def other_torch(built=TORCH, here=torch.__version__, loaded=True):
    """Why the extension module does not go with this torch; empty where it does. Torch's libraries have one ABI a minor
    version, and may load in spite of another. Where the module has not loaded, a build of the same version for something
    else counts, too: one for the CPU lacks the libraries of one for CUDA."""
    (built_number, _, built_for), (number, _, made_for) = built.partition("+"), str(here).partition("+")
    same = built_number.split(".")[:2] == number.split(".")[:2]
    if not loaded:
        same = built_number == number and built_for in ("", made_for)
    if same:
        return ""
    return (f"isinglass was built with torch {built}, and this is torch {here}: install it again "
            "(pip install . --no-build-isolation)")
