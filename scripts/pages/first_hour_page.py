#!/usr/bin/env python3
"""Measures the way from a clone to the end of the demonstration, and writes
docs/results/first-hour.json and .md.

    scripts/pages/first_hour_page.py [--parts setup,build,first,demo,each] [--folder FOLDER]
    scripts/pages/first_hour_page.py --check

It clones this repository's HEAD into FOLDER (default: a temporary folder) and runs the scripts of
a new user there, without a compiler cache. Parts that are left out keep their times in
first-hour.json. Packages of the distribution that are already installed are not installed again.
"""
import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page_file import processor, write_or_check

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results/first-hour.json"
PAGE = ROOT / "docs/results/first-hour.md"
LATTICE = ("build/isinglass sample --instance ising-grid:side=50,coupling=0.4 --sampler gibbs "
           "--scan chromatic --chains 100 --burn-in 1000 --steps 5000 --thin 50 --out runs/ising")
# Holds, of each part: what it is in the table, and the command in the clone.
PARTS = {
    "setup": ("set-up: LibTorch and the CUDA compiler", "scripts/setup.sh"),
    "build": ("build of the program", "scripts/build.sh isinglass"),
    "first": ("first result: draws of the lattice in the README", LATTICE),
    "demo": ("the rest of `scripts/demo.sh`: two trained models and their likelihoods",
             "scripts/demo.sh"),
    "each": ("build of the program where every source is compiled alone",
             "source scripts/common.sh; configure build-each -DISINGLASS_UNITY=OFF; "
             "cmake --build build-each --parallel $(nproc) --target isinglass"),
}


def measured(command, folder):
    """Returns the seconds of a command, and those of all its processes on their cores."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(["bash", "-c", f"set -euo pipefail; {command}"], cwd=folder, check=True,
                   env=dict(os.environ, CCACHE_DISABLE="1"))
    seconds = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"seconds": round(seconds, 1), "core_seconds": round(used, 1)}


def minutes(seconds):
    return f"{int(seconds // 60)}:{int(seconds % 60):02d}"


def page(results):
    times = results["times"]
    rows = "".join(
        f"| {PARTS[part][0]} | {minutes(times[part]['seconds'])} "
        f"| {minutes(times[part]['core_seconds'])} |\n"
        for part in ("setup", "build", "first", "demo") if part in times)
    total = sum(times[part]["seconds"] for part in ("setup", "build", "first", "demo")
                if part in times)
    text = f"""# From a clone to a result

This page shows how long a new user waits: set-up, the first build, a first result, and the end of
`scripts/demo.sh`, on {results["cores"]} cores ({results["processor"]}).

| part | time (min:s) | time of the cores (min:s) |
| --- | --- | --- |
{rows}| all | {minutes(total)} | |
"""
    if "each" in times:
        ratio = times["each"]["core_seconds"] / times["build"]["core_seconds"]
        text += f"""
The build compiles up to eight sources as one file. Compiled one by one (`-DISINGLASS_UNITY=OFF`),
the same sources take {minutes(times["each"]["core_seconds"])} of the cores' time, \
{ratio:.1f} times as much.
"""
    return text + """
## How it was measured

`scripts/pages/first_hour_page.py` clones the repository, and runs the scripts there without a
compiler cache. The time of set-up depends on the network. Packages of the distribution were
installed before. `scripts/demo.sh` repeats set-up and build, which do nothing the second time.
"""


def main():
    if sys.argv[1:] == ["--check"]:
        write_or_check(PAGE, page(json.loads(RESULTS.read_text())), "times in first-hour.json")
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--parts", default="setup,build,first,demo,each")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"times": {}}
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary) / "isinglass").resolve()
        if not folder.exists():
            subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
        for part in arguments.parts.split(","):
            results["times"][part] = measured(PARTS[part][1], folder)
            results |= {"cores": os.cpu_count(), "processor": processor()}
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
