# isinglass_tests(folder LINKS …) adds one test program per folder, and one ctest entry per suite.

# The program contains every *_test.cpp of the folder. Suites are found by their TEST macros, and
# all cases of a suite run in one process, because a program linked to LibTorch's CUDA part takes
# 0.5 s to start. Suites whose name ends in Long have the label `long`, those that end in Gpu the
# label `gpu`.
function(isinglass_tests folder)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;APART" ${ARGN})
  file(GLOB_RECURSE tests CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  foreach(folder IN LISTS arg_APART)  # folders with a program of their own
    list(FILTER tests EXCLUDE REGEX /${folder}/)
  endforeach()
  set(name ${folder}_tests)
  add_executable(${name} ${tests} ${arg_SOURCES})
  isinglass_options(${name})
  isinglass_uses_torch(${name})
  target_link_libraries(${name} PUBLIC isinglass_test_main ${arg_LINKS})
  isinglass_bundled(${name})
  target_compile_definitions(${name} PRIVATE ISINGLASS_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  isinglass_suites(${folder} "${tests}")
endfunction()

# Adds a ctest entry for every suite in the test sources of the program `folder`_tests. A test is
# skipped by its exit code only (tests/support/main.cpp), because ctest lets SKIP_REGULAR_EXPRESSION
# override a failure. Threads sleep while they wait: tests run in parallel, and spinning threads
# would take the cores from other tests. ISINGLASS_TEST_PROGRAM is the program for tests that start
# it.
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
      SKIP_RETURN_CODE 77 TIMEOUT 600
      ENVIRONMENT "ISINGLASS_BINARY=${ISINGLASS_TEST_PROGRAM};OMP_WAIT_POLICY=passive")
    if(suite MATCHES "Long$")
      set_property(TEST ${folder}.${suite} APPEND PROPERTY LABELS long)
      set_tests_properties(${folder}.${suite} PROPERTIES TIMEOUT 3600)
    endif()
    if(suite MATCHES "Gpu$")
      set_property(TEST ${folder}.${suite} APPEND PROPERTY LABELS gpu)
    endif()
  endforeach()
endfunction()
