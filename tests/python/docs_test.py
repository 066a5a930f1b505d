"""The Python of the README and of the guide runs; the generated page and the stubs match the
package.
"""
import ast
import doctest
import re
import subprocess
import sys

import pytest

import isinglass as ig
from conftest import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", ["README.md", "docs/guide/python.md", "docs/guide/many-gpus.md",
                                  "docs/guide/coming-from.md"])
def test_python_of_the_page(page, tmp_path, monkeypatch):
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("function", [ig.energy, ig.sampler, ig.sample, ig.evaluate],
                         ids=lambda f: f.__name__)
def test_examples_of_docstrings(function):
    finder = doctest.DocTestParser()
    test = finder.get_doctest(function.__doc__, {}, function.__name__, None, 0)
    assert test.examples
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.failed == 0


def test_generated_files():
    subprocess.run([sys.executable, "-B", ROOT / "scripts/pages/python_pages.py", "--check"],
                   check=True)


def test_stubs_are_complete():
    tree = ast.parse((ROOT / "python/isinglass/__init__.pyi").read_text(encoding="utf-8"))
    named = {node.name: node
             for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert set(ig.__all__) - {"models", "samplers"} <= set(named)
    for name, node in named.items():
        if isinstance(node, ast.ClassDef) and name not in ("Error", "NumericalError"):
            known = {child.name for child in node.body if isinstance(child, ast.FunctionDef)}
            known |= {child.target.id for child in node.body if isinstance(child, ast.AnnAssign)}
            assert ({member for member in vars(getattr(ig, name)) if not member.startswith("_")} <=
                    known), name
    for module in ("models", "samplers"):
        tree = ast.parse((ROOT / f"python/isinglass/{module}.pyi").read_text(encoding="utf-8"))
        assert {node.name for node in tree.body if isinstance(node, ast.FunctionDef)} == set(
            getattr(ig, module).__all__)
    assert (ROOT / "python/isinglass/py.typed").exists()
