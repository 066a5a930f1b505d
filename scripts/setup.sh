#!/usr/bin/env bash
# Installs what a bare Debian or Ubuntu machine lacks to build Isinglass: distribution packages (as
# root, or through sudo), LibTorch in .venv/, and, if no CUDA compiler is installed, the compiler
# from wheels, with links to it in .cuda/. No GPU is needed. If nothing is missing, nothing is done.
#   scripts/setup.sh           installs what the build and the program need
#   scripts/setup.sh --tests   also installs what only tests use: GoogleTest and Python packages
# ISINGLASS_TORCH=2.7.1 (or newest) selects another LibTorch (common.sh). A LibTorch for CUDA 12,
# which supports the V100, gets clang 19 as its CUDA compiler if no nvcc 12 is installed.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

case "$*" in
  "") tests=no ;;
  --tests) tests=yes ;;
  *) die "unknown option '$*': scripts/setup.sh takes none, or --tests" ;;
esac

test_packages=(arviz==0.23.4 h5netcdf pytest==9.2.0 nbclient==0.11.0 ipykernel==7.4.0 tensorboard==2.21.0
  scikit-build-core==1.1.2 dimod==0.12.23 mypy==2.4.1 nvidia-cuda-cuobjdump==13.2.78 nvidia-cuda-nvdisasm==13.2.78)
default_cuda=13.0.2  # the toolkit that the default LibTorch is built with

# Lists the packages that the build and the program need, each with a command or a header that it
# contains. The program downloads data sets with curl.
tools=(g++:g++ cmake:cmake ninja-build:ninja curl:curl)
libraries=(
  zlib1g-dev:zlib.h nettle-dev:nettle/sha2.h libpng-dev:png.h libfmt-dev:fmt/core.h
  libcxxopts-dev:cxxopts.hpp libtomlplusplus-dev:toml++/toml.h libhwy-dev:hwy/highway.h
  nlohmann-json3-dev:nlohmann/json.hpp libhdf5-dev:hdf5/serial/hdf5_hl.h
  libboost-math-dev:boost/math/distributions/students_t.hpp
)
[[ $tests == no ]] || libraries+=(libgtest-dev:gtest/gtest.h)
chart_js=/usr/share/javascript/chart.js/chart.min.js  # becomes part of the program's pages

# Prints the missing libraries. The compiler itself looks for the headers, so that libraries from
# other places count; without a compiler, all are missing.
missing_libraries() {
  local library
  for library in "${libraries[@]}"; do
    printf '#if !__has_include(<%s>)\n%s\n#endif\n' "${library#*:}" "${library%%:*}"
  done | g++ -x c++ -E -P - 2> /dev/null || printf '%s\n' "${libraries[@]%%:*}"
}

missing_packages() {
  local tool
  for tool in "${tools[@]}"; do
    command -v "${tool#*:}" > /dev/null || echo "${tool%%:*}"
  done
  missing_libraries
  [[ -f $chart_js ]] || echo libjs-chart.js
  [[ -x $venv/bin/python ]] || python3 -c 'import ensurepip, venv' 2> /dev/null ||
    echo python3-venv
  has_python_header || echo python3-dev
}

# Succeeds if Python.h exists for .venv's Python, or for the Python from which .venv will be
# created.
has_python_header() {
  local python=$venv/bin/python
  [[ -x $python ]] || python=python3
  [[ -f $("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h ]]
}

install_packages() {
  # ccache is useful but not needed: it is installed only together with other packages.
  local as_root=() install=(apt-get install -y --no-install-recommends "$@" ccache)
  local wish="these packages are missing: $*; install them with: sudo apt-get update && sudo ${install[*]}"
  command -v apt-get > /dev/null || die "$wish (this is not Debian or Ubuntu: install what they hold)"
  if [[ $(id -u) != 0 ]]; then
    command -v sudo > /dev/null || die "$wish"
    [[ -t 0 ]] || sudo -n true 2> /dev/null || die "$wish"
    as_root=(sudo)
  fi
  say "installing the packages $*"
  "${as_root[@]}" apt-get update -q >&2 || die "apt-get update failed; $wish"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "${install[@]}" >&2 || die "$wish"
}

pip_install() { "$venv/bin/python" -m pip install --disable-pip-version-check "$@" >&2; }

# Succeeds if a wheel is installed. pip writes INSTALLER last, so that an interrupted installation
# does not count.
has_wheel() { compgen -G "$venv/lib/python3*/site-packages/$1.dist-info/INSTALLER" > /dev/null; }

torch_wheel=torch-$torch_version requirement=torch==$torch_version
if [[ $torch_version == newest ]]; then torch_wheel='torch-*' requirement=torch; fi

install_torch() {
  say "installing LibTorch $torch_version into ${venv##*/} (about 5 GB on disk)"
  [[ -x $venv/bin/python ]] || python3 -m venv "$venv"
  pip_install "$requirement" numpy
}

has_test_packages() {
  local package
  for package in "${test_packages[@]//-/_}"; do has_wheel "${package/==/-}*" || return 1; done
}

# Installs the packages with which the tests of the Python package and its notebooks read results.
install_test_packages() {
  say "installing ${test_packages[*]} into ${venv##*/}"
  pip_install "${test_packages[@]}"
}

# Creates links to the wheels' toolkit. The wheels name libraries by version only (libcudart.so.13),
# while compilers look for libcudart.so. bin/ is a folder of links and not itself a link, because
# nvcc looks for its libraries in bin/../lib64.
link_cuda() {
  local toolkit library name cuda=$root/.cuda$variant
  toolkit=$(echo "$venv"/lib/python3*/site-packages/nvidia/cu13)
  rm -rf "$cuda"
  mkdir -p "$cuda/bin" "$cuda/lib"
  ln -sr "$toolkit"/bin/* "$cuda/bin/"
  ln -sr "$toolkit"/{include,nvvm} "$cuda/"
  for library in "$toolkit"/lib/*; do
    name=$(basename "$library")
    ln -sr "$library" "$cuda/lib/$name"
    [[ $name != *.so.* || -e $cuda/lib/${name%%.so.*}.so ]] ||
      ln -sr "$library" "$cuda/lib/${name%%.so.*}.so"
  done
  ln -s lib "$cuda/lib64"
}

install_cuda() {
  local version=$default_cuda
  if [[ $(torch_cuda) == 12.* ]]; then
    command -v clang++-19 > /dev/null || install_packages clang-19
    install_cuda_12
    return
  fi
  [[ -z $variant ]] || version="$(torch_cuda).*"
  say "installing the CUDA $version compiler into ${venv##*/}, with links in .cuda$variant"
  pip_install "cuda-toolkit[nvcc,cccl,crt,nvvm]==$version"
  link_cuda
  find_cuda || die "$root/.cuda$variant/bin/nvcc does not run"
}

packages=$(missing_packages)
# shellcheck disable=SC2086
[[ -z $packages ]] || install_packages $packages
if ! has_wheel "$torch_wheel" || ! has_wheel "numpy-*"; then install_torch; fi
find_cuda || clang_cuda || install_cuda
[[ $tests == no ]] || has_test_packages || install_test_packages
