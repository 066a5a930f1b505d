#!/usr/bin/env python3
"""Whether clang takes the C++ sources: each is parsed with the flags of its build, warnings as errors.

    scripts/clang.py [--build DIR] [FOLDER…]        default: build/, every folder

CUDA sources stay with nvcc and its host compiler. No code is generated, so that a source takes a second or
two, after a precompiled header of LibTorch's. A program made by clang: -DCMAKE_CXX_COMPILER=clang++ for CMake.
"""
import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREFIXES = ("-I", "-D", "-std", "-f", "-O", "-W", "-m")
VALUED = ("-isystem",)
OTHERS = {"-Winvalid-pch", "-fno-tree-loop-distribute-patterns"}  # the other compiler's own


def flags_of(command):
    words, flags = iter(shlex.split(command)), []
    for word in words:
        if word in VALUED:
            flags += [word, next(words)]
        elif word.startswith(PREFIXES) and word not in OTHERS:
            flags.append(word)
    return flags


def sources(build, folders):
    """(file, flags) of the repository's C++ sources, those of the build folder left out."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["file"])
        if file.suffix == ".cpp" and file.is_relative_to(ROOT) and not file.is_relative_to(build):
            if not folders or file.relative_to(ROOT).parts[0] in folders:
                yield file, flags_of(entry["command"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    found = dict(sources(arguments.build.resolve(), arguments.folders))
    with tempfile.TemporaryDirectory() as folder:
        headers = {}  # by flags: a precompiled header serves sources that are compiled alike
        for flags in found.values():
            key = tuple(flags)
            if key in headers or not any("torch" in flag for flag in flags):
                continue
            headers[key] = f"{folder}/{len(headers)}.pch"
            subprocess.run(["clang++", *flags, "-x", "c++-header", str(ROOT / "io/torch.h"), "-o", headers[key]],
                           check=True)

        def parse(file, flags):
            header = headers.get(tuple(flags))
            early = ["-include-pch", header] if header else []
            return file, subprocess.run(["clang++", *flags, *early, "-fsyntax-only", str(file)],
                                        capture_output=True, text=True, check=False)

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(lambda source: parse(*source), found.items()))
    refused = [(file, result.stderr) for file, result in done if result.returncode]
    for file, text in refused:
        print(f"{file.relative_to(ROOT)}\n{text}")
    print(f"clang takes {len(done) - len(refused)} of {len(done)} sources")
    sys.exit(bool(refused))


if __name__ == "__main__":
    main()
