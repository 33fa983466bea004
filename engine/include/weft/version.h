/// \file
/// The version of these headers. CMake reads it from this file.
#pragma once

/// Increases with changes that programs must adapt to, from version 1 on.
#define WEFT_VERSION_MAJOR 0
/// Increases with new features and, while the major version is 0, with every breaking change.
#define WEFT_VERSION_MINOR 3
/// Increases with fixes.
#define WEFT_VERSION_PATCH 0

/// \cond
#define WEFT_VERSION_JOIN_(a, b, c) #a "." #b "." #c
#define WEFT_VERSION_OF_(a, b, c) WEFT_VERSION_JOIN_(a, b, c)
/// \endcond

/// The version as a string, such as "0.3.0".
#define WEFT_VERSION WEFT_VERSION_OF_(WEFT_VERSION_MAJOR, WEFT_VERSION_MINOR, WEFT_VERSION_PATCH)
