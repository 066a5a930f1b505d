# isinglass_library(name SOURCES … LINKS …): one static library per folder, warnings as errors.
# isinglass_tests(folder LINKS …): one test program per folder; a ctest entry per suite.
# isinglass_bundled(target): scripts/bundle.sh packs it.

set(ISINGLASS_WARNINGS -Wall -Wextra -Werror -Wno-unused-parameter)

# LibTorch's headers take long to parse: one precompiled header serves every source that sees them,
# and those are compiled alike. Loops over chains and sites are in the twins of kernels/, at -O3;
# the others call LibTorch, and -O3 would add a third to the build and nothing to the speed.
set(ISINGLASS_TORCH_OPTIMISATION $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:-O1>)
add_library(isinglass_pch OBJECT ${CMAKE_SOURCE_DIR}/cmake/pch.cpp)
target_link_libraries(isinglass_pch PRIVATE torch fmt::fmt-header-only OpenMP::OpenMP_CXX)
target_compile_options(isinglass_pch PRIVATE ${ISINGLASS_TORCH_OPTIMISATION})
target_precompile_headers(isinglass_pch PRIVATE ${CMAKE_SOURCE_DIR}/io/torch.h)

function(isinglass_uses_torch target)
  target_link_libraries(${target} PUBLIC torch)
  target_compile_options(${target} PRIVATE ${ISINGLASS_TORCH_OPTIMISATION})
  target_precompile_headers(${target} REUSE_FROM isinglass_pch)
endfunction()

function(isinglass_options target)
  target_include_directories(${target} PUBLIC ${CMAKE_SOURCE_DIR})
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:${ISINGLASS_WARNINGS}>)
  # libstdc++ first: LibTorch exports a copy of std::filesystem of its own compiler's, whose
  # remove_all crashes when ours calls it.
  target_link_libraries(${target} PUBLIC stdc++ OpenMP::OpenMP_CXX fmt::fmt-header-only)
  # A precompiled header serves only sources compiled alike: programs as libraries, -fPIC.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL EXECUTABLE)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

function(isinglass_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  isinglass_options(${name})
  isinglass_uses_torch(${name})
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
endfunction()

# Programs lie in libexec/ of the archive; the libraries that come with them are found beside it.
function(isinglass_bundled target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  install(TARGETS ${target} COMPONENT bundle EXCLUDE_FROM_ALL
          RUNTIME DESTINATION libexec LIBRARY DESTINATION lib)
endfunction()

# Every *_test.cpp of the folder; suites are found by their TEST macros, so that a folder's many
# cases run in one process each (a program linked to LibTorch's CUDA part starts in 0.5 s).
# Suites whose name ends in Long carry the label `long`, those ending in Gpu the label `gpu`.
function(isinglass_tests folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  file(GLOB tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  set(name ${folder}_tests)
  add_executable(${name} ${tests} ${arg_SOURCES})
  isinglass_options(${name})
  isinglass_uses_torch(${name})
  target_link_libraries(${name} PUBLIC GTest::gtest_main ${arg_LINKS})
  isinglass_bundled(${name})
  target_compile_definitions(${name} PRIVATE ISINGLASS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  isinglass_suites(${folder} "${tests}")
endfunction()

# A ctest entry for every suite of the test sources of `folder`_tests. Their threads sleep where they
# wait: tests run side by side, and spinning would take the cores from one another.
function(isinglass_suites folder tests)
  set(name ${folder}_tests)
  foreach(file ${tests})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(STRINGS ${file} lines REGEX "^(TYPED_)?TEST(_F|_P)?\\(")
    foreach(line ${lines})
      string(REGEX REPLACE "^[A-Z_]+\\(([A-Za-z0-9_]+),.*" "\\1" suite ${line})
      list(APPEND suites ${suite})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES suites)
  foreach(suite ${suites})
    add_test(NAME ${folder}.${suite} COMMAND ${name} --gtest_brief=1
             --gtest_filter=${suite}.*:*/${suite}.*:${suite}/*.* WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
    set_tests_properties(${folder}.${suite} PROPERTIES
      SKIP_REGULAR_EXPRESSION "\\[  SKIPPED \\]" TIMEOUT 600
      ENVIRONMENT "ISINGLASS_BINARY=${CMAKE_BINARY_DIR}/isinglass;OMP_WAIT_POLICY=passive")
    if(suite MATCHES "Long$")
      set_property(TEST ${folder}.${suite} APPEND PROPERTY LABELS long)
      set_tests_properties(${folder}.${suite} PROPERTIES TIMEOUT 3600)
    endif()
    if(suite MATCHES "Gpu$")
      set_property(TEST ${folder}.${suite} APPEND PROPERTY LABELS gpu)
    endif()
  endforeach()
endfunction()
