# A toolchain for aarch64 on another machine: Debian's g++-aarch64-linux-gnu builds, and qemu-user runs the programs.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
find_program(qemu NAMES qemu-aarch64 qemu-aarch64-static)
if(qemu)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${qemu} -cpu max -L /usr/aarch64-linux-gnu)
endif()
