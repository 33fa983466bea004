#include "system/hwcap.h"

#if defined(__aarch64__)
#include <sys/sysctl.h>

#include <cstddef>

namespace weft::detail {

bool hwcap::has(Feature feature) noexcept {
  const auto reports = [](const char* name) {
    int value = 0;
    std::size_t size = sizeof value;
    return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 && value != 0;
  };
  switch (feature) {
    case ASIMDDP: return reports("hw.optional.arm.FEAT_DotProd");
    case BF16: return reports("hw.optional.arm.FEAT_BF16");
  }
  return false;
}

}  // namespace weft::detail
#endif
