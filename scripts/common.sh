# shellcheck shell=bash
# Defines, for the other scripts that source it, the locations of files and the LibTorch and CUDA
# compiler to use. The caller has to run `set -euo pipefail` first.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { echo "isinglass: $*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# $ISINGLASS_TORCH selects a LibTorch: a version, or `newest` for the newest that pip finds. Every
# version but the default has its own virtual environment and build folder: .venv-2.7.1,
# build-2.7.1.
default_torch=2.11.0
torch_version=${ISINGLASS_TORCH:-$default_torch}
[[ $torch_version =~ ^([0-9]+\.[0-9]+\.[0-9]+|newest)$ ]] ||
  die "ISINGLASS_TORCH is '$torch_version': a version of three numbers is needed, or newest"
variant=-$torch_version
[[ $torch_version != "$default_torch" ]] || variant=
# shellcheck disable=SC2034
venv=$root/.venv$variant build=$root/build$variant

# Prints the version of CUDA for which the LibTorch in $venv is built; nothing if it is not
# installed.
torch_cuda() { sed -n "s/^cuda.*'\([0-9.]*\)'.*/\1/p" "$venv"/lib/python3*/site-packages/torch/version.py 2> /dev/null || true; }

# Sets `cuda` to the folder of a CUDA toolkit with the major version for which LibTorch is built: an
# installed one, otherwise the links to the one from wheels. Fails if there is neither.
# ISINGLASS_CUDA=wheels ignores installed ones.
find_cuda() {
  local on_path folders=() major
  major=$(torch_cuda)
  if [[ ${ISINGLASS_CUDA:-} != wheels ]]; then
    on_path=$(readlink -f "$(command -v nvcc || true)")
    folders=("${CUDA_HOME:-}" "${on_path%/bin/nvcc}" /usr/local/cuda "/usr/local/cuda-${major%%.*}")
  fi
  for cuda in "${folders[@]}" "$root/.cuda$variant"; do
    [[ -n $cuda && $("$cuda/bin/nvcc" --version 2> /dev/null) == *"release ${major%%.*}."* ]] && return
  done
  return 1
}

# The toolkit for clang, used if there is no nvcc for CUDA 12: the wheels have nvcc for CUDA 13
# only.
cuda_12=$root/.cuda12/toolkit
clang_cuda() { [[ $(torch_cuda) == 12.* && -x $cuda_12/bin/fatbinary ]] && command -v clang++-19 > /dev/null; }

# Creates this toolkit from wheels, each of which brings a folder (75 MB).
install_cuda_12() {
  local part
  [[ ! -x $cuda_12/bin/fatbinary ]] || return 0
  say "installing the headers and libraries of CUDA 12.6 into .cuda12"
  rm -rf "$root/.cuda12"
  "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps --target "$root/.cuda12/wheels" \
    nvidia-cuda-nvcc-cu12==12.6.85 nvidia-cuda-runtime-cu12==12.6.77 nvidia-cuda-cccl-cu12==12.6.77 \
    nvidia-nvfatbin-cu12==12.6.77 >&2
  mkdir "$cuda_12.part"
  for part in nvcc runtime cccl; do
    cp -a "$root/.cuda12/wheels/nvidia/cuda_$part/." "$cuda_12.part/"
  done
  cp -a "$root/.cuda12/wheels/nvidia/nvfatbin/lib/." "$cuda_12.part/lib/"
  ln -sr "$root/scripts/fatbinary.py" "$cuda_12.part/bin/fatbinary"
  rm -r "$root/.cuda12/wheels"
  mv "$cuda_12.part" "$cuda_12"
}

# compile_for_volta FOLDER compiles every kernel to FOLDER/NAME.cubin for sm_70, which CUDA 13 no
# longer supports, with clang 19 and CUDA 12. The options are those of the build (cmake/Cuda.cmake,
# kernels/CMakeLists.txt).
compile_for_volta() {
  local kernel name failed=0 kernels options
  mapfile -t kernels < <(find "$root/kernels" -name "*.cu" | sort)
  for kernel in "${kernels[@]}"; do
    name=$(basename "$kernel" .cu) options=()
    [[ $name != jump && $name != lattice_jump ]] || options=(-ffp-contract=off)
    clang++-19 -x cuda --cuda-path="$cuda_12" --cuda-gpu-arch=sm_70 --cuda-device-only -std=c++17 -O3 \
      -mllvm -inline-threshold=100000 -mllvm -locally-hot-callsite-threshold=100000 -Wno-unknown-cuda-version \
      "${options[@]}" -I"$root" -c "$kernel" -o "$1/$name.cubin" || {
      say "error: $name.cu does not compile for sm_70"
      failed=$((failed + 1))
    }
  done
  [[ $failed == 0 ]] || die "$failed of ${#kernels[@]} kernels do not compile for sm_70"
}

# Puts cuobjdump and nvdisasm on the PATH: those of a toolkit, of the test packages (setup.sh), or
# otherwise of wheels that it installs into .cuda-tools/ (6 MB).
find_disassembler() {
  local folder
  for folder in "${CUDA_HOME:-/usr/local/cuda}/bin" "$venv"/lib/python3*/site-packages/nvidia/cu13/bin \
    "$root/.cuda-tools/nvidia/cu13/bin"; do
    PATH=$PATH:$folder
  done
  if command -v cuobjdump > /dev/null && command -v nvdisasm > /dev/null; then return; fi
  say "installing cuobjdump and nvdisasm into .cuda-tools"
  "$venv/bin/python" -m pip install --disable-pip-version-check --quiet --no-deps --target "$root/.cuda-tools" \
    nvidia-cuda-cuobjdump==13.2.78 nvidia-cuda-nvdisasm==13.2.78 >&2
}

# Sets `options` to CMake's definitions that select LibTorch and the CUDA compiler.
select_compiler() {
  options=("ISINGLASS_VENV=$venv")
  if find_cuda; then
    export CUDACXX=$cuda/bin/nvcc CUDA_HOME=$cuda
    options+=("CUDA_TOOLKIT_ROOT_DIR=$cuda" "CUDAToolkit_ROOT=$cuda")
  elif clang_cuda; then
    options+=("ISINGLASS_CLANG_CUDA=$cuda_12")
  else
    die "no compiler for CUDA $(torch_cuda)"
  fi
}

# configure BUILD [CMAKE-OPTION…] configures a Release build of the repository in the folder BUILD.
# CMake's output is shown only if it fails.
configure() {
  local log=$1/configure.log options
  select_compiler
  mkdir -p "$1"
  cmake -S "$root" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]/#/-D}" "${@:2}" > "$log" 2>&1 || {
    cat "$log" >&2
    die "CMake could not configure ${1##*/}/ (see above)"
  }
}

# Prints the number of parallel jobs: one per core, if each can have the 2 GB that a source with
# LibTorch takes.
parallelism() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 2e6) }' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}
