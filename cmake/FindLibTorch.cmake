# Finds LibTorch in the repository's .venv unless -DTorch_DIR names another one, and names the
# CUDA architectures before find_package(Torch), which otherwise asks a GPU for them.
if(NOT Torch_DIR)
  file(GLOB torch_dirs ${CMAKE_SOURCE_DIR}/.venv/lib/python3*/site-packages/torch/share/cmake/Torch)
  if(NOT torch_dirs)
    message(FATAL_ERROR "LibTorch not found: run scripts/setup.sh, or give -DTorch_DIR=DIR")
  endif()
  list(GET torch_dirs 0 torch_dir)
  set(Torch_DIR ${torch_dir} CACHE PATH "Folder of TorchConfig.cmake")
endif()

set(ISINGLASS_CUDA_ARCHITECTURES "7.5;8.0;9.0+PTX" CACHE STRING "CUDA architectures to compile for")
set(TORCH_CUDA_ARCH_LIST ${ISINGLASS_CUDA_ARCHITECTURES})
# find_package(Torch) sets the -gencode flags itself; CMake's own check needs a value.
set(CMAKE_CUDA_ARCHITECTURES OFF)
