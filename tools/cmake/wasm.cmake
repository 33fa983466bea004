# A toolchain for WebAssembly: Emscripten builds, and node runs the programs (Debian: apt-get install emscripten nodejs).
# WebAssembly with 128-bit vectors and exceptions runs in browsers since Chromium 95, Firefox 100 and Safari 16.4, and in
# node since version 17.
execute_process(COMMAND em-config EMSCRIPTEN_ROOT OUTPUT_VARIABLE root OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "weft for WebAssembly needs Emscripten 3.1.6 or newer and found none (Debian: apt-get install emscripten)")
endif()
set(EMSCRIPTEN_SYSTEM_PROCESSOR wasm32)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
include(${root}/cmake/Modules/Platform/Emscripten.cmake)
# WEFT_WASM_SIMD=OFF is for browsers without vectors, where weft is several times slower.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WEFT_WASM_SIMD)
if(NOT DEFINED WEFT_WASM_SIMD OR WEFT_WASM_SIMD)
  set(simd -msimd128)
endif()
# Without the limit of 0, -Os inlines nothing.
set(CMAKE_C_FLAGS_INIT "${simd}")
set(CMAKE_CXX_FLAGS_INIT "${simd} -fwasm-exceptions -sINLINING_LIMIT=0")
# Emscripten 3.1.6 mistakes node 18 and newer for a browser when it loads a program asynchronously.
set(CMAKE_EXE_LINKER_FLAGS_INIT "-sWASM_ASYNC_COMPILATION=0 -sALLOW_MEMORY_GROWTH=1")
list(APPEND CMAKE_INCLUDE_PATH /usr/include)  # for libraries that are headers alone
find_program(weft_node NAMES node nodejs)
if(weft_node)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${weft_node})
endif()
