#include "system/linux/cache.h"

#include <unistd.h>

#include <exception>
#include <string>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "system/linux/system_file.h"

namespace weft::detail {
namespace {

#if defined(__x86_64__)
// Intel's CPUID describes each cache under the leaf 4, AMD's under 0x8000001d, in the same format.
std::int64_t size_from_cpu(unsigned leaf) noexcept {
  unsigned kind = 0, shape = 0, sets = 0, flags = 0;
  for (unsigned i = 0; i < 16 && __get_cpuid_count(leaf, i, &kind, &shape, &sets, &flags) != 0 && (kind & 31) != 0;
       ++i) {
    const std::int64_t line = (shape & 0xfff) + 1, partitions = (shape >> 12 & 0x3ff) + 1, ways = (shape >> 22) + 1;
    if ((kind >> 5 & 7) == 2) return line * partitions * ways * (std::int64_t{sets} + 1);
  }
  return 0;
}
#endif

// The kernel writes "1024K".
std::int64_t size_from_kernel() {
  const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index";
  for (const char* index : {"0", "1", "2", "3"}) {
    std::int64_t level = 0, kilobytes = 0;
    if (read_numbers(read_system_file(folder + index + "/level"), level) && level == 2 &&
        read_numbers(read_system_file(folder + index + "/size"), kilobytes))
      return kilobytes << 10;
  }
  return 0;
}

}  // namespace

// musl's sysconf does not know the cache. The CPU comes before the kernel, because an empty root folder has no /sys.
std::int64_t second_cache_size() noexcept {
  std::int64_t size = 0;
#if defined(_SC_LEVEL2_CACHE_SIZE)
  size = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
#if defined(__x86_64__)
  for (const unsigned leaf : {0x4u, 0x8000001du})
    if (size <= 0) size = size_from_cpu(leaf);
#endif
  try {
    return size > 0 ? size : size_from_kernel();
  } catch (const std::exception&) {
    return 0;
  }
}

}  // namespace weft::detail
