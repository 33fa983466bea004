#include "system/hwcap.h"

#if defined(__aarch64__)
#include <sys/auxv.h>

namespace weft::detail {

// The system reports each feature as one bit of the word AT_HWCAP or AT_HWCAP2.
bool hwcap::has(Feature feature) noexcept {
  switch (feature) {
    case ASIMDDP: return (getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0;
    case BF16: return (getauxval(AT_HWCAP2) & HWCAP2_BF16) != 0;
  }
  return false;
}

}  // namespace weft::detail
#endif
