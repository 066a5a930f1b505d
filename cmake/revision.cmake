# cmake -DSOURCE=DIR -DVERSION=N -DOUT=FILE -P revision.cmake writes the source that contains the
# program's revision, if it has changed. The revision is the last commit that changed the program's
# sources, with -dirty if they have changed since then; it is "unknown" outside a repository of its
# own (an unpacked archive).
set(parts CMakeLists.txt cmake io kernels models engine train lab cli)
find_program(GIT git)
function(git result)
  execute_process(COMMAND ${GIT} -C ${SOURCE} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE failed
                  ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(failed)
    set(text "")
  endif()
  set(${result} "${text}" PARENT_SCOPE)
endfunction()

set(revision "")
if(GIT)
  git(prefix rev-parse --show-prefix)
  if(prefix STREQUAL "")
    git(revision log -1 --abbrev=12 --format=%h -- ${parts})
    git(changes status --porcelain -- ${parts})
    if(revision AND changes)
      string(APPEND revision "-dirty")
    endif()
  endif()
endif()
if(NOT revision)
  set(revision "unknown")
endif()

string(CONCAT text "// Written by cmake/revision.cmake.\n#include \"lab/identity.h\"\n\n"
       "namespace isinglass {\n\nconst char* const kProgramVersion = \"${VERSION}\";\n"
       "const char* const kSourceRevision = \"${revision}\";\n\n"
       "}  // namespace isinglass\n")
set(written "")
if(EXISTS ${OUT})
  file(READ ${OUT} written)
endif()
if(NOT written STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
