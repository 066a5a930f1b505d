# shellcheck shell=bash
# Sourced by the other scripts: where things are, which LibTorch and which CUDA compiler to use.
# The caller has run `set -euo pipefail`.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { echo "isinglass: $*" >&2; }

die() {
  say "error: $*"
  exit 1
}

# $ISINGLASS_TORCH names a LibTorch: a version, or `newest` for the newest that pip finds. Any but the
# default has its virtual environment and its build folder beside the default's: .venv-2.7.1, build-2.7.1.
default_torch=2.11.0
torch_version=${ISINGLASS_TORCH:-$default_torch}
[[ $torch_version =~ ^([0-9]+\.[0-9]+\.[0-9]+|newest)$ ]] ||
  die "ISINGLASS_TORCH is '$torch_version': a version of three numbers is needed, or newest"
variant=-$torch_version
[[ $torch_version != "$default_torch" ]] || variant=
# shellcheck disable=SC2034
venv=$root/.venv$variant build=$root/build$variant

# The version of CUDA that the LibTorch in $venv is built for; nothing before it is there.
torch_cuda() { sed -n "s/^cuda.*'\([0-9.]*\)'.*/\1/p" "$venv"/lib/python3*/site-packages/torch/version.py 2> /dev/null || true; }

# Sets `cuda` to the folder of a CUDA toolkit of the major version that LibTorch is built for: one
# that is installed, else the links to the wheels' one. Fails when there is neither.
# ISINGLASS_CUDA=wheels passes installed ones by.
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

# The toolkit of clang, where there is no nvcc of CUDA 12: the wheels have one for CUDA 13 only.
cuda_12=$root/.cuda12/toolkit
clang_cuda() { [[ $(torch_cuda) == 12.* && -x $cuda_12/bin/fatbinary ]] && command -v clang++-19 > /dev/null; }

# Makes it of wheels, which bring a folder each (75 MB).
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

# compile_for_volta FOLDER: every kernel as FOLDER/NAME.cubin for sm_70, which CUDA 13 no longer knows, by clang 19
# and CUDA 12. Options as of the build (cmake/Cuda.cmake, kernels/CMakeLists.txt).
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

# Puts cuobjdump and nvdisasm on the PATH: of a toolkit, of the test packages (setup.sh), or else of wheels that it
# brings to .cuda-tools/ (6 MB).
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

# configure BUILD [CMAKE-OPTION…]: a Release build of the repository in the folder BUILD. CMake's words
# are shown only when it fails.
configure() {
  local log=$1/configure.log options=(-DISINGLASS_VENV="$venv")
  if find_cuda; then
    export CUDACXX=$cuda/bin/nvcc CUDA_HOME=$cuda
    options+=(-DCUDA_TOOLKIT_ROOT_DIR="$cuda" -DCUDAToolkit_ROOT="$cuda")
  elif clang_cuda; then
    options+=(-DISINGLASS_CLANG_CUDA="$cuda_12")
  else
    die "no compiler for CUDA $(torch_cuda)"
  fi
  mkdir -p "$1"
  cmake -S "$root" -B "$1" -G Ninja -DCMAKE_BUILD_TYPE=Release "${options[@]}" "${@:2}" > "$log" 2>&1 || {
    cat "$log" >&2
    die "CMake could not configure ${1##*/}/ (see above)"
  }
}

# As many jobs as there are cores, if each can have the 2 GB that a source with LibTorch takes.
parallelism() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/^MemAvailable/ { print int($2 / 2e6) }' /proc/meminfo)
  echo $((memory < 1 ? 1 : memory < cores ? memory : cores))
}
