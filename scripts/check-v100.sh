#!/usr/bin/env bash
# Compiles every kernel for the V100 (sm_70), which CUDA 13 no longer supports, and checks the code
# against kernels/budgets.toml. It uses clang 19 and the headers and libraries of CUDA 12.6 from
# wheels, in .cuda12/. No GPU is needed.
#   scripts/check-v100.sh
# If clang 19 is missing, the exit code is 77, which ctest reports as skipped. This script builds no
# program; ISINGLASS_TORCH=2.7.1 scripts/build.sh does, with a LibTorch for CUDA 12.6.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

if ! command -v clang++-19 > /dev/null; then
  say "error: clang 19 is missing; install it with: sudo apt-get install -y clang-19"
  exit 77
fi

install_cuda_12
cubins=$(mktemp -d)
trap 'rm -rf "$cubins"' EXIT
compile_for_volta "$cubins"
find_disassembler
python3 -B "$root/scripts/gpu/static.py" check --budgets "$root/kernels/budgets.toml" "$cubins"/*.cubin
say "all $(find "$cubins" -name "*.cubin" | wc -l) kernels compile for sm_70"
