# The target sbom: a list of what weft is made of, in the format SPDX 2.3 (JSON), which cmake --install installs, too.

# weft_version_in(OUT HEADER NAME...): joins the values of the macros NAME... of a header. NOASSERTION if one is missing.
function(weft_version_in out header)
  set(numbers "")
  if(EXISTS ${header})
    file(STRINGS ${header} lines REGEX "# *define ")
    foreach(name IN LISTS ARGN)
      string(REGEX MATCH "# *define +${name} +\"?([0-9.]+)" found "${lines}")
      if(found)
        list(APPEND numbers ${CMAKE_MATCH_1})
      endif()
    endforeach()
  endif()
  list(LENGTH numbers count)
  list(LENGTH ARGN wanted)
  if(count EQUAL wanted AND count GREATER 0)
    list(JOIN numbers . version)
  else()
    set(version NOASSERTION)
  endif()
  set(${out} ${version} PARENT_SCOPE)
endfunction()

# weft_sbom_package(NAME VERSION LICENSE LOCATION): adds a package to the list.
function(weft_sbom_package name version license location)
  string(JOIN "\n" text
         "    {"
         "      \"SPDXID\": \"SPDXRef-${name}\","
         "      \"name\": \"${name}\","
         "      \"versionInfo\": \"${version}\","
         "      \"downloadLocation\": \"${location}\","
         "      \"filesAnalyzed\": false,"
         "      \"licenseConcluded\": \"${license}\","
         "      \"licenseDeclared\": \"${license}\","
         "      \"copyrightText\": \"NOASSERTION\""
         "    }")
  set_property(GLOBAL APPEND PROPERTY WEFT_SBOM_PACKAGES "${text}")
endfunction()

# weft_sbom_relation(FROM KIND TO): adds a relationship between two elements of the list.
function(weft_sbom_relation from kind to)
  string(JOIN "\n" text
         "    {"
         "      \"spdxElementId\": \"SPDXRef-${from}\","
         "      \"relationshipType\": \"${kind}\","
         "      \"relatedSpdxElement\": \"SPDXRef-${to}\""
         "    }")
  set_property(GLOBAL APPEND PROPERTY WEFT_SBOM_RELATIONS "${text}")
endfunction()

# weft_sbom_uses(NAME VERSION LICENSE LOCATION KIND): adds a package that weft uses. KIND: STATIC_LINK if the compiled
# files of weft contain its code, which is true for libraries of headers; DYNAMIC_LINK if they need it at run time.
function(weft_sbom_uses name version license location kind)
  weft_sbom_package(${name} ${version} ${license} ${location})
  weft_sbom_relation(weft ${kind} ${name})
endfunction()

weft_sbom_package(weft ${PROJECT_VERSION} MIT NOASSERTION)
weft_sbom_relation(DOCUMENT DESCRIBES weft)
if(NOT WEFT_PROCESSOR STREQUAL "other")
  weft_sbom_uses(xsimd ${WEFT_XSIMD_VERSION} BSD-3-Clause https://github.com/xtensor-stack/xsimd STATIC_LINK)
endif()
set(header ${WEFT_JSON_INCLUDE}/nlohmann/json.hpp)
if(EXISTS ${WEFT_JSON_INCLUDE}/nlohmann/detail/abi_macros.hpp)
  set(header ${WEFT_JSON_INCLUDE}/nlohmann/detail/abi_macros.hpp)
endif()
weft_version_in(version ${header} NLOHMANN_JSON_VERSION_MAJOR NLOHMANN_JSON_VERSION_MINOR NLOHMANN_JSON_VERSION_PATCH)
weft_sbom_uses(nlohmann-json ${version} MIT https://github.com/nlohmann/json STATIC_LINK)
if(WEFT_THREADS STREQUAL "openmp")
  weft_sbom_uses(OpenMP NOASSERTION NOASSERTION NOASSERTION DYNAMIC_LINK)
endif()
if(WEFT_TOOLS)
  weft_version_in(version ${WEFT_CLI11_INCLUDE}/CLI/Version.hpp CLI11_VERSION)
  weft_sbom_uses(CLI11 ${version} BSD-3-Clause https://github.com/CLIUtils/CLI11 STATIC_LINK)
endif()
if(WEFT_SENTENCEPIECE)
  weft_sbom_uses(SentencePiece NOASSERTION Apache-2.0 https://github.com/google/sentencepiece DYNAMIC_LINK)
endif()
if("PNG" IN_LIST WEFT_PICTURE_FORMATS)
  weft_version_in(version ${WEFT_PNG_INCLUDE}/png.h PNG_LIBPNG_VER_STRING)
  weft_sbom_uses(libpng ${version} libpng-2.0 http://www.libpng.org/pub/png/libpng.html DYNAMIC_LINK)
endif()
if("JPEG" IN_LIST WEFT_PICTURE_FORMATS)
  weft_sbom_uses(libjpeg-turbo NOASSERTION "IJG AND BSD-3-Clause AND Zlib" https://libjpeg-turbo.org DYNAMIC_LINK)
endif()
if(WEFT_HTTPLIB)
  weft_sbom_uses(cpp-httplib "${WEFT_HTTPLIB_VERSION}" MIT https://github.com/yhirose/cpp-httplib DYNAMIC_LINK)
endif()
if(WEFT_MPI)
  weft_sbom_package(MPI NOASSERTION NOASSERTION NOASSERTION)
  weft_sbom_relation(MPI OPTIONAL_DEPENDENCY_OF weft)
endif()

foreach(list PACKAGES RELATIONS)
  get_property(parts GLOBAL PROPERTY WEFT_SBOM_${list})
  list(JOIN parts ",\n" WEFT_SBOM_${list})
endforeach()
string(TIMESTAMP WEFT_SBOM_CREATED UTC)  # of the variable SOURCE_DATE_EPOCH, if it is set
# Documents with different content have different names.
string(UUID WEFT_SBOM_UUID NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 TYPE SHA1
       NAME "${WEFT_SBOM_PACKAGES}${WEFT_SBOM_RELATIONS}${WEFT_SBOM_CREATED}")
set(WEFT_SBOM ${PROJECT_BINARY_DIR}/weft-${PROJECT_VERSION}.spdx.json)
add_custom_target(sbom COMMAND ${CMAKE_COMMAND} -E echo "${WEFT_SBOM}" VERBATIM)
configure_file(${CMAKE_CURRENT_LIST_DIR}/weft.spdx.json.in ${WEFT_SBOM} @ONLY)
if(WEFT_INSTALL)
  install(FILES ${WEFT_SBOM} DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()
