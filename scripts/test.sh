#!/usr/bin/env bash
# Runs set-up, the build and the tests:  scripts/test.sh [--long | --only-long] [--avx2]
#   (no option)   runs all tests but those that take long
#   --long        runs those too
#   --only-long   runs only those
#   --avx2        runs as on a processor without AVX-512, LibTorch too, in a separate build
#                 (build-avx2/)
# ISINGLASS_TORCH=2.7.1 (or newest) selects another LibTorch (common.sh). Tests that need a GPU or
# data that are missing are skipped, and ctest lists them.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

selection=(--label-exclude long) avx2=
for option in "$@"; do
  case $option in
    --long) selection=() ;;
    --only-long) selection=(--label-regex long) ;;
    --avx2) avx2=1 ;;
    *) die "unknown option '$option': scripts/test.sh takes --long, --only-long and --avx2" ;;
  esac
done

"$root/scripts/setup.sh" --tests
if [[ $avx2 ]]; then
  build=$root/build-avx2$variant
  configure "$build" -DISINGLASS_AVX512=OFF
  cmake --build "$build" --parallel "$(parallelism)" >&2
  export ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2
else
  "$root/scripts/build.sh" all
fi
# Every core runs one test. Tests about threads set the number of threads themselves. nproc respects
# OMP_NUM_THREADS, so that cores are counted first.
cores=$(nproc)
export OMP_NUM_THREADS=1
exec ctest --test-dir "$build" "${selection[@]}" --parallel "$cores" \
  --output-on-failure --no-tests=error
