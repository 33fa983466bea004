# cmake --install: the library, all public headers, and the files for find_package(weft) and pkg-config.
# cpack -G DEB: a package of all that. cpack -G ZIP: the same for Windows, as a ZIP file.
include(CMakePackageConfigHelpers)

set(WEFT_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/weft)

install(TARGETS weft EXPORT ${WEFT_EXPORT_SET})
foreach(room engine ops models)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${room}/include/weft DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endforeach()
if(WIN32)  # where a package is a folder of its own
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md DESTINATION .)
else()
  install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

# The files for find_package(weft). A host that has the library in its own export set writes its own package files.
if(WEFT_EXPORT_SET STREQUAL "weft-targets")
  set(sentencepiece_set weft-sentencepiece-targets)  # separate: weft-config.cmake reads it if it exists
  install(EXPORT weft-targets NAMESPACE weft:: DESTINATION ${WEFT_CMAKE_DIR})
  if(WEFT_SENTENCEPIECE)
    install(EXPORT ${sentencepiece_set} NAMESPACE weft:: DESTINATION ${WEFT_CMAKE_DIR})
  endif()
  configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weft-config.cmake.in ${PROJECT_BINARY_DIR}/weft-config.cmake
                                INSTALL_DESTINATION ${WEFT_CMAKE_DIR})
  write_basic_package_version_file(${PROJECT_BINARY_DIR}/weft-config-version.cmake COMPATIBILITY SameMinorVersion)
  install(FILES ${PROJECT_BINARY_DIR}/weft-config.cmake ${PROJECT_BINARY_DIR}/weft-config-version.cmake
          DESTINATION ${WEFT_CMAKE_DIR})
else()
  set(sentencepiece_set ${WEFT_EXPORT_SET})
endif()
if(WEFT_SENTENCEPIECE)
  install(TARGETS weft_sentencepiece EXPORT ${sentencepiece_set})
endif()

# pkg-config. A static library must name its own dependencies, including the C++ library, so that a C compiler can link
# it.
file(RELATIVE_PATH up ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" up "${up}")
foreach(dir INCLUDEDIR LIBDIR)
  string(TOLOWER pc_${dir} name)
  cmake_path(IS_ABSOLUTE CMAKE_INSTALL_${dir} absolute)
  if(absolute)
    set(${name} ${CMAKE_INSTALL_${dir}})
  else()
    set(${name} "\${prefix}/${CMAKE_INSTALL_${dir}}")
  endif()
endforeach()
set(libraries "")
set(names ${CMAKE_CXX_IMPLICIT_LINK_LIBRARIES})
list(FILTER names INCLUDE REGEX "^(stdc\\+\\+|c\\+\\+|m)$")
if(WEFT_THREADS STREQUAL "openmp" AND "gomp" IN_LIST OpenMP_CXX_LIB_NAMES)
  list(PREPEND names gomp)
elseif(WEFT_THREADS STREQUAL "openmp")  # only another compiler finds its own library
  string(APPEND libraries " ${OpenMP_CXX_FLAGS}")
endif()
list(REMOVE_DUPLICATES names)
foreach(name IN LISTS names)
  string(APPEND libraries " -l${name}")
endforeach()
string(APPEND libraries " -pthread")
set(private_libraries "")
if(BUILD_SHARED_LIBS)  # only pkg-config --static names them
  set(private_libraries "${libraries}")
  set(libraries "")
endif()
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft.pc.in ${PROJECT_BINARY_DIR}/weft.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/weft.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Packages are only made for weft itself, not within a host.
if(WEFT_TOP_LEVEL)
  find_program(WEFT_SHLIBDEPS dpkg-shlibdeps)
  set(CPACK_PACKAGE_CONTACT "the developers of weft")
  set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
  set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
  set(CPACK_STRIP_FILES ON)
  set(CPACK_GENERATOR DEB)
  if(WIN32)
    set(CPACK_GENERATOR ZIP)
  endif()
  set(CPACK_SOURCE_GENERATOR TGZ)
  set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
  set(CPACK_DEBIAN_PACKAGE_SECTION libs)
  if(WEFT_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
  else()  # without Debian's tool, only the certain dependencies
    set(CPACK_DEBIAN_PACKAGE_DEPENDS "libstdc++6, libc6")
    if("gomp" IN_LIST OpenMP_CXX_LIB_NAMES)
      string(PREPEND CPACK_DEBIAN_PACKAGE_DEPENDS "libgomp1, ")
    endif()
  endif()
  set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ${BUILD_SHARED_LIBS})
  include(CPack)
endif()
