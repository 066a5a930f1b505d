#!/usr/bin/env bash
# Set-up, then a Release build in build/:  scripts/build.sh [TARGET…]  (default: everything).
# build/isinglass is the program, and .venv's Python imports isinglass from build/python. With
# ISINGLASS_TORCH=2.7.1 or newest, in build-2.7.1/ and .venv-2.7.1/, or those of the newest LibTorch.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh"
configure "$build"
say "building (minutes the first time)"
cmake --build "$build" --parallel "$(parallelism)" --target "${@:-all}" >&2

# Editable: what is built and python/isinglass/ are what is imported.
for packages in "$venv"/lib/python3*/site-packages; do
  echo "$build/python" > "$packages/isinglass.pth"
done
