/// \file
/// The version of these headers. CMake reads it here.
#pragma once

/// Raised by changes that programs must follow, from 1 on.
#define WEFT_VERSION_MAJOR 0
/// Raised by what is new; while the major version is 0, by any change that programs must follow.
#define WEFT_VERSION_MINOR 1
/// Raised by what is mended.
#define WEFT_VERSION_PATCH 0

/// \cond
#define WEFT_VERSION_JOIN_(a, b, c) #a "." #b "." #c
#define WEFT_VERSION_OF_(a, b, c) WEFT_VERSION_JOIN_(a, b, c)
/// \endcond

/// As a string: "0.1.0"
#define WEFT_VERSION WEFT_VERSION_OF_(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH)
