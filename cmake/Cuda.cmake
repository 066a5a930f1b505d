# Finds LibTorch and a CUDA compiler of the CUDA version that LibTorch is built with. The compiler
# is nvcc or, if ISINGLASS_CLANG_CUDA is set, clang 19. ISINGLASS_CLANG_CUDA is a folder with the
# headers and tools of CUDA 12, for which the wheels contain no nvcc (scripts/setup.sh creates it).
#   isinglass_cuda_sources(target FILES…)   compiles the files into the target
# ISINGLASS_CUDA_NO_FUSED_MULTIPLY is the compiler's option that prevents fused multiply-add
# instructions.
# Under pip, this finds the compiler as scripts/common.sh does otherwise.
if(SKBUILD AND NOT DEFINED ENV{CUDACXX} AND NOT ISINGLASS_CLANG_CUDA)
  string(REGEX MATCH "^[0-9]+" cuda_major ${ISINGLASS_TORCH_CUDA})
  foreach(cuda $ENV{CUDA_HOME} /usr/local/cuda /usr/local/cuda-${cuda_major} ${CMAKE_SOURCE_DIR}/.cuda)
    if(EXISTS ${cuda}/bin/nvcc)
      execute_process(COMMAND ${cuda}/bin/nvcc --version OUTPUT_VARIABLE told)
      if(told MATCHES "release ${cuda_major}\\." AND NOT DEFINED ENV{CUDACXX})
        set(ENV{CUDACXX} ${cuda}/bin/nvcc)
        set(CUDA_TOOLKIT_ROOT_DIR ${cuda} CACHE PATH "CUDA toolkit")
        set(CUDAToolkit_ROOT ${cuda} CACHE PATH "CUDA toolkit")
      endif()
    endif()
  endforeach()
  if(NOT DEFINED ENV{CUDACXX} AND cuda_major EQUAL 12 AND EXISTS ${CMAKE_SOURCE_DIR}/.cuda12/toolkit)
    set(ISINGLASS_CLANG_CUDA ${CMAKE_SOURCE_DIR}/.cuda12/toolkit)
  endif()
endif()

if(NOT ISINGLASS_CLANG_CUDA)
  set(TORCH_CUDA_ARCH_LIST ${ISINGLASS_CUDA_ARCHITECTURES})
  # find_package(Torch) sets the -gencode flags itself; CMake's own check needs a value.
  set(CMAKE_CUDA_ARCHITECTURES OFF)
  enable_language(CUDA)
  find_package(Torch REQUIRED)
  # LibTorch's libraries need the libraries of the wheels next to it; a toolkit may have other
  # versions of them.
  file(GLOB wheel_folders ${TORCH_INSTALL_PREFIX}/../nvidia/*/lib)
  list(JOIN wheel_folders : wheel_folders)
  if(wheel_folders)
    add_link_options(-Wl,-rpath-link,${wheel_folders})
  endif()
  set(ISINGLASS_CUDA_NO_FUSED_MULTIPLY -fmad=false)

  function(isinglass_cuda_sources target)
    target_sources(${target} PRIVATE ${ARGN})
  endfunction()
  return()
endif()

# LibTorch's own CMake files require nvcc, so that its targets are created here.
find_program(ISINGLASS_CLANG clang++-19 REQUIRED)
get_filename_component(TORCH_INSTALL_PREFIX ${Torch_DIR}/../../.. ABSOLUTE)
include(${Torch_DIR}/TorchConfigVersion.cmake)
set(Torch_VERSION ${PACKAGE_VERSION})
file(GLOB cudart ${TORCH_INSTALL_PREFIX}/../nvidia/cuda_runtime/lib/libcudart.so.*)
add_library(torch::cudart SHARED IMPORTED)
set_target_properties(torch::cudart PROPERTIES IMPORTED_LOCATION ${cudart})
target_include_directories(torch::cudart SYSTEM INTERFACE ${ISINGLASS_CLANG_CUDA}/include)
add_library(torch INTERFACE IMPORTED)
target_include_directories(torch SYSTEM INTERFACE
  ${TORCH_INSTALL_PREFIX}/include ${TORCH_INSTALL_PREFIX}/include/torch/csrc/api/include)
set(torch_libraries torch torch_cpu torch_cuda c10 c10_cuda)
list(TRANSFORM torch_libraries REPLACE "(.+)" "${TORCH_INSTALL_PREFIX}/lib/lib\\1.so")
# libtorch_cuda registers operators when it is loaded, but no symbol of it is needed.
target_link_libraries(torch INTERFACE -Wl,--no-as-needed ${torch_libraries} torch::cudart)

set(ISINGLASS_CUDA_NO_FUSED_MULTIPLY -ffp-contract=off)
# Everything is inlined, as nvcc does, because a call would put the addresses of arguments into
# local memory.
set(clang_flags -x cuda --cuda-path=${ISINGLASS_CLANG_CUDA} --no-cuda-include-ptx=all -std=c++17 -O3 -fPIC
    -mllvm -inline-threshold=100000 -mllvm -locally-hot-callsite-threshold=100000 -Wall -Wextra -Werror -Wno-unknown-cuda-version -I${CMAKE_SOURCE_DIR})
foreach(architecture ${ISINGLASS_CUDA_ARCHITECTURES})
  string(REGEX MATCH "^([0-9]+)\\.([0-9]+)(\\+PTX)?$" found ${architecture})
  list(APPEND clang_flags --cuda-gpu-arch=sm_${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  if(CMAKE_MATCH_3)
    list(APPEND clang_flags --cuda-include-ptx=sm_${CMAKE_MATCH_1}${CMAKE_MATCH_2})
  endif()
endforeach()

function(isinglass_cuda_sources target)
  foreach(file ${ARGN})
    file(RELATIVE_PATH name ${CMAKE_CURRENT_SOURCE_DIR} ${file})
    set(object ${CMAKE_CURRENT_BINARY_DIR}/${name}.o)
    get_source_file_property(options ${file} COMPILE_OPTIONS)
    if(NOT options)
      set(options "")
    endif()
    get_filename_component(folder ${object} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    add_custom_command(OUTPUT ${object} DEPENDS ${file} DEPFILE ${object}.d VERBATIM
      COMMAND ${ISINGLASS_CLANG} ${clang_flags} ${options} -MD -MF ${object}.d -c ${file} -o ${object}
      COMMENT "Building CUDA object ${name}.o by clang")
    target_sources(${target} PRIVATE ${object})
  endforeach()
endfunction()
