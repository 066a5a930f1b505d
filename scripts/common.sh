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
