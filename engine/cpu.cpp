#include "weft/cpu.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <string>

#include "weft/error.h"

namespace weft {
namespace {

// The instruction sets of this kind of processor, the best last; and those of this build.
#if defined(__x86_64__)
constexpr Isa kind_of_processor[] = {Isa::sse2, Isa::avx2, Isa::avx512};
#else
constexpr Isa kind_of_processor[] = {Isa::neon};
#endif
constexpr Isa built_isas[] = {
#if defined(WEFT_HAS_SSE2)
    Isa::sse2,
#endif
#if defined(WEFT_HAS_AVX2)
    Isa::avx2,
#endif
#if defined(WEFT_HAS_AVX512)
    Isa::avx512,
#endif
#if defined(WEFT_HAS_NEON)
    Isa::neon,
#endif
};

// __builtin_cpu_supports also asks XGETBV whether the operating system keeps the wide registers.
bool cpu_runs(Isa isa) noexcept {
  switch (isa) {
#if defined(__x86_64__)
    case Isa::sse2: return true;
    case Isa::avx2: return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case Isa::avx512:
      return cpu_runs(Isa::avx2) && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512cd") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
    case Isa::neon: return false;
#elif defined(__aarch64__)
    case Isa::neon: return true;
    default: return false;
#endif
  }
  return false;
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

bool cpu_has(Isa isa) noexcept {
  return std::find(std::begin(built_isas), std::end(built_isas), isa) != std::end(built_isas) && cpu_runs(isa);
}

std::vector<Isa> available_isas() {
  std::vector<Isa> all;
  for (Isa isa : built_isas)
    if (cpu_has(isa)) all.push_back(isa);
  return all;
}

Isa best_isa() {
  const char* variable = std::getenv("WEFT_ISA");
  const std::string cap = variable == nullptr ? "" : variable;
  Isa best = available_isas().front();
  std::string names;
  for (Isa isa : kind_of_processor) {
    names += std::string(names.empty() ? "" : ", ") + isa_name(isa);
    if (cpu_has(isa)) best = isa;
    if (cap == isa_name(isa)) return best;
  }
  if (cap.empty()) return best;
  throw Error("[cpu] the environment variable WEFT_ISA is \"" + cap + "\", expected one of " + names);
}

}  // namespace weft
