#include "system/hwcap.h"

#if defined(__aarch64__)
#include <sys/sysctl.h>

#include <cstddef>

namespace weft::detail {

bool hwcap::has(Feature feature) noexcept {
  int value = 0;
  std::size_t size = sizeof value;
  const char* name = feature == BF16 ? "hw.optional.arm.FEAT_BF16" : "hw.optional.arm.FEAT_DotProd";
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
}

}  // namespace weft::detail
#endif
