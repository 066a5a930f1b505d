#!/usr/bin/env bash
# The C++ tests of everything that links LibTorch, and those of ranks, under AddressSanitizer and
# UndefinedBehaviorSanitizer:
#   scripts/sanitize.sh [CTEST-OPTION…]
#   ISINGLASS_FUZZ_SECONDS=120 scripts/sanitize.sh --tests-regex 'Fuzz|MatFiles'
# Builds the host's code with them in build-sanitize/ (most of an hour on two cores) and runs what
# the quick suite has of it. LibTorch itself is compiled without; what follows from that is off:
#   leaks        LibTorch keeps tables to the end, and its reader loses its directory when it refuses
#                an archive
#   containers   a vector that one side grows has no marks of the other's
#   vptr         LibTorch hides the type information of classes that its headers name
# Tests that want an allocation refused want a null, or an exception, as without the sanitizers.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

build=$root/build-sanitize
# GCC 12 takes std::regex for uninitialised under AddressSanitizer.
flags=(-O1 -g1 -fno-omit-frame-pointer -D_GLIBCXX_ASSERTIONS -Wno-maybe-uninitialized
  "-fsanitize=address,undefined" -fno-sanitize=vptr -fno-sanitize-recover=all)

"$root/scripts/setup.sh" --tests
# Code for GPUs is compiled without, and once is enough.
configure "$build" -DCMAKE_CXX_FLAGS_RELEASE="${flags[*]}" -DISINGLASS_CUDA_ARCHITECTURES=8.0
say "building with sanitizers"
suites=(cli dispatch engine io kernels lab models netcdf train)
cmake --build "$build" --parallel "$(parallelism)" --target isinglass "${suites[@]/%/_tests}" >&2

cores=$(nproc)
export OMP_NUM_THREADS=1
# Of no exit code that the program has.
export ASAN_OPTIONS=exitcode=99:detect_leaks=0:detect_container_overflow=0:detect_stack_use_after_return=1:allocator_may_return_null=1
export UBSAN_OPTIONS=exitcode=99:print_stacktrace=1
# The Python that loads the package is without, and tests of the tree and of times gain nothing here.
only=$(IFS='|' && echo "^(${suites[*]}|ranks)\\.")
exec ctest --test-dir "$build" --label-exclude long --tests-regex "$only" --exclude-regex '^ranks\.python' \
  --parallel "$cores" --output-on-failure --no-tests=error "$@"
