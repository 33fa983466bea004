#include "weft/cpu.h"

#include <cstdlib>
#include <string>

#include "weft/error.h"

namespace weft {
namespace {

// The instruction sets of this build, the best last.
std::vector<Isa> known_isas() {
#if defined(__x86_64__)
  return {Isa::sse2, Isa::avx2, Isa::avx512};
#else
  return {Isa::neon};
#endif
}

}  // namespace

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
  for (Isa isa : known_isas())
    if (cpu_has(isa)) all.push_back(isa);
  return all;
}

Isa best_isa() {
  const char* cap = std::getenv("WEFT_ISA");
  const bool capped = cap != nullptr && *cap != '\0';
  Isa best = available_isas().front();
  std::string names;
  for (Isa isa : known_isas()) {
    names += std::string(names.empty() ? "" : ", ") + isa_name(isa);
    if (cpu_has(isa)) best = isa;
    if (capped && std::string(cap) == isa_name(isa)) return best;
  }
  if (!capped) return best;
  throw Error("[cpu] the environment variable WEFT_ISA is \"" + std::string(cap) + "\", expected one of " + names);
}

}  // namespace weft
