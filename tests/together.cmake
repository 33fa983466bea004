# -DWEFT_TOGETHER=ON is for builds that are only used for tests. It compiles the sources of a folder as one file (a
# unity build), so that the compiler reads their headers once. Sources with colliding names are compiled separately. Add
# them here, or rename what collides.
set(alone engine/system/new_folder ops/dense/gemm ops/dense/packing ops/dense/quantized_product ops/dense/quantized_weight
          models/formats/.* models/inference/generate models/[^/]* models/text/characters models/text/ids models/text/wordpunct models/text/words)
list(JOIN alone "|" alone)
foreach(room engine ops models)
  get_target_property(sources weft_${room} SOURCES)
  set(folder "")
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE within)
    if(NOT within MATCHES "^[^.].*\\.cpp$" OR within MATCHES "^(${alone})\\.cpp$")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH of)
    if(NOT of STREQUAL folder OR count EQUAL 10)  # not too many, so that several units compile in parallel
      set(folder ${of})
      set(first ${source})
      set(count 0)
    endif()
    math(EXPR count "${count} + 1")
    cmake_path(GET first STEM name)
    cmake_path(GET folder STEM last)
    set_source_files_properties(${source} TARGET_DIRECTORY weft_${room} PROPERTIES UNITY_GROUP ${last}_${name})
  endforeach()
  set_target_properties(weft_${room} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endforeach()
