// Work: what a benchmark times, ours and the peers' in one form.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace weft::bench {

// The multiply-adds in registers that products are held against: those of f32, or what is there for bf16 and int8.
enum class Peak { same, bf16, int8 };

// One call of `run` on data of its own, all made beforehand.
struct Work {
  std::function<void()> run;
  double flops = 0;        // nominal: 5 n log2 n a complex transform of n, 2.5 n log2 n a real one, of the plain form
  double bytes = 0;        // of the inputs and outputs, each once
  double elements = 0;     // of one thread, to be counted in cycles each, where what matters is arithmetic in cache
  Peak peak = Peak::same;  // what its products are of
  bool memory_bound = false;          // to be compared with a copy of `bytes`
  std::function<void()> read = {};    // no more than reading the bytes that may bound it, if flops don't
  std::function<void()> before = {};  // untimed, before each call of `run`
};

}  // namespace weft::bench
