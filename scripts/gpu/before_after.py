#!/usr/bin/env python3
"""Writes docs/results/gpu-before-after.md: the predicted counters and times of GPU steps at two
revisions.

    scripts/gpu/before_after.py [BEFORE]

BEFORE is the revision whose docs/results/gpu-predictions.md is compared with the present one
(default: the first revision of that page, before the kernels were rewritten). Both pages come from
scripts/gpu-predict.sh, and each uses the model of times of its own revision.
"""
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = "docs/results/gpu-predictions.md"
COUNTERS = ("launches", "library", "load sectors", "store sectors", "Philox calls", "barriers",
            "atomics")
DEVICES = ("V100", "A100", "H100")


def table(text, heading):
    """Returns the first table under a heading as {name of the row: {column: cell}}."""
    lines = iter(text[text.index(f"## {heading}\n"):].splitlines())
    header = next(line for line in lines if line.startswith("| "))
    columns = [cell.strip() for cell in header.strip("|").split("|")]
    next(lines)  # the line of dashes
    rows = {}
    for line in lines:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        rows[cells[0]] = dict(zip(columns, cells))
    return rows


def revision_of(text):
    return text.split("at revision ")[1].split(".")[0]


def main():
    before = sys.argv[1] if len(sys.argv) > 1 else "24fcf8c"
    earlier = subprocess.run(["git", "-C", ROOT, "show", f"{before}:{PAGE}"], capture_output=True,
                             text=True, check=True).stdout
    today = (ROOT / PAGE).read_text(encoding="utf-8")
    out = [
        "# Steps on a GPU, before and after", "",
        "This page compares [the predictions](gpu-predictions.md) of two revisions, "
        f"{revision_of(earlier)} and {revision_of(today)}. Nothing",
        "was timed on a GPU: the counters come from an interpreter, and the times from a "
        "model. A cell has",
        "both values where they differ. A value in brackets is that of a step outside of "
        "a CUDA graph, or,",
        f"for the earlier revision, in one. `scripts/gpu/before_after.py {before}` "
        "writes the page.", "",
    ]
    for heading, columns in (("Times of a step", DEVICES), ("Counters", COUNTERS)):
        old, new = table(earlier, heading), table(today, heading)
        out += [f"## {heading}", "", f"| step | {' | '.join(columns)} |",
                f"| --- |{' ---: |' * len(columns)}"]
        for name, row in new.items():
            if name in old:
                cells = [row[c] if old[name][c] == row[c] else f"{old[name][c]} → {row[c]}"
                         for c in columns]
                out.append(f"| {name} | {' | '.join(cells)} |")
        out.append("")
    left = [name for name in table(today, "Counters") if name not in table(earlier, "Counters")]
    if left:
        out += [f"Not on the earlier page: {'; '.join(left)}.", ""]
    (ROOT / "docs/results/gpu-before-after.md").write_text("\n".join(out).rstrip() + "\n",
                                                           encoding="utf-8")


if __name__ == "__main__":
    main()
