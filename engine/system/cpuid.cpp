#include "system/cpuid.h"

#if defined(__x86_64__)
#include <cpuid.h>

namespace weft::detail::cpuid {
namespace {

enum Register { eax, ebx, ecx, edx };
// The bits of XCR0: the registers that the operating system saves.
constexpr unsigned xmm = 1 << 1, ymm = xmm | 1 << 2;
#if defined(__APPLE__)  // macOS saves the wider registers from their first use on
constexpr unsigned zmm = ymm;
#else
constexpr unsigned zmm = ymm | 7 << 5;
#endif

// Intel's Software Developer's Manual, volume 2, CPUID.
struct Place {
  Feature feature;
  unsigned leaf, part;
  Register in;
  int bit;
  unsigned saved;
};
constexpr Place places[] = {
    {sse2, 1, 0, edx, 26, 0},       {fma, 1, 0, ecx, 12, ymm},        {avx2, 7, 0, ebx, 5, ymm},
    {avx512f, 7, 0, ebx, 16, zmm},  {avx512dq, 7, 0, ebx, 17, zmm},   {avx512cd, 7, 0, ebx, 28, zmm},
    {avx512bw, 7, 0, ebx, 30, zmm}, {avx512vnni, 7, 0, ecx, 11, zmm}, {avx512bf16, 7, 1, eax, 5, zmm},
};

bool has_bit(unsigned leaf, unsigned part, Register in, int bit) noexcept {
  unsigned found[4] = {};
  if (__get_cpuid_count(leaf, part, &found[eax], &found[ebx], &found[ecx], &found[edx]) == 0) return false;
  return (found[in] >> bit & 1) != 0;
}

unsigned saved_registers() noexcept {
  constexpr int osxsave = 27;  // whether xgetbv exists
  if (!has_bit(1, 0, ecx, osxsave)) return 0;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return low;
}

unsigned all_features() noexcept {
  const unsigned saved = saved_registers();
  unsigned all = 0;
  for (const Place& p : places)
    if ((saved & p.saved) == p.saved && has_bit(p.leaf, p.part, p.in, p.bit)) all |= 1U << p.feature;
  return all;
}

}  // namespace

bool has(Feature feature) noexcept {
  static const unsigned all = all_features();
  return (all >> feature & 1) != 0;
}

}  // namespace weft::detail::cpuid
#endif
