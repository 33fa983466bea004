# A toolchain for another processor or for Windows: Debian's cross compiler builds, and qemu-user or Wine runs the
# programs. WEFT_TARGET is the compiler's name for the target: aarch64-linux-gnu, riscv64-linux-gnu,
# arm-linux-gnueabihf, i686-linux-gnu, s390x-linux-gnu (Debian: apt-get install g++-$WEFT_TARGET qemu-user), or
# x86_64-w64-mingw32 (Debian: apt-get install g++-mingw-w64-x86-64-posix wine64).
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_TARGET)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${WEFT_TARGET})
if(WEFT_TARGET MATCHES "mingw32$")
  set(CMAKE_SYSTEM_NAME Windows)
  set(CMAKE_C_COMPILER ${WEFT_TARGET}-gcc-posix)
  set(CMAKE_CXX_COMPILER ${WEFT_TARGET}-g++-posix)
  list(APPEND CMAKE_INCLUDE_PATH /usr/include)  # for libraries that are headers alone
  find_program(weft_wine NAMES wine64 wine64-stable wine PATHS /usr/lib/wine)
  if(weft_wine)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${weft_wine})
  endif()
  return()
endif()
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${WEFT_TARGET}-gcc)
set(CMAKE_CXX_COMPILER ${WEFT_TARGET}-g++)
string(REPLACE i686 i386 emulated ${CMAKE_SYSTEM_PROCESSOR})
find_program(qemu_${emulated} NAMES qemu-${emulated} qemu-${emulated}-static)
if(qemu_${emulated})
  set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu_${emulated}})
  if(emulated STREQUAL "aarch64")  # the default CPU lacks the newer instructions
    list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -cpu max)
  endif()
  list(APPEND CMAKE_CROSSCOMPILING_EMULATOR -L /usr/${WEFT_TARGET})
endif()
# An x86-64 processor runs 32-bit programs, too, if its kernel allows it. This is much faster than qemu.
set(loader /usr/${WEFT_TARGET}/lib/ld-linux.so.2)
if(emulated STREQUAL "i386" AND CMAKE_HOST_SYSTEM_PROCESSOR STREQUAL "x86_64" AND EXISTS ${loader})
  execute_process(COMMAND ${loader} --version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
  if(NOT failed)
    set(CMAKE_CROSSCOMPILING_EMULATOR ${loader} --library-path /usr/${WEFT_TARGET}/lib)
  endif()
endif()
