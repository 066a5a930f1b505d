#!/usr/bin/env bash
# Runs set-up, then makes a Release build in build/:  scripts/build.sh [TARGET…]  (default: all
# targets). build/isinglass is the program, and .venv's Python imports isinglass from build/python.
# With ISINGLASS_TORCH=2.7.1 (or newest), the build is in build-2.7.1/ and uses .venv-2.7.1/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh"
configure "$build"
say "building (minutes the first time)"
cmake --build "$build" --parallel "$(parallelism)" --target "${@:-all}" >&2

# The package is installed in editable form: Python imports what is built, and python/isinglass/.
for packages in "$venv"/lib/python3*/site-packages; do
  echo "$build/python" > "$packages/isinglass.pth"
done
