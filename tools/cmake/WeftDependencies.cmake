# The library's dependencies: xsimd (8.1 or newer) and nlohmann_json at build time, OpenMP at run time.

# Only xsimd's include folder is used, because the CMake target of 8.1 adds -lxtl.
find_path(WEFT_XSIMD_INCLUDE xsimd/xsimd.hpp)
if(NOT WEFT_XSIMD_INCLUDE)
  message(FATAL_ERROR "weft needs xsimd 8.1 or newer and found none (Debian: apt-get install libxsimd-dev)")
endif()
set(version_header ${WEFT_XSIMD_INCLUDE}/xsimd/config/xsimd_config.hpp)
file(STRINGS ${version_header} lines REGEX "define XSIMD_VERSION_(MAJOR|MINOR) ")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR ([0-9]+).*" "\\1.\\2" WEFT_XSIMD_VERSION "${lines}")
if(WEFT_XSIMD_VERSION VERSION_LESS 8.1)
  message(FATAL_ERROR "weft needs xsimd 8.1 or newer and found ${WEFT_XSIMD_VERSION} in ${WEFT_XSIMD_INCLUDE}")
endif()

find_path(WEFT_JSON_INCLUDE nlohmann/json.hpp)
if(NOT WEFT_JSON_INCLUDE)
  message(FATAL_ERROR "weft needs nlohmann_json and found none (Debian: apt-get install nlohmann-json3-dev)")
endif()

# Optional: SentencePiece tokenizers, in a separate library.
find_path(WEFT_SENTENCEPIECE_INCLUDE sentencepiece_processor.h)
find_library(WEFT_SENTENCEPIECE_LIBRARY sentencepiece)
find_library(WEFT_SENTENCEPIECE_TRAIN_LIBRARY sentencepiece_train)
set(WEFT_SENTENCEPIECE_LIBRARIES ${WEFT_SENTENCEPIECE_LIBRARY} ${WEFT_SENTENCEPIECE_TRAIN_LIBRARY})
if(WEFT_SENTENCEPIECE AND NOT (WEFT_SENTENCEPIECE_INCLUDE AND WEFT_SENTENCEPIECE_LIBRARY AND WEFT_SENTENCEPIECE_TRAIN_LIBRARY))
  message(STATUS "without SentencePiece tokenizers (Debian: apt-get install libsentencepiece-dev)")
  set(WEFT_SENTENCEPIECE OFF)
endif()

# Optional: weft train under mpirun, in a module of the command.
if(WEFT_MPI AND WEFT_TOOLS AND NOT WEFT_SANITIZE)
  set(MPI_CXX_SKIP_MPICXX ON)
  find_package(MPI COMPONENTS CXX)
  if(NOT MPI_CXX_FOUND)
    message(STATUS "without weft train under mpirun (Debian: apt-get install libopenmpi-dev openmpi-bin)")
  endif()
endif()
if(NOT (WEFT_MPI AND WEFT_TOOLS AND MPI_CXX_FOUND))
  set(WEFT_MPI OFF)
endif()

# The libraries of the source of threads (engine/context/backend_*.cpp).
set(WEFT_THREADS_CHOICES openmp pool serial)
if(NOT WEFT_THREADS IN_LIST WEFT_THREADS_CHOICES)
  message(FATAL_ERROR "WEFT_THREADS: expected openmp, pool or serial, got \"${WEFT_THREADS}\"")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)
set(WEFT_THREAD_LIBRARIES Threads::Threads)
if(WEFT_THREADS STREQUAL "openmp")
  find_package(OpenMP REQUIRED COMPONENTS CXX)
  list(APPEND WEFT_THREAD_LIBRARIES OpenMP::OpenMP_CXX)
endif()
