"""The documents are true: every command in them works, every link leads somewhere.

Usage: docs_test.py BINARY SOURCE BUILD [--data | PAGE]. Pages are README.md and docs/**/*.md. The
```sh blocks of a page are run by bash one after another, at a reduced size (docs_shim.py), in a
folder of the page's own that looks like the repository. Of blocks marked ```sh parse, which take
too long, only subcommands and flags are checked. Without --data: the blocks that need no image
files; with it, those that do, from SOURCE/../shared/data, or exit code 77 (skipped) where that
folder is missing. PAGE: that page alone. docs/howto/extending.md needs a program of its own:
tests/extending runs it.
"""
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SHIM = Path(__file__).with_name("docs_shim.py")
NEEDS_DATA = re.compile(r"--dataset (static-mnist|mnist|caltech|omniglot\S*)")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
PARSED = re.compile(r"^```sh parse\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
ELSEWHERE = "docs/howto/extending.md"
LINKED = ("cat",)  # the only other programs that blocks may call
SKIPPED = 77


def blocks(page):
    return BLOCK.findall(page)


class Sandbox:
    """A folder whose build/, scripts/ and PATH hold shims only, so that nothing else can run."""

    def __init__(self, folder, binary, source, build):
        self.folder, self.source = Path(folder), Path(source).resolve()
        build = Path(build).resolve()
        self.environment = {
            "PATH": str(self.folder / "bin"), "DOCS_PATH": os.environ["PATH"],
            "DOCS_BINARY": str(Path(binary).resolve()), "DOCS_SOURCE": str(self.source),
            "DOCS_BUILD": str(build), "HOME": str(self.folder),
            "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "2"),
        }
        for name in ("cmake", "ctest", "docker"):
            self.add_shim(f"bin/{name}", name)
        self.add_shim("build/isinglass", "isinglass")
        for script in self.source.glob("scripts/*.sh"):
            self.add_shim(f"scripts/{script.name}", f"scripts/{script.name}")
        for name in LINKED:
            (self.folder / "bin" / name).symlink_to(shutil.which(name))
        venv = re.search(r"^ISINGLASS_VENV:\w+=(.*)$", (build / "CMakeCache.txt").read_text(),
                         re.MULTILINE)
        (self.folder / ".venv").symlink_to(venv[1])  # of the LibTorch that was built with
        (self.folder / "weights").symlink_to(self.source / "weights")
        (self.folder / "data").symlink_to(self.source.parent / "shared" / "data")

    def add_shim(self, path, name):
        shim = self.folder / path
        shim.parent.mkdir(parents=True, exist_ok=True)
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{SHIM}" {name} "$@"\n')
        shim.chmod(0o755)

    def run(self, block, quiet=False):
        output = subprocess.DEVNULL if quiet else None
        return subprocess.run(["/bin/bash", "-euo", "pipefail", "-c", block], cwd=self.folder,
                              env=self.environment, stdin=subprocess.DEVNULL, stdout=output,
                              stderr=output, check=False).returncode


def check_that_failures_show(sandbox):
    for wrong in ("build/isinglass sample --no-such-flag", "build/isinglass no-such-command",
                  "scripts/no-such-script.sh", "no-such-program", "false\ntrue"):
        if sandbox.run(wrong, quiet=True) == 0:
            sys.exit(f"the test would not notice a failing command: {wrong}")


def commands(block):
    """Returns the words of every command line, with continued lines joined."""
    return [shlex.split(line, comments=True)
            for line in block.replace("\\\n", " ").splitlines() if line.strip()]


def unknown_words(binary, words):
    """Returns the subcommands or flags of a command line of isinglass that its help does not
    know."""
    text = subprocess.run([binary, words[1], "--help"], capture_output=True, text=True,
                          check=False).stdout
    known = set(re.findall(r"--[a-z][\w-]*", text))
    return ([words[1]] if not known
            else [w for w in words if w.startswith("--") and w.split("=")[0] not in known])


def check_parsed(binary, name, block):
    for words in commands(block):
        if Path(words[0]).name != "isinglass":
            sys.exit(f"{name}: only isinglass is checked without being run, not {words[0]}")
        if wrong := unknown_words(binary, words):
            sys.exit(f"{name}: unknown {', '.join(wrong)} in: {' '.join(words)}")


def anchors(page):
    """Returns GitHub's anchors of a page's headings."""
    titles = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
              for title in HEADING.findall(FENCED.sub("", page))]
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}


def check_links(file, text):
    for target in LINK.findall(FENCED.sub("", text)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (file.parent / path).resolve() if path else file
        if not linked.exists():
            sys.exit(f"{file}: the link {target} leads nowhere")
        if anchor and anchor not in anchors(linked.read_text(encoding="utf-8")):
            sys.exit(f"{file}: {target}: there is no such heading")


def check_keys(folder, source):
    """Every key that a run wrote into its results is explained in docs/reference/files.md."""
    page = (source / "docs/reference/files.md").read_text(encoding="utf-8")
    for file in [*folder.rglob("summary.json"), *folder.rglob("ais.json"),
                 *folder.rglob("metrics.jsonl")]:
        keys = json.loads(file.read_text().splitlines()[-1] if file.suffix == ".jsonl"
                          else file.read_text())
        if missing := [key for key in keys if f"`{key}`" not in page]:
            sys.exit("docs/reference/files.md does not explain "
                     f"{', '.join(missing)} of {file.name}")


def main():
    binary, source, build, *mode = sys.argv[1:]
    source = Path(source).resolve()
    wants_data = mode == ["--data"]
    if wants_data and not (source.parent / "shared" / "data").is_dir():
        print("skipped: there is no ../shared/data beside the repository")
        sys.exit(SKIPPED)
    ran = parsed = 0
    pages = [source / "README.md", *sorted(source.glob("docs/**/*.md"))]
    if mode and not wants_data:
        pages = [source / mode[0]]
    for file in pages:
        name, text = str(file.relative_to(source)), file.read_text(encoding="utf-8")
        check_links(file, text)
        for block in PARSED.findall(text):
            check_parsed(binary, name, block)
            parsed += 1
        chosen = [block for block in blocks(text) if bool(NEEDS_DATA.search(block)) == wants_data]
        if not chosen or name == ELSEWHERE:
            continue
        with tempfile.TemporaryDirectory() as folder:
            sandbox = Sandbox(folder, binary, source, build)
            if ran == 0:
                check_that_failures_show(sandbox)
            for block in chosen:
                print(f"--- {name}\n{block}", flush=True)
                start = time.monotonic()
                if code := sandbox.run(block):
                    sys.exit(f"exit code {code} from the block above")
                print(f"--- {time.monotonic() - start:.1f} s", flush=True)
                ran += 1
            check_keys(sandbox.folder, source)
    if len(pages) > 1 and (not ran or not parsed):
        sys.exit("there is nothing to test: are the blocks still marked ```sh and ```sh parse?")
    print(f"{ran} blocks ran, {parsed} were parsed")


if __name__ == "__main__":
    main()
