/// \file
/// The macros that say what a shared library exports. The library is compiled so that everything is hidden. The public
/// headers declare what is visible between WEFT_PUBLIC_BEGIN and WEFT_PUBLIC_END. The file is both C and C++.
#pragma once

#ifdef __GNUC__  // also clang
#define WEFT_PUBLIC_BEGIN _Pragma("GCC visibility push(default)")
#define WEFT_PUBLIC_END _Pragma("GCC visibility pop")
#define WEFT_HIDDEN __attribute__((visibility("hidden")))
#else  // a compiler without visibility
#define WEFT_PUBLIC_BEGIN
#define WEFT_PUBLIC_END
#define WEFT_HIDDEN
#endif
