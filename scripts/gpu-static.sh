#!/usr/bin/env bash
# Writes docs/results/gpu-static.md: registers, local memory, shared memory, occupancy and kinds of
# instructions of every kernel and architecture, from the machine code (scripts/gpu/static.py). No
# GPU is needed.
#   scripts/gpu-static.sh
# The script builds the default build's kernels if necessary and, if clang 19 is installed, the
# kernels for compute capability 7.0 (check-v100.sh). The launches for the occupancy are those of
# the latest run of scripts/gpu-predict.sh. The script fails if a kernel exceeds
# kernels/budgets.toml.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

page=$root/docs/results/gpu-static.md
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

find_disassembler
find_cuda || die "no nvcc of CUDA $(torch_cuda)"
[[ -f $build/build.ninja ]] || configure "$build"
cmake --build "$build" --parallel "$(parallelism)" --target isinglass_twins > "$work/build.log" 2>&1 || {
  cat "$work/build.log" >&2
  die "the kernels could not be built"
}

title="revision $(git -C "$root" rev-parse --short HEAD), 7.5 to 9.0 by nvcc $("$cuda/bin/nvcc" --version | sed -n 's/.*V\([0-9.]*\)$/\1/p')"
volta=()
if command -v clang++-19 > /dev/null; then
  install_cuda_12
  compile_for_volta "$work"
  volta=("$work"/*.cubin)
  title+=", 7.0 by clang $(clang++-19 -dumpversion) and ptxas 12.6"
else
  title+="; 7.0 is missing, for which CUDA 13 has no compiler: install clang-19"
fi
python3 -B "$root/scripts/gpu/static.py" page --budgets "$root/kernels/budgets.toml" --launches "$root/scripts/gpu/predictions.json" \
  --title "$title" "$build/kernels/libisinglass_twins.a" "${volta[@]}" > "$work/page.md"
mv "$work/page.md" "$page"
say "wrote ${page#"$root"/}"
