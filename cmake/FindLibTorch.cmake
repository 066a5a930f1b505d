# Finds LibTorch in the repository's .venv unless -DTorch_DIR names another one, and names the
# CUDA architectures before find_package(Torch), which otherwise asks a GPU for them.
if(SKBUILD AND NOT Torch_DIR)  # pip: the torch of the Python that builds
  execute_process(COMMAND ${Python_EXECUTABLE} -c "import torch.utils; print(torch.utils.cmake_prefix_path)"
                  OUTPUT_VARIABLE prefix OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(Torch_DIR ${prefix}/Torch CACHE PATH "Folder of TorchConfig.cmake")
  # A CUDA toolkit that is installed, else the links that scripts/setup.sh makes (scripts/common.sh).
  foreach(cuda $ENV{CUDA_HOME} /usr/local/cuda ${CMAKE_SOURCE_DIR}/.cuda)
    if(NOT DEFINED ENV{CUDACXX} AND EXISTS ${cuda}/bin/nvcc)
      set(ENV{CUDACXX} ${cuda}/bin/nvcc)
      set(CUDA_TOOLKIT_ROOT_DIR ${cuda} CACHE PATH "CUDA toolkit")
      set(CUDAToolkit_ROOT ${cuda} CACHE PATH "CUDA toolkit")
    endif()
  endforeach()
endif()
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

# The Python whose torch this is, for the package: pip's, else .venv's.
if(SKBUILD)
  set(ISINGLASS_PYTHON ${Python_EXECUTABLE})
elseif(EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  set(ISINGLASS_PYTHON ${CMAKE_SOURCE_DIR}/.venv/bin/python)
endif()
