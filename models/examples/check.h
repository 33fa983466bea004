// Prints whether a condition holds, and exits if it doesn't hold.
#pragma once
#include <cstdio>
#include <cstdlib>

inline void check(bool holds, const char* what) {
  std::printf("%s: %s\n", what, holds ? "yes" : "no");
  if (!holds) std::exit(1);
}
