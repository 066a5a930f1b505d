#!/usr/bin/env bash
# Set-up, build, and the tests:  scripts/test.sh [--long | --only-long]
#   (no option)   all tests but those that take long
#   --long        those too
#   --only-long   only those
# ISINGLASS_TORCH=2.7.1 or newest: with another LibTorch (common.sh).
# Tests of a GPU or of data that is not there are skipped, and ctest says which.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "$*" in
  "") selection=(--label-exclude long) ;;
  --long) selection=() ;;
  --only-long) selection=(--label-regex long) ;;
  *) die "unknown option '$*': scripts/test.sh takes none, --long or --only-long" ;;
esac

"$root/scripts/setup.sh" --tests
"$root/scripts/build.sh" all
# A test on each core: tests that are about threads set their number themselves. nproc heeds the
# variable, so that cores are counted first.
cores=$(nproc)
export OMP_NUM_THREADS=1
exec ctest --test-dir "$build" "${selection[@]}" --parallel "$cores" \
  --output-on-failure --no-tests=error
