# isinglass_library(name SOURCES … LINKS …) adds a static library, one per folder, with warnings as
# errors. isinglass_bundled(target) makes scripts/bundle.sh pack the target.

set(ISINGLASS_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)

# LibTorch's headers take long to parse: all sources that include them share one precompiled header,
# and are therefore compiled with the same options. Loops over chains and sites are in kernels/,
# compiled with -O3. The other sources call LibTorch, and -O3 would add a third to the build time
# without making them faster.
set(ISINGLASS_TORCH_OPTIMISATION $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
add_library(isinglass_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(isinglass_pch PRIVATE torch fmt::fmt-header-only OpenMP::OpenMP_CXX)
target_compile_options(isinglass_pch PRIVATE ${ISINGLASS_TORCH_OPTIMISATION})
target_precompile_headers(isinglass_pch PRIVATE ${CMAKE_SOURCE_DIR}/io/torch.h)

# A source that includes LibTorch takes four seconds even if it is empty, and most of the others'
# time goes to the same templates: eight sources of a target are compiled as one file. Helpers of
# two sources may therefore not have the same name.
# -DISINGLASS_UNITY=OFF compiles every source alone, for work on a few sources.
option(ISINGLASS_UNITY "Compile several sources that use LibTorch as one file" ON)

function(isinglass_uses_torch target)
  target_link_libraries(${target} PUBLIC torch)
  set_target_properties(${target} PROPERTIES
    UNITY_BUILD ${ISINGLASS_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(ISINGLASS_UNITY)  # GCC takes a helper type of an included source for a header's
    target_compile_options(${target} PRIVATE
      $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-Wno-subobject-linkage>)
  endif()
  target_compile_options(${target} PRIVATE ${ISINGLASS_TORCH_OPTIMISATION})
  target_precompile_headers(${target} REUSE_FROM isinglass_pch)
endfunction()

function(isinglass_options target)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${ISINGLASS_WARNINGS}>)
  # libstdc++ comes first: LibTorch exports its compiler's copy of std::filesystem, whose remove_all
  # crashes when this program's code calls it.
  target_link_libraries(${target} PUBLIC stdc++ OpenMP::OpenMP_CXX fmt::fmt-header-only)
  # A precompiled header requires equal options: programs are compiled with -fPIC, as libraries are.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# The sources that read a list.inc. Each is an object of its own, so that a program can have another
# in its place (tests/extending).
set(ISINGLASS_REGISTRIES models/registry.cpp engine/registry.cpp train/data/formats/format.cpp
    lab/grid/metrics.cpp lab/grid/rules/rule.cpp lab/report/write.cpp)
list(TRANSFORM ISINGLASS_REGISTRIES PREPEND ${CMAKE_SOURCE_DIR}/)

function(isinglass_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  set_source_files_properties(${ISINGLASS_REGISTRIES} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  add_library(${name} STATIC ${arg_SOURCES})
  isinglass_options(${name})
  isinglass_uses_torch(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
endfunction()

# Programs are in libexec/ of the archive, and the libraries that come with them in lib/ next to it.
function(isinglass_bundled target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS ${target} COMPONENT bundle EXCLUDE_FROM_ALL
          RUNTIME DESTINATION libexec LIBRARY DESTINATION lib)
endfunction()
