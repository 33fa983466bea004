#include "system/hwcap.h"

#if defined(__aarch64__)
#include "system/windows/handle.h"

namespace weft::detail {

bool hwcap::has(Feature feature) noexcept {
  constexpr DWORD dot_products = 43;  // PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE
  switch (feature) {
    case ASIMDDP: return ::IsProcessorFeaturePresent(dot_products) != 0;
    case BF16: return false;  // Windows does not report it
  }
  return false;
}

}  // namespace weft::detail
#endif
