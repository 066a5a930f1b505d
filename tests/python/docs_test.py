"""The Python of the README, of the guide and of the reference runs; the generated pages and the
stubs match the package.
"""
import ast
import doctest
import inspect
import re
import subprocess
import sys

import pytest

import isinglass as ig
from conftest import ROOT

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
GUIDE = ["README.md", "docs/guide/python.md", "docs/guide/many-gpus.md",
         "docs/guide/coming-from.md", "docs/guide/conditioning.md",
         "docs/guide/combinatorial-problems.md"]
REFERENCE = [str(page.relative_to(ROOT))
             for page in sorted((ROOT / "docs/reference/python").glob("*.md"))
             if BLOCK.search(page.read_text(encoding="utf-8"))]
EXAMPLES = {name: getattr(ig, name)
            for name in ig.__all__ if ">>>" in (inspect.getdoc(getattr(ig, name)) or "")}


@pytest.mark.parametrize("page", GUIDE + REFERENCE)
def test_python_of_the_page(page, tmp_path, monkeypatch):
    blocks = BLOCK.findall((ROOT / page).read_text(encoding="utf-8"))
    assert blocks
    if any("dimod" in block for block in blocks):
        pytest.importorskip("dimod")
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_of_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    test = doctest.DocTestParser().get_doctest(inspect.getdoc(EXAMPLES[name]), {}, name, None, 0)
    assert test.examples
    result = doctest.DocTestRunner(verbose=False).run(test)
    assert result.failed == 0


def test_generated_files():
    """Covers all but the page of isinglass.dimod where dimod is not installed."""
    subprocess.run([sys.executable, "-B", ROOT / "scripts/pages/python_pages.py", "--check"],
                   check=True)


def test_pages_of_the_reference_are_complete():
    pages = {page.name: page.read_text(encoding="utf-8")
             for page in (ROOT / "docs/reference/python").glob("*.md")}
    assert ({f"docs/reference/python/{name}" for name in pages if name != "index.md"} ==
            set(REFERENCE))
    for name, text in pages.items():
        assert not [row for row in text.splitlines() if row.startswith("|") and
                    row.endswith("|  |")], name
        assert max(len(row) for row in text.splitlines() if not row.startswith("|")) <= 100, name


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
