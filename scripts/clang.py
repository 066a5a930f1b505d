#!/usr/bin/env python3
"""Checks that clang accepts the C++ sources, with the flags of their build and warnings as errors.

    scripts/clang.py [--build DIR] [--jobs N] [--arm] [FOLDER…]

By default it takes the flags of build/, runs as many jobs as there are cores, and checks every
folder. CUDA sources are left to nvcc and its host compiler. Sources that do not include LibTorch,
such as the CPU kernels and their vectorised code, are compiled; the others are parsed only, in a
few seconds each with a precompiled header. To build the program with clang, give CMake
-DCMAKE_CXX_COMPILER=clang++. --arm compiles kernels/ only, for 64-bit Arm processors with NEON, by
aarch64-linux-gnu-g++. The exit code is 77 (skipped) if the compiler is missing.
"""
import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PREFIXES = ("-I", "-D", "-std", "-f", "-O", "-W", "-m")
VALUED = ("-isystem", "-include")
PRECOMPILED = "cmake_pch.hxx"  # belongs to the other compiler
ARM = "aarch64-linux-gnu-g++"
# Belong to the other compiler.
OTHERS = {"-Winvalid-pch", "-Wno-subobject-linkage", "-fno-tree-loop-distribute-patterns"}


def flags_of(command):
    words, flags = iter(shlex.split(command)), []
    for word in words:
        if word in VALUED:
            value = next(words)
            flags += [word, value] if Path(value).name != PRECOMPILED else []
        elif word.startswith(PREFIXES) and word not in OTHERS:
            flags.append(word)
    return flags


def sources(build, folders):
    """Yields (file, flags) for the repository's C++ sources, except those in the build folder."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["file"])
        several = [file]
        if file.parent.name == "Unity":  # includes several sources, which are compiled as one
            several = map(Path, re.findall(r'^#include "(.+)"$', file.read_text(), re.MULTILINE))
        for source in several:
            if source.suffix != ".cpp" or not source.is_relative_to(ROOT):
                continue
            if source.is_relative_to(build):
                continue
            if not folders or source.relative_to(ROOT).parts[0] in folders:
                yield source, flags_of(entry["command"])


def sees_torch(flags):
    return any("torch" in flag for flag in flags)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--arm", action="store_true")
    parser.add_argument("folders", nargs="*")
    arguments = parser.parse_args()
    compiler = ARM if arguments.arm else "clang++"
    if not shutil.which(compiler):
        print(f"skipped: there is no {compiler}")
        sys.exit(77)
    folders = ["kernels"] if arguments.arm else arguments.folders
    found = dict(sources(arguments.build.resolve(), folders))
    if arguments.arm:  # this compiler has no options for x86
        found = {file: [flag for flag in flags if not flag.startswith("-m")]
                 for file, flags in found.items() if not sees_torch(flags)}
    with_torch = [flags for flags in found.values() if sees_torch(flags)]
    with tempfile.TemporaryDirectory() as folder:
        header = f"{folder}/torch.pch"
        if with_torch:  # uses the flags common to all, without definitions of single sources
            shared = [flag for flag in with_torch[0] if all(flag in flags for flags in with_torch)]
            subprocess.run(["clang++", *shared, "-x", "c++-header", str(ROOT / "io/torch.h"), "-o",
                            header], check=True)

        def take(file, flags):
            how = ["-include-pch", header, "-Xclang", "-fno-validate-pch", "-fsyntax-only"]
            if not sees_torch(flags):
                how = ["-c", "-o", os.devnull]
            return file, subprocess.run([compiler, *flags, *how, str(file)], capture_output=True,
                                        text=True, check=False)

        taken = 0
        with ThreadPoolExecutor(arguments.jobs) as pool:
            for file, result in pool.map(lambda source: take(*source), found.items()):
                taken += result.returncode == 0
                if result.returncode:
                    print(f"{file.relative_to(ROOT)}\n{result.stderr}", flush=True)
    print(f"{compiler} takes {taken} of {len(found)} sources")
    sys.exit(taken < len(found))


if __name__ == "__main__":
    main()
