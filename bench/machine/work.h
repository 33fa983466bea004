// Work is the common form of everything that a benchmark times, for weft and for its peers.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

// The multiply-adds in registers with which products are compared: those of f32, bf16 or int8.
enum class Peak { same, bf16, int8 };

// `run` makes one call, on data that are prepared in advance.
struct Work {
  std::function<void()> run;
  double flops = 0;                   // nominal; 5 n log2 n for a complex transform, 2.5 n log2 n for a real one
  double bytes = 0;                   // inputs and outputs, each counted once
  double elements = 0;                // per thread; set it to report cycles per element of work in cache
  Peak peak = Peak::same;             // the kind of its products
  bool memory_bound = false;          // whether to compare it with a copy of `bytes`
  std::function<void()> read = {};    // only reads the bytes whose reading may limit the speed
  std::function<void()> before = {};  // untimed, runs before each call of `run`
};

}  // namespace weft::bench
