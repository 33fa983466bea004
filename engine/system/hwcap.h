// Features of an aarch64 CPU. The system reports each feature as one bit of the word AT_HWCAP or AT_HWCAP2.
#pragma once
#if defined(__aarch64__)
#include <sys/auxv.h>

namespace weft::detail::hwcap {

struct Feature {
  unsigned long word, bit;
};
inline constexpr Feature ASIMDDP{AT_HWCAP, HWCAP_ASIMDDP};  // sdot
inline constexpr Feature BF16{AT_HWCAP2, HWCAP2_BF16};      // bfdot

bool has(Feature feature) noexcept;

}  // namespace weft::detail::hwcap
#endif
