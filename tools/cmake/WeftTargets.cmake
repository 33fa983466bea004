# The rooms as CMake targets. A room's objects see only the include folders of the rooms below it, so an
# include against the arrows doesn't compile.

# -Wrestrict of g++ 12 is wrong about std::string's operator+ (GCC bug 105651).
set(WEFT_WARNINGS -Wall -Wextra -Wpedantic -Wshadow -Wno-psabi $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)

function(weft_compile_settings target)
  target_compile_features(${target} PRIVATE cxx_std_20)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON)
  target_compile_options(${target} PRIVATE ${WEFT_WARNINGS})
  if(WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE})
  endif()
endfunction()

# weft_room(ops SEES engine SOURCES a.cpp b.cpp)
function(weft_room name)
  cmake_parse_arguments(ROOM "" "" "SEES;SOURCES" ${ARGN})
  add_library(weft_${name} OBJECT ${ROOM_SOURCES})
  weft_compile_settings(weft_${name})
  foreach(room ${name} ${ROOM_SEES})
    target_include_directories(weft_${name} PRIVATE ${PROJECT_SOURCE_DIR}/${room}/include)
  endforeach()
endfunction()

# Compiles the kernel units once for an instruction set: weft_kernels(avx2 xsimd::avx2 "-mavx2;-mfma" units)
# -O2: what else a unit instantiates must not be chosen by the linker for everyone (tests/symbols looks).
function(weft_kernels isa arch flags units)
  set(target weft_kernels_${isa})
  add_library(${target} OBJECT ${units})
  weft_compile_settings(${target})
  set_target_properties(${target} PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/engine/include ${PROJECT_SOURCE_DIR}/ops/include)
  target_include_directories(${target} SYSTEM PRIVATE ${WEFT_XSIMD_INCLUDE})
  target_compile_definitions(${target} PRIVATE WEFT_ISA=${isa} WEFT_ARCH=${arch})
  if(WEFT_SANITIZE)
    set(level -Og)
    target_compile_definitions(${target} PRIVATE WEFT_INLINE= WEFT_FLATTEN=)
  else()
    set(level -O2)
  endif()
  # g++ 12 warns of its own AVX-512 header (GCC bug 105593).
  target_compile_options(${target} PRIVATE ${flags} ${level} -ffp-contract=off -fno-math-errno -fno-trapping-math
                                           "$<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized;-Wno-uninitialized>")
  set_property(GLOBAL APPEND PROPERTY WEFT_KERNEL_TARGETS ${target})
endfunction()

# weft::weft, the one library that users link.
function(weft_library)
  get_property(kernel_targets GLOBAL PROPERTY WEFT_KERNEL_TARGETS)
  foreach(target weft_engine weft_ops weft_models ${kernel_targets})
    list(APPEND objects $<TARGET_OBJECTS:${target}>)
  endforeach()
  add_library(weft ${objects})
  add_library(weft::weft ALIAS weft)
  set_target_properties(weft PROPERTIES LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION})
  target_compile_features(weft INTERFACE cxx_std_17)
  foreach(room engine ops models)
    target_include_directories(weft INTERFACE $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${room}/include>)
  endforeach()
  target_include_directories(weft INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_link_libraries(weft PRIVATE OpenMP::OpenMP_CXX Threads::Threads)
  if(WEFT_SANITIZE)
    target_link_options(weft PUBLIC -fsanitize=${WEFT_SANITIZE})
  endif()
endfunction()
