# The parts of weft as CMake targets. The objects of one see only the include folders of those below it (include/, which
# is installed, and internal/, which isn't), so an include against the arrows doesn't compile.

# Much of the compile time goes into headers. WEFT_UNITY=ON compiles up to 16 sources of a folder as one file and
# precompiles headers, which halves it. A source that forgets an include may then compile; OFF finds it.
option(WEFT_UNITY "compile small sources of a folder as one file, in half the time" ON)

# -Wrestrict of g++ 12 is wrong about std::string's operator+ (GCC bug 105651).
# Kernel tables are specializations that other units define (ops/simd/family.h); clang warns about these. If it compiles
# several sources as one file, it also warns about a name that another source of this file has.
set(WEFT_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wno-psabi $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>
                  $<$<CXX_COMPILER_ID:Clang>:-Wno-undefined-var-template>
                  $<$<AND:$<CXX_COMPILER_ID:Clang>,$<BOOL:${WEFT_UNITY}>>:-Wno-shadow>)

# WEFT_ISA_LIST: the instruction sets of this build.
include(WeftIsas)
if(NOT CMAKE_SIZEOF_VOID_P)  # otherwise the build would silently have only the kernels for any processor
  message(FATAL_ERROR "CMake does not know the compiler's size of a pointer, perhaps because an earlier configuration "
                      "was interrupted. Remove ${CMAKE_BINARY_DIR} and try again")
endif()
if(WEFT_ISAS STREQUAL "generic")
  set(WEFT_PROCESSOR other)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(WEFT_PROCESSOR x86_64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 8)
  set(WEFT_PROCESSOR aarch64)
else()
  set(WEFT_PROCESSOR other)
endif()
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS engine/include/weft/isas.def engine/include/weft/version.h)
weft_read_isas(${PROJECT_SOURCE_DIR}/engine/include/weft/isas.def ${WEFT_PROCESSOR})
set(cpuinfo "")
if(EXISTS /proc/cpuinfo)
  file(READ /proc/cpuinfo cpuinfo)
endif()
weft_choose_isas(WEFT_ISA_LIST "${WEFT_ISAS}" "${cpuinfo}")

function(weft_compile_settings target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set(relocatable ON)
  if(EMSCRIPTEN)  # nothing is linked dynamically, and such code is larger and slower
    set(relocatable OFF)
  endif()
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ${relocatable}
                        CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  # One section for each function and object, so that programs linked with --gc-sections contain only what they use.
  # Without contraction: otherwise compilers fuse multiplications and additions on processors where every CPU can do so,
  # such as aarch64 and s390x, and round differently there.
  target_compile_options(${target} PRIVATE ${WEFT_WARNINGS} -ffunction-sections -fdata-sections -ffp-contract=off)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(i[3-6]86|x86|x86_64|AMD64)$" AND CMAKE_SIZEOF_VOID_P EQUAL 4)
    # By default, 32-bit x86 computes with 80 bits, and the compiler decides where it rounds.
    target_compile_options(${target} PRIVATE -msse2 -mfpmath=sse)
  endif()
  list(JOIN WEFT_ISA_LIST " " names)
  if(WIN32)  # Windows 10 and later
    target_compile_definitions(${target} PRIVATE _WIN32_WINNT=0x0A00)
  endif()
  target_compile_definitions(${target} PRIVATE "WEFT_BUILT_ISAS=\"${names}\"" "WEFT_PROCESSOR=\"${WEFT_PROCESSOR}\"")
  if(WEFT_SANITIZE)
    # These checks would double the compile time. AddressSanitizer finds the same errors, or weft has no such casts.
    target_compile_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE} -fno-sanitize=null,object-size,pointer-overflow,vptr
                                             -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE})
  endif()
endfunction()

# weft_read_once(TARGET HEADER...): precompiles headers that nearly all of a target's sources include, if WEFT_UNITY is
# on, in builds with tests. It is off under ccache, which would need a setting for it (sloppiness =
# pch_defines,time_macros).
function(weft_read_once target)
  if(NOT WEFT_UNITY OR NOT WEFT_TESTS OR "${CMAKE_CXX_COMPILER_LAUNCHER}${CMAKE_CXX_COMPILER}" MATCHES "ccache")
    return()
  endif()
  foreach(header ${ARGN})
    target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:<${header}$<ANGLE-R>>)
  endforeach()
endfunction()

# weft_unity(TARGET [ALONE REGEX...]): compiles the target's sources in groups, if WEFT_UNITY is on. Sources whose path
# in the current folder, without .cpp, matches ALONE are compiled separately. These define the same names as another
# source of their folder, take long to compile, or have compiler options of their own.
function(weft_unity target)
  cmake_parse_arguments(UNITY "" "" "ALONE" ${ARGN})
  if(NOT WEFT_UNITY)
    return()
  endif()
  list(JOIN UNITY_ALONE "|" alone)
  get_target_property(sources ${target} SOURCES)
  set(folder "")
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE within)
    if(NOT within MATCHES "\\.cpp$" OR within MATCHES "^(${alone})\\.cpp$")
      continue()
    endif()
    cmake_path(GET within PARENT_PATH of)
    if(NOT of STREQUAL folder OR count EQUAL 16)
      set(folder ${of})
      cmake_path(GET within STEM first)
      set(count 0)
    endif()
    math(EXPR count "${count} + 1")
    string(REGEX REPLACE "[^a-zA-Z0-9]+" "_" group "${folder}_${first}")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()

