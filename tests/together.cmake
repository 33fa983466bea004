# -DWEFT_TOGETHER=ON, for builds that only test: a folder's sources are compiled as one, which reads their headers once. Those
# whose names would meet in it are compiled alone, as all are without this option: it takes a line here, or another name.
set(alone engine/system/new_folder ops/dense/gemm ops/dense/packing ops/dense/quantized_product ops/dense/quantized_weight
          models/forms/.* models/inference/generate models/[^/]* models/text/characters models/text/ids models/text/wordpunct models/text/words)
list(JOIN alone "|" alone)
foreach(room engine ops models)
  get_target_property(sources weft_${room} SOURCES)
  list(FILTER sources INCLUDE REGEX "^${PROJECT_SOURCE_DIR}/.*\\.cpp$")
  list(FILTER sources EXCLUDE REGEX "^${PROJECT_SOURCE_DIR}/(${alone})\\.cpp$")
  set(folder "")
  foreach(source IN LISTS sources)
    cmake_path(GET source PARENT_PATH of)
    if(NOT of STREQUAL folder OR count EQUAL 10)  # not too many: several are compiled at once
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
