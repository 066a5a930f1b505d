# shellcheck shell=bash
# Sourced by the other scripts: where things are, which CUDA compiler to use.
# The caller has run `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { echo "isinglass: $*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# Sets `cuda` to the folder of a CUDA toolkit of the major version that LibTorch is built for: one
# that is installed, else the links to the wheels' one. Fails when there is neither.
# ISINGLASS_CUDA=wheels passes installed ones by.
find_cuda() {
  local on_path folders=()
  if [[ ${ISINGLASS_CUDA:-} != wheels ]]; then
    on_path=$(readlink -f "$(command -v nvcc || true)")
    folders=("${CUDA_HOME:-}" "${on_path%/bin/nvcc}" /usr/local/cuda)
  fi
  for cuda in "${folders[@]}" "$root/.cuda"; do
    [[ -n $cuda && $("$cuda/bin/nvcc" --version 2> /dev/null) == *"release 13."* ]] && return
  done
  return 1
}

# configure BUILD [CMAKE-OPTION…]: a Release build of the repository in the folder BUILD. CMake's words
# are shown only when it fails.
configure() {
  local log=$1/configure.log
  find_cuda || die "no CUDA compiler"
  mkdir -p "$1"
  CUDACXX=$cuda/bin/nvcc CUDA_HOME=$cuda cmake -S "$root" -B "$1" -G Ninja \
    -DCMAKE_BUILD_TYPE=Release -DCUDA_TOOLKIT_ROOT_DIR="$cuda" -DCUDAToolkit_ROOT="$cuda" \
    "${@:2}" > "$log" 2>&1 || {
    cat "$log" >&2
    die "CMake could not configure ${1##*/}/ (see above)"
  }
}

# As many jobs as there are cores, if each can have the 2 GB that a source with LibTorch takes.
parallelism() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 2e6) }' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}
