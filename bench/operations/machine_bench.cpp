// Benchmarks of the machine's limits: multiply-adds in registers, and copies of as many bytes as the other families
// use.
#include "operations/family.h"

namespace weft::bench {

void add_machine(int threads) {
  add_benchmarks("fma", {}, "registers", threads);
  for (const std::int64_t mib : {2, 32})
    add_benchmarks("copy", {1, mib << 20, 1}, std::to_string(mib) + "MiB", threads);
}

}  // namespace weft::bench
