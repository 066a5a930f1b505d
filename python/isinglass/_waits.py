"""Imports torch so that OpenMP's threads sleep soon where they wait for one another.

GNU's OpenMP reads GOMP_SPINCOUNT once, when torch loads it. By default its threads spin for
milliseconds, which holds cores that other processes need (cli/short_waits.cpp does the same for the
program). Sets nothing where torch has been imported before, or where the user has chosen.
"""
import os
import sys

if ("torch" in sys.modules or
        any(name in os.environ for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"))):
    import torch
else:
    os.environ["GOMP_SPINCOUNT"] = "1000"
    try:
        import torch
    finally:
        del os.environ["GOMP_SPINCOUNT"]

__all__ = ["torch"]
