#!/usr/bin/env python3
"""Runs every command of the README and of the guide as it is written, and writes how long each took
to docs/results/guide-times.json and .md.

    scripts/pages/guide_times_page.py PROGRAM --data-dir DIR [--folder FOLDER] [--note TEXT] [PAGE…]
    scripts/pages/guide_times_page.py --check

PROGRAM is build/isinglass. DIR holds the files of the data sets. PAGE (default: README.md and all
of docs/guide/) limits what is run; other pages keep their times. Blocks marked ```sh parse, which
take hours, are left out, and so are the scripts that install and build. A command is stopped after
twice the 20 minutes that it should take. Python blocks run at their full size in the tests.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from page_file import processor, write_or_check

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results/guide-times.json"
PAGE = ROOT / "docs/results/guide-times.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Matches a block that installs or builds, and one that installs a package of the distribution.
BUILDS = re.compile(r"^(scripts/|cmake|docker|ctest)", re.MULTILINE)
LIMIT = 2400  # seconds
# Stands in for the program in the folder of a page: it runs the program and notes the time.
SHIM = """#!{python}
import json, subprocess, sys, time
start = time.monotonic()
try:
    code = subprocess.run([{program!r}, *sys.argv[1:]], check=False, timeout={limit}).returncode
except subprocess.TimeoutExpired:
    code = 124
with open({times!r}, "a", encoding="utf-8") as file:
    print(json.dumps({{"words": sys.argv[1:], "seconds": round(time.monotonic() - start, 1),
                       "code": code}}), file=file)
sys.exit(code)
"""


def run_page(page, program, data, folder):
    """Returns the commands of a page with their times and exit codes. A failing command ends its
    block."""
    folder.mkdir(parents=True)
    times = folder / "times.jsonl"
    times.touch()
    (folder / "build").mkdir()
    shim = folder / "build/isinglass"
    shim.write_text(SHIM.format(python=sys.executable, program=str(program), limit=LIMIT,
                                times=str(times)), encoding="utf-8")
    shim.chmod(0o755)
    for name, target in ((".venv", ROOT / ".venv"), ("weights", ROOT / "weights"), ("data", data)):
        (folder / name).symlink_to(target)
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if not BUILDS.search(block):
            with open(folder / "output.log", "a", encoding="utf-8") as log:
                subprocess.run(["bash", "-euo", "pipefail", "-c", block], cwd=folder, check=False,
                               stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    return [json.loads(line) for line in times.read_text(encoding="utf-8").splitlines()]


def short(words):
    """Returns what tells a command of a page from the others: the subcommand and its run."""
    place = words.index("--out") + 1 if "--out" in words else 0
    return f"`isinglass {words[0]}`" + (f" to `{words[place]}`" if place else
                                        f" `{' '.join(words[1:])[:60]}`")


def page(results):
    rows, slow = "", 0
    for name, commands in sorted(results["pages"].items()):
        link = f"[{name}](../../{name})"
        for command in commands:
            minutes, seconds = divmod(round(command["seconds"]), 60)
            slow += command["seconds"] > 1200
            failed = f", exit code {command['code']}" if command["code"] else ""
            rows += f"| {link} | {short(command['words'])} | {minutes}:{seconds:02d}{failed} |\n"
    count = sum(len(commands) for commands in results["pages"].values())
    longest = max(command["seconds"] for commands in results["pages"].values()
                  for command in commands)
    return f"""# How long the commands of the guide take

Each command of the README and of the guide was run as it is written there, on \
{results["machine"]}. Of {count} commands {slow or "none"} took longer than 20 minutes; the \
longest took {longest / 60:.0f}.

| page | command | time (min:s) |
| --- | --- | --- |
{rows}
## How it was measured

`scripts/pages/guide_times_page.py` runs the blocks of a page one after another in an empty folder.
The files of the data sets were there before, so that `data fetch` downloads nothing. The script
leaves out those that install and build (a page of their own: [from a clone to a
result](first-hour.md)), and blocks that repeat experiments of papers or their training, of which
[from a paper to a command](../guide/from-a-paper.md) has the times.
"""


def main():
    if sys.argv[1:] == ["--check"]:
        write_or_check(PAGE, page(json.loads(RESULTS.read_text())), "times in guide-times.json")
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("program", type=Path)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--note", default="", help="what else the machine did")
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    arguments = parser.parse_intermixed_args()
    names = arguments.pages or ["README.md", *sorted(str(page.relative_to(ROOT)) for page in
                                                     ROOT.glob("docs/guide/*.md"))]
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"pages": {}}
    cores = len(os.sched_getaffinity(0))
    results["machine"] = f"{cores} core{'s' * (cores > 1)} ({processor()}){arguments.note}"
    with tempfile.TemporaryDirectory() as temporary:
        folder = (arguments.folder or Path(temporary)).resolve() / time.strftime("%H%M%S")
        for name in names:
            commands = run_page(ROOT / name, arguments.program.resolve(),
                                arguments.data_dir.resolve(), folder / Path(name).stem)
            if commands:
                results["pages"][name] = commands
            print(f"{name}: {sum(command['seconds'] for command in commands):.0f} s", flush=True)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    PAGE.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    main()
