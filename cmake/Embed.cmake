# isinglass_embed(target function FILES…): the files become part of the program. Adds to the target a
# source, written when CMake runs, whose function returns their names and texts (cli/embedded.h).
function(isinglass_embed target function)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${function}.cpp)
  set(text "#include \"cli/embedded.h\"\n\nnamespace isinglass {\n\n"
           "const std::vector<EmbeddedFile>& ${function}() {\n"
           "  static const std::vector<EmbeddedFile> files = {\n")
  string(JOIN "" text ${text})
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} content)
    get_filename_component(name ${file} NAME_WLE)
    string(APPEND text "{\"${name}\", R\"~file~(${content})~file~\"},\n")
  endforeach()
  string(APPEND text "  };\n  return files;\n}\n\n}  // namespace isinglass\n")
  set(written "")
  if(EXISTS ${source})
    file(READ ${source} written)
  endif()
  if(NOT written STREQUAL text)
    file(WRITE ${source} "${text}")
  endif()
  target_sources(${target} PRIVATE ${source})
endfunction()
