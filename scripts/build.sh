#!/usr/bin/env bash
# Set-up, then a Release build in build/:  scripts/build.sh [TARGET…]  (default: everything).
# build/isinglass is the program.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# As many jobs as there are cores, if each can have the 2 GB that a source with LibTorch takes.
parallelism() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 2e6) }' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}

# CMake's words are shown only when it fails.
configure() {
  local log=$root/build/configure.log
  find_cuda || die "no CUDA compiler"
  mkdir -p "$root/build"
  CUDACXX=$cuda/bin/nvcc CUDA_HOME=$cuda cmake -S "$root" -B "$root/build" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DCUDA_TOOLKIT_ROOT_DIR="$cuda" -DCUDAToolkit_ROOT="$cuda" \
    > "$log" 2>&1 || {
    cat "$log" >&2
    die "CMake could not configure build/ (see above)"
  }
}

"$root/scripts/setup.sh"
configure
say "building (minutes the first time)"
cmake --build "$root/build" --parallel "$(parallelism)" --target "${@:-all}" >&2
