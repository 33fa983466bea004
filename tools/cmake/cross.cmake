# A toolchain for Linux on another processor: Debian's cross compiler builds, and qemu-user runs the programs.
# WEFT_TARGET is the compiler's name for the target: aarch64-linux-gnu, riscv64-linux-gnu, arm-linux-gnueabihf,
# i686-linux-gnu, s390x-linux-gnu (Debian: apt-get install g++-$WEFT_TARGET qemu-user).
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_TARGET)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${WEFT_TARGET})
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
