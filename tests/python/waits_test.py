"""How OpenMP's threads wait: briefly, unless the user has chosen otherwise, in the program and in
Python. OMP_DISPLAY_ENV makes GNU's library print the settings that it has read.
"""
import os
import re
import subprocess
import sys

import isinglass as ig

PROGRAM = os.path.join(os.path.dirname(os.path.realpath(ig._isinglass.__file__)), "bin",
                       "isinglass")
WAITS = ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")


def settings(command, **variables):
    """Returns the wait settings that a process has read, and its output."""
    environment = {name: value for name, value in os.environ.items() if name not in WAITS}
    environment |= {"OMP_DISPLAY_ENV": "verbose"} | variables
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {name: re.findall(name + r" = '(.*)'", done.stderr) for name in WAITS}, done.stdout


def test_the_program_waits_briefly_unless_told_otherwise():
    command = [PROGRAM, "--version"]
    told, text = settings(command)
    assert told["GOMP_SPINCOUNT"] == ["1000"]
    assert text.startswith("isinglass ")
    assert settings(command, GOMP_SPINCOUNT="77")[0]["GOMP_SPINCOUNT"] == ["77"]
    told, _ = settings(command, OMP_WAIT_POLICY="active")
    assert told["OMP_WAIT_POLICY"] == ["ACTIVE"] and told["GOMP_SPINCOUNT"] != ["1000"]


def test_a_failure_of_the_program_keeps_its_code():
    environment = {name: value for name, value in os.environ.items() if name not in WAITS}
    assert (subprocess.run([PROGRAM, "sampel"], env=environment, capture_output=True,
                           check=False).returncode == 2)


def test_python_waits_briefly_where_the_package_imports_torch():
    look = "import os; print(os.environ.get('GOMP_SPINCOUNT'))"
    told, text = settings([sys.executable, "-c", f"import isinglass; {look}"])
    assert told["GOMP_SPINCOUNT"] == ["1000"]
    assert text == "None\n"  # other processes started from here have the user's setting
    told, text = settings([sys.executable, "-c", f"import isinglass; {look}"], GOMP_SPINCOUNT="77")
    assert told["GOMP_SPINCOUNT"] == ["77"]
    assert text == "77\n"
    told, text = settings([sys.executable, "-c", f"import torch, isinglass; {look}"])
    assert told["GOMP_SPINCOUNT"] != ["1000"]
    assert text == "None\n"
