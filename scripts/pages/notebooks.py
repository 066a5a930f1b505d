#!/usr/bin/env python3
"""Makes the notebooks of examples/notebooks/ from their texts: each NAME.md there, whose ```python
blocks are the code cells and whose rest is the text.

    scripts/pages/notebooks.py [--check]

A test executes the notebooks. With --check nothing is written, and the exit code is 1 unless they
hold this already.
"""
import json
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "examples/notebooks"
CODE = re.compile(r"^```python\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def lines(text):
    return text.strip("\n").splitlines(keepends=True)


def notebook(text):
    cells = []
    for number, part in enumerate(CODE.split(text)):
        if not part.strip():
            continue
        cell = {"cell_type": "code" if number % 2 else "markdown", "id": f"cell-{number}",
                "metadata": {}, "source": lines(part)}
        if number % 2:
            cell.update(execution_count=None, outputs=[])
        cells.append(cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return json.dumps({"cells": cells,
                       "metadata": {"kernelspec": kernel, "language_info": {"name": "python"}},
                       "nbformat": 4, "nbformat_minor": 5}, indent=1, ensure_ascii=False) + "\n"


def main():
    stale = []
    for source in sorted(FOLDER.glob("*.md")):
        file, made = source.with_suffix(".ipynb"), notebook(source.read_text(encoding="utf-8"))
        if not file.exists() or file.read_text(encoding="utf-8") != made:
            stale.append((file, made))
    if "--check" in sys.argv:
        if stale:
            sys.exit(f"{', '.join(file.name for file, _ in stale)}: not what the texts say; "
                     "write them again by scripts/pages/notebooks.py")
        return
    for file, made in stale:
        file.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
