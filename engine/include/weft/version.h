// The version of these headers. CMake reads it here.
#pragma once

#define WEFT_VERSION_MAJOR 0
#define WEFT_VERSION_MINOR 1
#define WEFT_VERSION_PATCH 0

#define WEFT_VERSION_JOIN_(a, b, c) #a "." #b "." #c
#define WEFT_VERSION_OF_(a, b, c) WEFT_VERSION_JOIN_(a, b, c)

/// "0.1.0"
#define WEFT_VERSION WEFT_VERSION_OF_(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH)
