#include "system/hwcap.h"

#if defined(__aarch64__)
#include <sys/auxv.h>

namespace weft::detail {

// The system reports each feature as one bit of the word AT_HWCAP or AT_HWCAP2.
bool hwcap::has(Feature feature) noexcept {
  return feature == BF16 ? (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0 : (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
}

}  // namespace weft::detail
#endif
