# A toolchain for many systems: the clang of PyPI's package ziglang (pip install ziglang), which carries the headers and
# libraries of each. WEFT_TARGET is zig's name for the target: x86_64-linux-musl and aarch64-linux-musl, whose programs
# are static; x86_64-linux-gnu.2.28, for any Linux with glibc 2.28 or newer; aarch64-macos, x86_64-macos;
# x86_64-windows-gnu. It has no OpenMP: -DWEFT_THREADS=pool. The first program for a target takes minutes to link,
# because zig compiles the target's C++ library and keeps it in ~/.cache/zig.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_TARGET)
string(REGEX MATCH "^[^-]+" CMAKE_SYSTEM_PROCESSOR ${WEFT_TARGET})
if(WEFT_TARGET MATCHES "-macos")
  set(CMAKE_SYSTEM_NAME Darwin)
  set(CMAKE_INSTALL_NAME_TOOL true)
elseif(WEFT_TARGET MATCHES "-windows")
  set(CMAKE_SYSTEM_NAME Windows)
else()
  set(CMAKE_SYSTEM_NAME Linux)
endif()
# CMake wants a program for each tool. It reads this file for each compiler test, too, in a folder of its own.
set(folder ${CMAKE_BINARY_DIR}/zig-${WEFT_TARGET})
if(NOT EXISTS ${folder}/ranlib)
  execute_process(COMMAND python3 -c "import os, ziglang; print(os.path.dirname(ziglang.__file__))"
                  OUTPUT_VARIABLE zig OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(NOT EXISTS "${zig}/zig")
    message(FATAL_ERROR "WEFT_TARGET=${WEFT_TARGET} needs the Python package ziglang (pip install ziglang)")
  endif()
endif()
# zig does not know clang's names of the versions of aarch64 (-march=armv8.2-a+dotprod), and has its own option for them.
set(rename_march [[
for word; do
  shift
  case $word in -march=armv8.2-a*) word=-mcpu=generic+v8_2a${word#-march=armv8.2-a} ;; esac
  set -- "$@" "$word"
done
]])
foreach(tool cc c++ ar ranlib)
  set(target "")
  set(before "")
  if(tool MATCHES "^c")
    set(target "-target ${WEFT_TARGET} -fno-sanitize=undefined")  # which zig adds where -O is missing
    set(before "${rename_march}")
  endif()
  if(NOT EXISTS ${folder}/${tool})
    file(WRITE ${folder}/${tool} "#!/bin/sh\n${before}exec '${zig}/zig' ${tool} ${target} \"$@\"\n")
    file(CHMOD ${folder}/${tool} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
endforeach()
# Resources of Windows programs. CMake calls windres -O coff [OPTION...] SOURCE OBJECT.
if(CMAKE_SYSTEM_NAME STREQUAL "Windows")
  if(NOT EXISTS ${folder}/windres)
    file(WRITE ${folder}/windres "#!/bin/sh\nfor word; do source=$object object=$word; done\n"
         "exec '${zig}/zig' rc /:auto-includes none /:output-format coff /fo \"$object\" -- \"$source\"\n")
    file(CHMOD ${folder}/windres PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endif()
  set(CMAKE_RC_COMPILER ${folder}/windres)
endif()
set(CMAKE_C_COMPILER ${folder}/cc)
set(CMAKE_CXX_COMPILER ${folder}/c++)
set(CMAKE_AR ${folder}/ar)
set(CMAKE_RANLIB ${folder}/ranlib)
list(APPEND CMAKE_INCLUDE_PATH /usr/include)  # for libraries that are headers alone
# qemu-user runs the programs for another processor's Linux. Static programs need no libraries of that processor.
if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  set(processor ${CMAKE_SYSTEM_PROCESSOR})
  find_program(weft_qemu_${processor} NAMES qemu-${processor} qemu-${processor}-static)
  if(weft_qemu_${processor})
    set(CMAKE_CROSSCOMPILING_EMULATOR ${weft_qemu_${processor}} -cpu max)
  endif()
endif()
