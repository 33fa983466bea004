#include "weft/cpu.h"

#include <cstdlib>
#include <string>

#include "weft/error.h"

namespace weft {

const char* isa_name(Isa isa) noexcept {
  switch (isa) {
    case Isa::sse2: return "sse2";
    case Isa::avx2: return "avx2";
    case Isa::avx512: return "avx512";
    case Isa::neon: return "neon";
  }
  return "unknown";
}

// __builtin_cpu_supports also asks XGETBV whether the operating system keeps the wide registers.
bool cpu_has(Isa isa) noexcept {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::sse2: return true;
    case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512:
      return cpu_has(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    case Isa::neon: return false;
#elif defined(__aarch64__)
    case Isa::neon: return true;
    default: return false;
#endif
  }
  return false;
}

std::vector<Isa> available_isas() {
  std::vector<Isa> all;
  for (Isa isa : {Isa::sse2, Isa::avx2, Isa::avx512, Isa::neon})
    if (cpu_has(isa)) all.push_back(isa);
  return all;
}

Isa best_isa() {
  const char* cap = std::getenv("WEFT_ISA");
  const std::vector<Isa> all = available_isas();
  if (cap == nullptr || *cap == '\0') return all.back();
  for (Isa isa : all)
    if (std::string(cap) == isa_name(isa)) return isa;
  std::string names;
  for (Isa isa : all) names += std::string(names.empty() ? "" : ", ") + isa_name(isa);
  throw Error("[cpu] the environment variable WEFT_ISA is \"" + std::string(cap) + "\", expected one of " + names);
}

}  // namespace weft
