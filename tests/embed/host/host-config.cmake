include(CMakeFindDependencyMacro)
find_dependency(weft)
include(${CMAKE_CURRENT_LIST_DIR}/host-targets.cmake)
