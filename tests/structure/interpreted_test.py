"""The interpreter runs every CUDA kernel's launcher: a test of tests/simt names it. Operators run
launchers only through run_twin() (kernels/ops/check.h), which makes their device current.

Usage: interpreted_test.py [ROOT].
"""
import re
import sys
from pathlib import Path

root = Path(sys.argv[1] if len(sys.argv) > 1 else ".")
LAUNCHERS = re.compile(r"^ISINGLASS_TWINS\((\w+),", re.MULTILINE)
tests = "".join(file.read_text(encoding="utf-8")
                for file in (root / "tests/simt").glob("*_test.cpp"))
operators = {file.name: file.read_text(encoding="utf-8")
             for file in (root / "kernels/ops").glob("*")}
found, missing = 0, []
for header in sorted((root / "kernels").rglob("*.h")):
    if not header.with_suffix(".cu").exists():
        continue
    for name in LAUNCHERS.findall(header.read_text(encoding="utf-8")):
        found += 1
        if not re.search(rf"cuda::{name}\b", tests):
            missing.append(f"{header.name}: cuda::{name} is in no test of tests/simt")
        # a... are the arguments of run_twin() to an overloaded one
        missing += [f"ops/{file}: cuda::{name}() is called without run_twin()"
                    for file, text in operators.items()
                    if re.search(rf"cuda::{name}\((?!a\.\.\.)", text)]
if found < 20:
    missing.append(f"only {found} launchers were found; the headers have changed their form")
sys.exit("\n".join(missing) or None)
