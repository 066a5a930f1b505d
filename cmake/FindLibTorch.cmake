# Finds LibTorch: under pip that of the Python that builds, otherwise the one in ISINGLASS_VENV;
# -DTorch_DIR overrides both. Sets the CUDA architectures before find_package(Torch), which would
# otherwise ask a GPU.
set(ISINGLASS_VENV ${CMAKE_SOURCE_DIR}/.venv CACHE PATH "Virtual environment that has torch")
if(NOT Torch_DIR)
  if(SKBUILD)
    execute_process(COMMAND ${Python_EXECUTABLE} -c "import torch.utils; print(torch.utils.cmake_prefix_path)"
                    OUTPUT_VARIABLE torch_dirs OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
    string(APPEND torch_dirs /Torch)
  else()
    file(GLOB torch_dirs ${ISINGLASS_VENV}/lib/python3*/site-packages/torch/share/cmake/Torch)
  endif()
  if(NOT torch_dirs)
    message(FATAL_ERROR "LibTorch not found: run scripts/setup.sh, or give -DTorch_DIR=DIR")
  endif()
  list(GET torch_dirs 0 torch_dir)
  set(Torch_DIR ${torch_dir} CACHE PATH "Folder of TorchConfig.cmake")
endif()

# Sets the Python to which this torch belongs, for the package: pip's, otherwise the virtual
# environment's.
if(SKBUILD)
  set(ISINGLASS_PYTHON ${Python_EXECUTABLE})
elseif(EXISTS ${ISINGLASS_VENV}/bin/python)
  set(ISINGLASS_PYTHON ${ISINGLASS_VENV}/bin/python)
endif()

# Reads the version of CUDA for which LibTorch is built.
file(GLOB torch_version_file ${Torch_DIR}/../../../version.py)
if(torch_version_file)
  file(STRINGS ${torch_version_file} torch_cuda REGEX "^cuda")
  string(REGEX REPLACE ".*'([0-9.]*)'.*" "\\1" ISINGLASS_TORCH_CUDA "${torch_cuda}")
endif()

# CUDA 13 supports no GPU older than Turing; CUDA 12 supports the V100.
if(ISINGLASS_TORCH_CUDA MATCHES "^12")
  set(architectures "7.0;7.5;8.0;9.0+PTX")
else()
  set(architectures "7.5;8.0;9.0+PTX")
endif()
set(ISINGLASS_CUDA_ARCHITECTURES ${architectures} CACHE STRING "CUDA architectures to compile for")
