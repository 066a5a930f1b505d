#!/usr/bin/env python3
"""Writes the page docs/samplers.md from the program's own registry.

Usage: samplers_page.py BINARY [--check PAGE]. Prints the page; with --check, exits 1 unless PAGE
holds it already.
"""
import json
import subprocess
import sys
from pathlib import Path

HEAD = """# Samplers

Written by `scripts/pages/samplers_page.py build/isinglass > docs/samplers.md` from the registry that
`isinglass sample --list` prints; a test compares the two.

| sampler | what a step does | states | needs | options | source |
| --- | --- | --- | --- | --- | --- |
"""

ADAPTATION = """
A default that a model does not allow is cut: `nb` takes `--radius 4.5` on 8 sites, `hamming-ball` a block
of as many sites as there are.

## What adapts, and when

All of it in burn-in, and nothing afterwards:

- `--adapt`: a step size, by Robbins–Monro steps towards `--target-acceptance`.
- `ab-*` without `--sigma` and `--alpha`: both, by a search for the longest mean jump |Δx|₁. It goes along
  the ridge on which alpha rises with sigma and across it, compares five points at a time by single steps
  of all chains by turns, for as long as their noise demands, and moves to the vertex of a parabola in
  both coordinates. Some hundred steps do with ten chains.
- `ab-shift`, `ab-max`, `ab-trace`: the curvature, in the first half of burn-in; in the second half sigma and
  alpha again.
- `lsb-*`, `flsb-*`: the balancing function.

`summary.json` of `sample` has the numbers that were found (`adapted`) and how far it came: `adaptation`
with `rounds`, those of a search that were over or the steps of another rule, and `settled`. What has not
settled is also a line on the terminal: a search that was still on its way; an acceptance that at the end
of burn-in was more than 0.1 from its target, unless the step size has reached the end of its range; no
burn-in at all.

`train` and `evaluate` have no burn-in, since their target changes with every step, and refuse whatever learns
in one. Take numbers that `sample` has found, such as `--sampler ab-1st --sigma 0.25 --alpha 0.6`.
"""

MODELS = """
## Models

| model | energy U(x) | states | parameter file | gradient | trained by `train` |
| --- | --- | --- | --- | --- | --- |
"""


def number(value):
    return f"{value:g}"


def option(name, use):
    text = f"`--{name}`"
    details = []
    if "to" in use:
        least = number(use["from"]) if "from" in use else f"above {number(use['above'])}"
        details.append(f"{least} to {number(use['to'])}")
    if use.get("whole"):
        details.append("whole")
    if "default" in use:
        details.append(f"default {number(use['default'])}")
    return text + (f" ({', '.join(details)})" if details else "")


def row(cells):
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"


def page(listing):
    text = HEAD
    for s in listing["samplers"]:
        options = ", ".join(option(name, use) for name, use in s["options"].items()) or "none"
        text += row([f"`{s['name']}`", s["summary"], s["states"], s["needs"], options, s["paper"]])
    text += ADAPTATION + MODELS
    for m in listing["models"]:
        text += row([f"`{m['name']}`", f"`{m['energy']}`", m["states"], m["parameters"],
                     "yes" if m["gradient"] else "no", "yes" if m["trainable"] else "no"])
    return text


def main():
    listing = json.loads(subprocess.run([sys.argv[1], "sample", "--list", "--json"], check=True,
                                        stdout=subprocess.PIPE).stdout)
    text = page(listing)
    if len(sys.argv) == 2:
        print(text, end="")
    elif Path(sys.argv[3]).read_text(encoding="utf-8") != text:
        sys.exit(f"{sys.argv[3]} is not what the registry says; write it anew by "
                 "scripts/pages/samplers_page.py build/isinglass > docs/samplers.md")


if __name__ == "__main__":
    main()
