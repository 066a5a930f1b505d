#!/usr/bin/env bash
# Writes docs/results/gpu-predictions.md, gpu-before-after.md and scripts/gpu/predictions.json: the
# operations of a step on a GPU, counted without a GPU, and its predicted time on several GPUs by a
# model (scripts/gpu/model.py).
#   scripts/gpu-predict.sh [MEASURED…]
# MEASURED are files measured.json that scripts/gpu-check.sh wrote on GPUs: the page shows their
# times next to the predicted ones. The script builds what is missing; counting takes some minutes.
# If clang 19 is not installed, the registers of capability 7.5 stand in for the V100's.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find_disassembler
[[ -f $build/build.ninja ]] || configure "$build"
cmake --build "$build" --parallel "$(parallelism)" --target isinglass_twins gpu_counters > "$work/build.log" 2>&1 || {
  cat "$work/build.log" >&2
  die "the program that counts could not be built"
}
"$build/gpu_counters" "$work/counters.json"
cubins=()
if command -v clang++-19 > /dev/null; then
  install_cuda_12
  compile_for_volta "$work"
  cubins=(--cubins "$work")
fi
python3 -B "$root/scripts/gpu/model.py" "$work/counters.json" --binary "$build/kernels/libisinglass_twins.a" "${cubins[@]}" \
  --revision "$(git -C "$root" rev-parse --short HEAD)" --measured "$@" --page "$root/docs/results/gpu-predictions.md" --predictions "$root/scripts/gpu/predictions.json"
python3 -B "$root/scripts/gpu/before_after.py"
say "wrote docs/results/gpu-predictions.md, gpu-before-after.md and scripts/gpu/predictions.json"
