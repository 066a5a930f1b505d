#!/usr/bin/env bash
# Writes docs/results/gpu-predictions.md, gpu-before-after.md and scripts/gpu/predictions.json: what a step does on a GPU, counted without
# one, and how long it would take on GPUs by a model (scripts/gpu/model.py).
#   scripts/gpu-predict.sh [MEASURED…]
# MEASURED are files measured.json of scripts/gpu-check.sh, run on GPUs: the page has their times beside the predicted
# ones. Builds what is missing; counting takes some minutes. The V100's registers are those of capability 7.5 where
# clang 19 is not installed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
find_disassembler
[[ -f $build/build.ninja ]] || configure "$build"
cmake --build "$build" --parallel "$(parallelism)" --target isinglass_ops gpu_counters > "$work/build.log" 2>&1 || {
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
python3 -B "$root/scripts/gpu/model.py" "$work/counters.json" --binary "$build/libisinglass_ops.so" "${cubins[@]}" \
  --revision "$(git -C "$root" rev-parse --short HEAD)" --measured "$@" --page "$root/docs/results/gpu-predictions.md" --predictions "$root/scripts/gpu/predictions.json"
python3 -B "$root/scripts/gpu/before_after.py"
say "wrote docs/results/gpu-predictions.md, gpu-before-after.md and scripts/gpu/predictions.json"
