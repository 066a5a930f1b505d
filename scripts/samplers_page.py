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

Written by `scripts/samplers_page.py build/isinglass > docs/samplers.md` from the registry that
`isinglass sample --list` prints; a test compares the two.

| sampler | what a step does | states | needs | options | source |
| --- | --- | --- | --- | --- | --- |
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
    if "from" in use:
        details.append(f"{number(use['from'])} to {number(use['to'])}")
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
    text += MODELS
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
                 "scripts/samplers_page.py build/isinglass > docs/samplers.md")


if __name__ == "__main__":
    main()
