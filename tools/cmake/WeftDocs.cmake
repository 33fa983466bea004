# The target docs: Doxygen's pages of the public headers and of the Markdown pages. It checks the comments, too.
find_program(WEFT_DOXYGEN doxygen)
if(WEFT_DOXYGEN)
  file(GLOB pages CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/*.md)
  foreach(module engine ops models tools tests bench)
    file(GLOB_RECURSE more CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${module}/*.md)
    list(APPEND pages ${more})
  endforeach()
  set(WEFT_DOCS_INPUT ${pages})
  foreach(room engine ops models)
    list(APPEND WEFT_DOCS_INPUT ${PROJECT_SOURCE_DIR}/${room}/include)
  endforeach()
  list(JOIN WEFT_DOCS_INPUT " " WEFT_DOCS_INPUT)
  configure_file(${CMAKE_CURRENT_LIST_DIR}/Doxyfile.in ${PROJECT_BINARY_DIR}/Doxyfile @ONLY)
  add_custom_target(docs COMMAND ${CMAKE_COMMAND} -E make_directory ${PROJECT_BINARY_DIR}/docs
                    COMMAND ${WEFT_DOXYGEN} ${PROJECT_BINARY_DIR}/Doxyfile
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} VERBATIM)
endif()

# The target site: all pages as one book, with Doxygen's if it is installed (tools/site/README.md).
if(WEFT_TOOLS)
  add_custom_target(site COMMAND ${PROJECT_SOURCE_DIR}/tools/site/make ${PROJECT_BINARY_DIR} $<TARGET_FILE:weft-command>
                                 $<$<BOOL:${WEFT_DOXYGEN}>:${PROJECT_BINARY_DIR}/docs/html>
                    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} COMMAND_EXPAND_LISTS VERBATIM)
  add_dependencies(site weft-command)
  if(WEFT_DOXYGEN)
    add_dependencies(site docs)
  endif()
endif()
