#!/usr/bin/env bash
# Set-up, then a Release build in build/:  scripts/build.sh [TARGET…]  (default: everything).
# build/isinglass is the program.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

"$root/scripts/setup.sh"
configure "$root/build"
say "building (minutes the first time)"
cmake --build "$root/build" --parallel "$(parallelism)" --target "${@:-all}" >&2