# weft_room(ops SEES engine SOURCES a.cpp b.cpp [ALONE REGEX...])
# Release is -Os: outside of the kernels -O3 is more than twice the size and no faster. bench: weft-decode-bench
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "SEES;SOURCES;ALONE" ${ARGN})
  add_library(weft_${name} OBJECT ${ROOM_SOURCES})
  weft_unity(weft_${name} ALONE ${ROOM_ALONE})
  weft_compile_settings(weft_${name})
  target_compile_options(weft_${name} PRIVATE $<$<CONFIG:Release>:-Os>)
  target_include_directories(weft_${name} PRIVATE ${PROJECT_SOURCE_DIR}/${name})  # its own folders
  foreach(room ${name} ${ROOM_SEES})
    target_include_directories(weft_${name} PRIVATE ${PROJECT_SOURCE_DIR}/${room}/include
                                                    ${PROJECT_SOURCE_DIR}/${room}/internal)
  endforeach()
endfunction()

# Compiles the kernel units that an instruction set has of its own.
# -O2: the linker must not choose this unit's copy of a common template instantiation for the whole program
# (tests/symbols checks).
function(weft_kernels isa units)
  set(target weft_kernels_${isa})
  weft_own_units(units ${isa} "${units}")
  list(LENGTH units found)
  list(LENGTH weft_${isa}_kernels named)
  if(found LESS named)
    message(FATAL_ERROR "weft/isas.def: not all of ${isa}'s own kernels exist: ${weft_${isa}_kernels}")
  endif()
  add_library(${target} OBJECT ${units})
  weft_compile_settings(${target})
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/engine/include ${PROJECT_SOURCE_DIR}/engine/internal
                                               ${PROJECT_SOURCE_DIR}/ops/include ${PROJECT_SOURCE_DIR}/ops)
  if(NOT WEFT_PROCESSOR STREQUAL "other")
    target_include_directories(${target} SYSTEM PRIVATE ${WEFT_XSIMD_INCLUDE})
  endif()
  weft_unit_definitions(definitions ${isa})
  target_compile_definitions(${target} PRIVATE ${definitions})
  if(WEFT_SANITIZE)
    set(level -Og)
    target_compile_definitions(${target} PRIVATE WEFT_INLINE= WEFT_FLATTEN=)
  else()
    set(level -O2)
  endif()
  # On Windows, the stack is aligned to 16 bytes, and g++ doesn't align the vectors that it keeps there any further (GCC
  # bug 54412). The assembler then encodes all moves as those that need no alignment.
  if(WIN32 AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wa,-muse-unaligned-vector-move)
  endif()
  # Kernels are noexcept and call nothing that throws, so they need no unwind tables. A trait that no line of
  # weft/isas.def has is an error.
  # g++ 12 warns about its own AVX-512 header (GCC bug 105593).
  target_compile_options(${target} PRIVATE ${weft_${isa}_flags} ${level} -fno-math-errno -fno-trapping-math
                                           -fno-exceptions -fno-asynchronous-unwind-tables -Werror=undef
                                           "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
  set_property(GLOBAL APPEND PROPERTY WEFT_KERNEL_TARGETS ${target})
endfunction()

# A shared library exports only weft's public names. For Windows, the linker also exports those of weft::detail.
function(weft_hide_symbols name)
  get_target_property(type ${name} TYPE)
  if(type STREQUAL "SHARED_LIBRARY" AND NOT APPLE)
    set(map ${PROJECT_SOURCE_DIR}/tools/cmake/weft.map)
    target_link_options(${name} PRIVATE -Wl,--version-script=${map} -Wl,--gc-sections)
    set_target_properties(${name} PROPERTIES LINK_DEPENDS ${map})
  endif()
endfunction()

# A library of the objects of all parts: weft_library(weft), weft_library(weft_shared SHARED EXCLUDE_FROM_ALL)
function(weft_library name)
  get_property(kernel_targets GLOBAL PROPERTY WEFT_KERNEL_TARGETS)
  foreach(target weft_engine weft_ops weft_models ${kernel_targets})
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_library(${name} ${ARGN} ${objects})
  set(compatible ${PROJECT_VERSION_MAJOR})  # below 1.0 a minor version may change anything
  if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatible 0.${PROJECT_VERSION_MINOR})
  endif()
  set_target_properties(${name} PROPERTIES LINKER_LANGUAGE CXX OUTPUT_NAME weft
                        VERSION ${PROJECT_VERSION} SOVERSION ${compatible})
  target_compile_features(${name} INTERFACE cxx_std_17)
  foreach(room engine ops models)
    target_include_directories(${name} INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${room}/include>)
  endforeach()
  target_include_directories(${name} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(${name} PRIVATE ${WEFT_THREAD_LIBRARIES})
  if(WEFT_SANITIZE)
    target_link_options(${name} PUBLIC -fsanitize=${WEFT_SANITIZE})
  endif()
  weft_hide_symbols(${name})
endfunction()
