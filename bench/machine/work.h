// Work: the common form of everything that a benchmark times, weft's and the peers'.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

// The multiply-adds in registers that products are compared with: those of f32, or the instructions for bf16 and int8.
enum class Peak { same, bf16, int8 };

// One call of `run` on prepared data of its own.
struct Work {
  std::function<void()> run;
  double flops = 0;           // nominal: complex transform 5 n log2 n, real 2.5 n log2 n, plain form
  double bytes = 0;           // inputs and outputs, each once
  double elements = 0;        // per thread; set it to report cycles per element, where arithmetic in cache matters
  Peak peak = Peak::same;     // the kind of its products
  bool memory_bound = false;  // compared with a copy of `bytes`
  std::function<void()> read = {};    // only reads the bytes that may bound it, if flops do not
  std::function<void()> before = {};  // untimed, runs before each call of `run`
};

}  // namespace weft::bench
