"""Replaces a program that the documents' commands call, and runs it at a reduced size.

Usage: docs_shim.py NAME ARGUMENT…; DOCS_BINARY, DOCS_SOURCE and DOCS_BUILD name the real program,
the repository and the build folder.
"""
import os
import re
import subprocess
import sys
from pathlib import Path

# Values of size flags are cut down to these; everything else is passed on as it is.
REDUCED = {"--channels": 4, "--hidden": 10, "--steps-per-iter": 2, "--buffer": 20, "--batch": 10,
           "--iters": 4, "--warmup": 2, "--checkpoint-every": 2, "--chains": 4, "--burn-in": 5,
           "--steps": 20, "--thin": 5, "--repeats": 2, "--scale": 1e-4, "--until-converged": 0.1}
# Options of `train` that other objectives than pcd refuse.
REFUSED = {"dsm": ("--steps-per-iter", "--buffer"), "classify": ("--steps-per-iter", "--buffer"),
           "cd": ("--buffer",)}
IMAGES = """import torch
torch.save((torch.rand(40, 28, 28) < 0.3).to(torch.uint8), "few.pt")"""


def reduced(arguments):
    result = list(arguments)
    for i, flag in enumerate(result[:-1]):
        if flag in REDUCED:
            longer = 2 if "--resume" in result else 1  # a resumed run has work left to do
            kind = type(REDUCED[flag])
            result[i + 1] = str(min(kind(result[i + 1]), longer * REDUCED[flag]))
    if "train" in result and "--resume" not in result:
        refused = [flag for objective, flags in REFUSED.items() if objective in result
                   for flag in flags]
        model = result[result.index("--model") + 1] if "--model" in result else "resnet"
        if model != "resnet" or REFUSED.keys() & set(result):
            refused.append("--channels")
        for flag in ("--channels", "--steps-per-iter", "--buffer", "--batch", "--iters"):
            if flag not in result and flag not in refused:
                result += [flag, str(REDUCED[flag])]
    if "bench" in result and "--stages" not in result:  # the bounds take long
        result += ["--stages", "energy-gradient,step"]
    return result


def make_few_images():
    if not Path("few.pt").exists():
        subprocess.run([".venv/bin/python", "-c", IMAGES], check=True)


def with_few_images(arguments):
    """The likelihood of 70 000 strokes takes a minute: `evaluate` gets forty images in their
    place."""
    if arguments[:1] == ["evaluate"] and "strokes" in arguments:
        make_few_images()
        return ["few.pt" if word == "strokes" else word for word in arguments]
    return arguments


def with_reduced_recipe(arguments, source):
    """A recipe is replaced by one of the same stages with the sizes above and forty images."""
    if arguments[:1] != ["recipe"]:
        return arguments
    text = (source / f"lab/presets/recipes/{arguments[1]}.toml").read_text()
    for flag, size in REDUCED.items():
        text = re.sub(rf"^{flag[2:]} = .*$", f"{flag[2:]} = {size}", text, flags=re.MULTILINE)
    text = re.sub("^dataset = .*$", 'dataset = "few.pt"', text, flags=re.MULTILINE)
    make_few_images()
    Path(f"{arguments[1]}.toml").write_text(text)
    return ["recipe", f"{arguments[1]}.toml", *arguments[2:]]


def cache_entry(build, name):
    for line in (build / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(name + ":"):
            return line.split("=", 1)[1]
    return ""


def command(name, arguments, binary, source, build):
    """Returns the real command line, or None if the test only requires that the program exists."""
    if name == "isinglass":
        return [binary, *with_reduced_recipe(with_few_images(reduced(arguments)), source)]
    if name == "ctest":
        arguments[arguments.index("--test-dir") + 1] = str(build)
        return ["ctest", *arguments, "--show-only"]
    if name == "cmake" and not cache_entry(build, "CMAKE_CUDA_COMPILER"):
        print("not run, as clang compiles the CUDA code here: cmake", *arguments)
        return None
    if name == "cmake" and arguments[0] == "--build":
        return ["cmake", "--build", "configured", "--", "-n"]
    if name == "cmake":
        compiler = cache_entry(build, "CMAKE_CUDA_COMPILER")
        toolkit = Path(compiler).parents[1]
        arguments[arguments.index("-S") + 1] = str(source)
        arguments[arguments.index("-B") + 1] = "configured"
        return ["cmake", *arguments, f"-DCMAKE_CUDA_COMPILER={compiler}",
                f"-DCUDA_TOOLKIT_ROOT_DIR={toolkit}", f"-DCUDAToolkit_ROOT={toolkit}",
                f"-DTorch_DIR={cache_entry(build, 'Torch_DIR')}"]
    needed = source / ("Dockerfile" if name == "docker" else name)
    if not needed.is_file() or (needed.suffix == ".sh" and not os.access(needed, os.X_OK)):
        sys.exit(f"{needed} is missing or not executable")
    print(f"not run, only looked up: {name} {' '.join(arguments)}")
    return None


def main():
    name, *arguments = sys.argv[1:]
    real = command(name, arguments, os.environ["DOCS_BINARY"],
                   Path(os.environ["DOCS_SOURCE"]), Path(os.environ["DOCS_BUILD"]))
    if real:
        environment = dict(os.environ, PATH=os.environ["DOCS_PATH"])
        sys.exit(subprocess.run(real, env=environment, check=False).returncode)


if __name__ == "__main__":
    main()
