#!/usr/bin/env bash
# Builds wheels of the Python package, one for each Python interpreter:
#   scripts/wheels.sh [PYTHON…]     (default: the Python of the virtual environment)
#   scripts/wheels.sh python3.10 python3.12 python3.13
# The wheels are in dist/torch-2.11/, or in a folder for another LibTorch that ISINGLASS_TORCH
# selects. A wheel needs PyTorch of the minor version with which it is built, because the ABI of
# PyTorch changes with it, and says so to pip. Only the sources that include Python.h are compiled
# for each interpreter; all others are compiled once, in build-wheel/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh"
select_compiler
torch=("$venv"/lib/python3*/site-packages/torch)
minor=$(sed -n "s/^__version__ = '\([0-9]*\.[0-9]*\).*/\1/p" "${torch[0]}/version.py")
options+=("Torch_DIR=${torch[0]}/share/cmake/Torch")
[[ -n $minor ]] || die "the version of PyTorch in $venv is not known"
out=$root/dist/torch-$minor
builds=$root/build-wheel$variant
mkdir -p "$out"

# Replaces the wheel's requirement of PyTorch by the version with which it is built.
require_torch() {
  local wheel=$1 tool=$2 parts=$builds/unpacked
  rm -rf "$parts"
  "$tool" -m wheel unpack --dest "$parts" "$wheel" > /dev/null
  sed -i "s/^Requires-Dist: torch.*/Requires-Dist: torch==$minor.*/" "$parts"/*/*.dist-info/METADATA
  grep -q "^Requires-Dist: torch==$minor" "$parts"/*/*.dist-info/METADATA || die "${wheel##*/} does not require torch"
  "$tool" -m wheel pack --dest-dir "$out" "$parts"/* > /dev/null
  rm -r "$parts"
}

for python in "${@:-$venv/bin/python}"; do
  version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') ||
    die "'$python' is not a Python interpreter"
  tools=$builds/tools-$version
  if [[ ! -e $tools/installed ]]; then
    "$python" -m venv --clear "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade pip "scikit-build-core>=0.10" wheel >&2
    touch "$tools/installed"
  fi
  rm -rf "$builds/made" # what a failed build left
  say "building the wheel for Python $version and PyTorch $minor"
  "$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-build-isolation --no-deps --no-index \
    --wheel-dir "$builds/made" -C build-dir="$builds/tree" "${options[@]/#/-Ccmake.define.}" "$root" >&2
  require_torch "$builds"/made/isinglass-*.whl "$tools/bin/python"
  rm -r "$builds/made"
done
ls -1 "$out"/*.whl
