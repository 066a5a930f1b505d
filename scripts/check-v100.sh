#!/usr/bin/env bash
# Compiles every kernel for the V100 (sm_70), which CUDA 13 no longer knows: with clang 19 and the
# headers and libraries of CUDA 12.6 from wheels, in .cuda12/ (75 MB). Needs no GPU.
#   scripts/check-v100.sh
# The exit code is 77, by which ctest calls it skipped, where clang 19 is missing.
# Builds no program: on a V100 the whole is built against a LibTorch for CUDA 12.6.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

wheels=(nvidia-cuda-nvcc-cu12==12.6.85 nvidia-cuda-runtime-cu12==12.6.77
  nvidia-cuda-cccl-cu12==12.6.77)
toolkit=$root/.cuda12/toolkit

if ! command -v clang++-19 > /dev/null; then
  say "error: clang 19 is missing; install it with: sudo apt-get install -y clang-19"
  exit 77
fi

# The wheels bring a folder each; clang wants one toolkit.
if [[ ! -d $toolkit ]]; then
  say "installing CUDA 12.6 into .cuda12"
  rm -rf "$root/.cuda12"
  "$root/.venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps \
    --target "$root/.cuda12/wheels" "${wheels[@]}" >&2
  mkdir "$toolkit.part"
  for part in nvcc runtime cccl; do
    cp -a "$root/.cuda12/wheels/nvidia/cuda_$part/." "$toolkit.part/"
  done
  rm -r "$root/.cuda12/wheels"
  mv "$toolkit.part" "$toolkit"
fi

mapfile -t kernels < <(find "$root/kernels" -name "*.cu" | sort)
failed=0
for kernel in "${kernels[@]}"; do
  clang++-19 -x cuda --cuda-path="$toolkit" --cuda-gpu-arch=sm_70 --cuda-device-only -std=c++17 \
    -O2 -Wno-unknown-cuda-version -I"$root" -c "$kernel" -o /dev/null || {
    say "error: $(basename "$kernel") does not compile for sm_70"
    failed=$((failed + 1))
  }
done
[[ $failed == 0 ]] || die "$failed of ${#kernels[@]} kernels do not compile for sm_70"
say "all ${#kernels[@]} kernels compile for sm_70"
