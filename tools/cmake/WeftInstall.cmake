# cmake --install: the library, the public headers of every room, and what find_package(weft) reads.
include(CMakePackageConfigHelpers)

set(WEFT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft EXPORT weft-targets)
foreach(room engine ops models)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(WEFT_SENTENCEPIECE)  # by itself: weft-config.cmake reads it if it is there
  install(TARGETS weft_sentencepiece EXPORT weft-sentencepiece-targets)
  install(EXPORT weft-sentencepiece-targets NAMESPACE weft:: DESTINATION ${WEFT_CMAKE_DIR})
endif()
install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${WEFT_CMAKE_DIR})

configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
                              INSTALL_DESTINATION ${WEFT_CMAKE_DIR})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
        DESTINATION ${WEFT_CMAKE_DIR})
