#!/usr/bin/env bash
# Set-up, then a Release build in build/:  scripts/build.sh [TARGET…]  (default: everything).
# build/isinglass is the program, and .venv's Python imports isinglass from build/python.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh"
configure "$root/build"
say "building (minutes the first time)"
cmake --build "$root/build" --parallel "$(parallelism)" --target "${@:-all}" >&2

# Editable: what is built and python/isinglass/ are what is imported.
for packages in "$root"/.venv/lib/python3*/site-packages; do
  echo "$root/build/python" > "$packages/isinglass.pth"
done
