"""A type checker knows the package by its stubs. They are strictly correct themselves, accept what
people write and refuse what is wrong. Torch's own types, which take a minute, are left out: its
classes are Any.
"""
import os
import re
import subprocess
import sys

import pytest

import isinglass as ig
from conftest import ROOT

pytest.importorskip("mypy")
SETTINGS = """[mypy]
strict = True
[mypy-torch.*,arviz.*,pandas.*,xarray.*]
follow_imports = skip
follow_imports_for_stubs = True
ignore_missing_imports = True
"""
RIGHT = """
import threading
from typing import Any, assert_type

import torch

import isinglass as ig

target = ig.energy(lambda x: x.sum(1), sites=3)
assert_type(target, ig.Target)
run = ig.sample(target, "pafs", radius=2, rungs=3, chains=4, burn_in=2, steps=10, data="bars.pt")
assert_type(run, ig.Run)
run = ig.sample(target, "gwg", steps=9, callback=lambda n: n["step"] > 3, stop=threading.Event())
assert_type(run.summary, dict[str, Any])
sampler = ig.samplers.pafs(radius=2.5)
state = sampler.init(target, torch.zeros(4, 3, dtype=torch.uint8), seed=1)
assert_type(state, ig.State)
info: ig.Info = sampler.step(target, state)
energy, gradient = target.energy_and_grad(state.x)
slots, x = ig.ReplayBuffer(10, mean=torch.rand(3), seed=0).draw(5)
fit = ig.train("rbm", {"train": x}, hidden=3, callback=lambda m: print(m["iteration"]),
               image=(1, 3))
assert_type(fit.metrics, list[dict[str, float]])
found = ig.evaluate(target, x, sampler=sampler, chains=2)
print(found.log_z, ig.ablate(targets={"mine": target},
                             samplers=["gwg", {"sampler": "pafs"}, sampler]).frame)
grid = ig.models.ising(edges=x, coupling=x, field=x)
assert_type(grid, ig.Target)
"""
WRONG = {
    'ig.sample(target, "gwg", stepss=3)': "call-arg",
    'ig.sample(target, "gwg", steps="many")': "arg-type",
    'ig.sample(target, "gwg", steps=3, stop=3)': "arg-type",
    'ig.energy(3, sites=3)': "arg-type",
    'ig.energy(abs)': "call-arg",
    'ig.sampler("gwg").walk(target)': "attr-defined",
    'ig.models.ising(coupling=1)': "call-arg",
    'ig.Target.energy(target)': "call-arg",
}


def complaints(folder, text):
    """Returns (line, code) of mypy's errors in a module of this text, and in the package's
    stubs."""
    (folder / "mypy.ini").write_text(SETTINGS)
    (folder / "module.py").write_text(text)
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "module.py"],
                          cwd=folder, text=True,
                          env={**os.environ,
                               "MYPYPATH": os.path.dirname(os.path.dirname(ig.__file__))},
                          capture_output=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert ".pyi" not in done.stdout, done.stdout
    return [(int(line), code)
            for line, code in re.findall(r"^module\.py:(\d+): error: .*\[([a-z-]+)\]$", done.stdout,
                                        re.MULTILINE)], done.stdout


def test_what_is_right(tmp_path):
    found, text = complaints(tmp_path, RIGHT)
    assert not found, text


def test_what_is_wrong(tmp_path):
    head = "import isinglass as ig\ntarget = ig.instance('bernoulli')\n"
    found, text = complaints(tmp_path, head + "\n".join(WRONG) + "\n")
    assert dict(found) == dict(enumerate(WRONG.values(), 3)), text


@pytest.mark.parametrize("page", ["README.md", "docs/guide/python.md"])
def test_pages(page, tmp_path):
    """Covers all but the attribute that a KeyboardInterrupt carries, which Python's class does not
    have.
    """
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"),
                        re.MULTILINE | re.DOTALL)
    found, text = complaints(tmp_path, "\n".join(blocks))
    assert len(found) == text.count('"KeyboardInterrupt" has no attribute'), text
