#!/usr/bin/env bash
# Runs the C++ tests of everything that links LibTorch, and those of ranks, under AddressSanitizer
# and UndefinedBehaviorSanitizer:
#   scripts/sanitize.sh [CTEST-OPTION…]
#   ISINGLASS_FUZZ_SECONDS=120 scripts/sanitize.sh --tests-regex 'Fuzz|MatFiles'
# The host's code is built with both in build-sanitize/ (most of an hour on two cores), and the
# script runs those tests of the quick suite that use it. LibTorch itself is compiled without
# sanitizers; therefore these checks are off:
#   leaks        LibTorch keeps tables until the end, and its reader leaks its directory when it
#                refuses an archive
#   containers   a vector that grows in uninstrumented code lacks the annotations of the other side
#   vptr         LibTorch hides the type information of classes that its headers declare
# An allocation that is refused returns null or throws, as without the sanitizers, because some
# tests need that.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build=$root/build-sanitize
# GCC 12 reports std::regex as uninitialised under AddressSanitizer.
# LibTorch is compiled with NDEBUG, on which the layout of classes in its headers depends.
flags=(-O1 -g1 -DNDEBUG -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS -Wno-maybe-uninitialized
  "-fsanitize=address,undefined" -fno-sanitize=vptr -fno-sanitize-recover=all)

"$root/scripts/setup.sh" --tests
# GPU code is compiled without sanitizers, for one architecture, which is enough.
configure "$build" -DCMAKE_CXX_FLAGS_RELEASE="${flags[*]}" -DISINGLASS_CUDA_ARCHITECTURES=8.0
say "building with sanitizers"
suites=(cli dispatch engine io kernels lab models netcdf train)
cmake --build "$build" --parallel "$(parallelism)" --target isinglass "${suites[@]/%/_tests}" >&2

cores=$(nproc)
export OMP_NUM_THREADS=1
# The exit code is one that the program itself does not use.
export ASAN_OPTIONS=exitcode=99:detect_leaks=0:detect_container_overflow=0:detect_stack_use_after_return=1:allocator_may_return_null=1
export UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
# The Python that loads the package is not instrumented, and tests of the source tree and of running
# times would gain nothing here.
only=$(IFS='|' && echo "^(${suites[*]}|ranks)\\.")
exec ctest --test-dir "$build" --label-exclude long --tests-regex "$only" --exclude-regex '^ranks\.python' \
  --parallel "$cores" --output-on-failure --no-tests=error "$@"
