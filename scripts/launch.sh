#!/bin/sh
# Starts a program of a bundle (scripts/bundle.sh): bin/NAME in the bundle is a link to this file
# and runs libexec/NAME with the LibTorch of the machine's own Python, which is $ISINGLASS_PYTHON or
# python3. The bundle's file `torch` contains the required version of LibTorch and of its CUDA.
# ISINGLASS_UNDER is a command that runs the program, such as "compute-sanitizer".
set -eu

name=$(basename "$0")
bundle=$(dirname "$(dirname "$(readlink -f "$0")")")
python=${ISINGLASS_PYTHON:-python3}

fail() {
  echo "isinglass: error: $*" >&2
  exit 1
}

[ -f "$bundle/libexec/$name" ] || fail "the bundle $bundle has no program '$name'"
read -r release cuda < "$bundle/torch"
command -v "$python" > /dev/null ||
  fail "there is no '$python': PyTorch $release and a Python are needed; ISINGLASS_PYTHON names another Python"

# Finds the folders of LibTorch and of the CUDA runtime, without importing either (which takes
# seconds).
# shellcheck disable=SC2016
folders=$("$python" -I -c '
import importlib.util, os, runpy, sys
release, cuda = sys.argv[1:]
short, major = release.split(".")[:2], cuda.split(".")[0]
wanted = f"PyTorch {chr(46).join(short)} for CUDA {major} is needed (pip install torch=={release})"
def stop(found):
    sys.exit(f"isinglass: error: {wanted}, but {sys.executable} has {found}")
def folders(package):
    spec = importlib.util.find_spec(package)
    return list(spec.submodule_search_locations or []) if spec else []
torch = folders("torch")
if not torch or not os.path.exists(os.path.join(torch[0], "version.py")):
    stop("no torch")
version = runpy.run_path(os.path.join(torch[0], "version.py"))
if version["__version__"].split("+")[0].split(".")[:2] != short:
    stop("torch " + version["__version__"])
if not (version.get("cuda") or "").startswith(major + "."):
    stop("torch " + version["__version__"] + ", which is for " + (version.get("cuda") and "CUDA " + version["cuda"] or "CPUs only"))
runtimes = [os.path.join(f, package, "lib") for f in folders("nvidia") for package in ("cu" + major, "cuda_runtime")]
runtimes.append(os.path.join(sys.prefix, "lib"))
found = [f for f in runtimes if os.path.exists(os.path.join(f, "libcudart.so." + major))]
print(":".join([os.path.join(torch[0], "lib")] + found[:1]))' "$release" "$cuda") || exit 1

LD_LIBRARY_PATH=$folders${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
# Tests read these variables: the repository's files, the program, and a Python with PyTorch.
ISINGLASS_SOURCE=$bundle
ISINGLASS_BINARY=$bundle/libexec/isinglass
ISINGLASS_PYTHON=$(command -v "$python")
export LD_LIBRARY_PATH ISINGLASS_SOURCE ISINGLASS_BINARY ISINGLASS_PYTHON
# shellcheck disable=SC2086
exec ${ISINGLASS_UNDER:-} "$bundle/libexec/$name" "$@"
