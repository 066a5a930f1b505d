#!/usr/bin/env bash
# Makes an archive of the program and its tests that runs on other Linux machines (x86-64, glibc
# 2.34 or newer) with the PyTorch that their Python has. It must be the release with which the
# program was built (2.11 for CUDA 13; with ISINGLASS_TORCH=2.7.1 the one for CUDA 12.6, which a
# V100 needs):
#   scripts/bundle.sh [OUT]                 builds, then writes OUT/isinglass-….tar.gz (default dist)
#   scripts/bundle.sh --build BUILD [OUT]   packs the contents of the build folder BUILD
# The archive contains bin/ (the commands to start), libexec/ (the programs), lib/ (the libraries
# that come with them), tests/ (files that tests read) and scripts/gpu-check.sh. It does not contain
# LibTorch, CUDA, the C and C++ runtimes (PyTorch itself needs them) and the library that writes
# samples.nc through HDF5.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

# The newest versions of symbols on the oldest supported machine: glibc 2.34 comes with GCC 11's
# runtime.
declare -A newest=([GLIBC]=2.34 [GLIBCXX]=3.4.29 [CXXABI]=1.3.13 [GCC]=11.0 [GOMP]=4.5)
largest=60000000  # bytes, packed

needed() { readelf -dW "$@" 2> /dev/null | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u; }

# Succeeds for libraries that every machine, or its PyTorch, provides.
on_every_machine() {
  case $1 in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.* | ld-linux-* | \
      libstdc++.so.* | libgcc_s.so.* | libtorch*.so | libc10*.so | libcudart.so.*) ;;
    *) return 1 ;;
  esac
}

# Copies the libraries that the files of $1/libexec and $1/lib need, directly or indirectly, to
# $1/lib.
copy_libraries() {
  local name path again=yes
  while [[ -n $again ]]; do
    again=
    for name in $(needed "$1"/libexec/* "$1"/lib/*); do
      if on_every_machine "$name" || [[ -e $1/lib/$name ]]; then continue; fi
      path=$(ldd "$1"/libexec/* | sed -n "s|^\s*$name => \(/.*\) (0x.*|\1|p" | sed -n 1p)
      # LibTorch's wheel has its own copy of GCC's OpenMP; the archive gets the compiler's.
      [[ $name != libgomp.so.* ]] || path=$(g++ -print-file-name="$name")
      [[ -f $path ]] || die "the library $name, which the programs need, is not found"
      install -m 644 "$path" "$1/lib/$name"
      copy_licence "$path" "$1/licences"
      again=yes
    done
  done
}

# Copies a library's licence, which Debian stores by package.
copy_licence() {
  local package
  package=$(dpkg -S "$(readlink -f "$1")" 2> /dev/null || dpkg -S "*/$(basename "$(readlink -f "$1")")" 2> /dev/null || true)
  package=${package%%:*}
  [[ -z $package ]] || install -Dm 644 "/usr/share/doc/$package/copyright" "$2/$package"
}

# Prints the versions of symbols that a file needs, such as GLIBC_2.34.
needed_versions() {
  LC_ALL=C readelf -VW "$1" | sed -n '/^Version needs section/,$s/.*Name: \([A-Z]*_[A-Z0-9_.]*\) .*/\1/p' | sort -u
}

# Fails if a file needs a symbol that the oldest machine lacks, or looks for libraries in other
# folders.
check_files() {
  local file version most versions
  for file in "$1"/libexec/* "$1"/lib/*; do
    versions=$(needed_versions "$file")
    [[ $versions == *GLIBC_* ]] || die "$(basename "$file") names no version of glibc: readelf was not understood"
    for version in $versions; do
      most=${newest[${version%%_*}]:-}
      [[ -n $most ]] || continue
      [[ $(printf '%s\n' "$most" "${version#*_}" | sort -V | tail -n 1) == "$most" ]] ||
        die "$(basename "$file") needs $version, and the oldest machine has ${version%%_*}_$most:" \
          "bundle on Debian 12, or in its container (Dockerfile)"
    done
    if [[ $file == */libexec/* ]]; then check_path "$file" "\$ORIGIN/../lib"; fi
  done
}

check_path() {
  local path
  path=$(readelf -dW "$1" | sed -n 's/.*(R.*PATH).*\[\(.*\)\]/\1/p')
  [[ $path == "$2" ]] || die "$(basename "$1") looks for libraries in '$path', not in $2"
}

if [[ ${1:-} == --build ]]; then
  build=${2:?--build needs a folder}
  shift 2
else
  "$root/scripts/build.sh" all
fi
out=${1:-$root/dist}
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$build/CMakeCache.txt")
# Reads the release and the CUDA version of the program's LibTorch. The archive's name mentions the
# release unless it is the default one.
torch=$(sed -n 's/^Torch_DIR:PATH=//p' "$build/CMakeCache.txt")/../../../version.py
release=$(sed -n "s/^__version__ = '\([0-9.]*\).*/\1/p" "$torch")
torch_for=$(sed -n "s/^cuda.*'\([0-9.]*\)'.*/\1/p" "$torch")
[[ -n $release && -n $torch_for ]] || die "$torch does not say which LibTorch this is"
name=isinglass-$version-linux-$(uname -m)
[[ $release == "$default_torch" ]] || name+=-torch-$release

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bundle=$scratch/$name
cmake --install "$build" --prefix "$bundle" --component bundle --strip > /dev/null
copy_libraries "$bundle"
check_files "$bundle"
mkdir -p "$bundle"/{bin,scripts/gpu,tests/io/pt,tests/models,tests/engine/data,tests/ranks,tests/support}
install -m 755 "$root"/scripts/{launch.sh,gpu-check.sh} "$bundle/scripts/"
install -m 644 "$root"/scripts/common.sh "$bundle/scripts/"
install -m 644 "$root"/scripts/gpu/{measure.py,steps.tsv,predictions.json} "$bundle/scripts/gpu/"
install -m 644 "$root"/{LICENSE,README.md} "$bundle/"
echo "$release $torch_for" > "$bundle/torch"  # for launch.sh
cp -r "$root"/tests/io/corpus "$bundle/tests/io/"
cp "$root"/tests/io/pt/pt_python.py "$bundle/tests/io/pt/"
cp -r "$root"/tests/models/golden "$bundle/tests/models/"
cp "$root"/tests/engine/data/*.pt "$bundle/tests/engine/data/"
cp "$root"/tests/ranks/{job,gpu_test}.py "$bundle/tests/ranks/"
cp "$root"/tests/support/faulty_server.py "$bundle/tests/support/"
for program in "$bundle"/libexec/*; do
  ln -s ../scripts/launch.sh "$bundle/bin/$(basename "$program")"
done

mkdir -p "$out"
tar -C "$scratch" --sort=name --owner=0 --group=0 --numeric-owner -c "$name" | gzip -9 > "$out/$name.tar.gz"
size=$(stat -c %s "$out/$name.tar.gz")
[[ $size -lt $largest ]] || die "$out/$name.tar.gz has $size bytes, more than $largest"
say "$out/$name.tar.gz ($((size / 1000)) kB)"
