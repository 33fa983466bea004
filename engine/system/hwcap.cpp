#include "system/hwcap.h"

#if defined(__aarch64__)
namespace weft::detail {

bool hwcap::has(Feature feature) noexcept { return (getauxval(feature.word) & feature.bit) != 0; }

}  // namespace weft::detail
#endif
