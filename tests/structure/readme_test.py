"""Every command in the README's ```sh blocks works, at a reduced size (readme_shim.py).

Usage: readme_test.py BINARY SOURCE BUILD [--data]. A block is run by bash in a folder that looks
like the repository. Without --data: the blocks that need no image files; with it, those that do,
from SOURCE/../shared/data, or exit code 77 (skipped) where that folder is missing.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SHIM = Path(__file__).with_name("readme_shim.py")
NEEDS_DATA = re.compile(r"--dataset (static-mnist|mnist|caltech|omniglot\S*)")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
SKIPPED = 77


def blocks(readme):
    return BLOCK.findall(readme)


class Sandbox:
    """A folder whose build/, scripts/ and PATH hold shims only, so that nothing else can run."""

    def __init__(self, folder, binary, source, build):
        self.folder, self.source = Path(folder), Path(source).resolve()
        self.environment = {
            "PATH": str(self.folder / "bin"), "README_PATH": os.environ["PATH"],
            "README_BINARY": str(Path(binary).resolve()), "README_SOURCE": str(self.source),
            "README_BUILD": str(Path(build).resolve()), "HOME": str(self.folder),
        }
        for name in ("cmake", "ctest", "docker"):
            self.add_shim(f"bin/{name}", name)
        self.add_shim("build/isinglass", "isinglass")
        for script in ("demo.sh", "test.sh", "setup.sh", "build.sh", "bundle.sh"):
            self.add_shim(f"scripts/{script}", f"scripts/{script}")
        (self.folder / "bin/cat").symlink_to(shutil.which("cat"))
        (self.folder / ".venv").symlink_to(self.source / ".venv")
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


def main():
    binary, source, build, *mode = sys.argv[1:]
    wants_data = mode == ["--data"]
    if wants_data and not Path(source, "..", "shared", "data").is_dir():
        print("skipped: there is no ../shared/data beside the repository")
        sys.exit(SKIPPED)
    chosen = [block for block in blocks(Path(source, "README.md").read_text(encoding="utf-8"))
              if bool(NEEDS_DATA.search(block)) == wants_data]
    if not chosen:
        sys.exit("README.md has no such block")
    with tempfile.TemporaryDirectory() as folder:
        sandbox = Sandbox(folder, binary, source, build)
        check_that_failures_show(sandbox)
        for block in chosen:
            print(f"--- README.md\n{block}", flush=True)
            if code := sandbox.run(block):
                sys.exit(f"exit code {code} from the block above")


if __name__ == "__main__":
    main()
