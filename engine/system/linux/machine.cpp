// What Linux reports about the machine and the process.
#include <link.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "system/linux/cgroup.h"
#include "weft/os.h"

namespace weft::os {
namespace {

detail::CgroupLimits limits_of_this_process() noexcept {
  try {
    std::ifstream file("/proc/self/cgroup");
    std::ostringstream text;
    text << file.rdbuf();
    return detail::cgroup_limits(text.str(), "/sys/fs/cgroup");
  } catch (const std::exception&) {
    return {};
  }
}

// Returns the number of CPUs that the calling thread may run on, or 0 if the number is unknown. The type cpu_set_t has
// space for 1024 CPUs, but machines may have more.
int affinity() noexcept {
  for (int capacity = 1024; capacity <= 1 << 20; capacity *= 2) {
    cpu_set_t* set = CPU_ALLOC(capacity);
    if (set == nullptr) return 0;
    const std::size_t bytes = CPU_ALLOC_SIZE(capacity);
    const bool known = sched_getaffinity(0, bytes, set) == 0;
    const int count = known ? CPU_COUNT_S(bytes, set) : 0;
    const int error = errno;
    CPU_FREE(set);
    if (known) return count;
    if (error != EINVAL) return 0;
  }
  return 0;
}

}  // namespace

int available_threads(int cpus) noexcept {
  int threads = std::max(affinity(), cpus);
  if (threads == 0) threads = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  const double quota = std::ceil(limits_of_this_process().cpus);
  if (quota < threads) threads = static_cast<int>(quota);
  return std::max(threads, 1);
}

std::int64_t second_cache() noexcept {
  static const std::int64_t bytes = [] {
#if defined(_SC_LEVEL2_CACHE_SIZE)
    const std::int64_t found = ::sysconf(_SC_LEVEL2_CACHE_SIZE);
#else  // musl
    const std::int64_t found = 0;
#endif
    return found > 0 ? found : std::int64_t{512} << 10;
  }();
  return bytes;
}

std::uint64_t physical_memory() noexcept {
  const auto pages = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGE_SIZE));
  return std::min(pages * page, limits_of_this_process().memory);
}

// This function does not use getrusage, because the peak in getrusage includes memory used before exec.
std::uint64_t peak_resident_memory() noexcept {
  try {
    std::ifstream file("/proc/self/status");
    for (std::string line; std::getline(file, line);)
      if (line.rfind("VmHWM:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10) * 1024;
  } catch (const std::exception&) {
  }
  return 0;
}

namespace {

constexpr char of_weft = 0;  // an address in the loaded file that contains weft

// Callback of dl_iterate_phdr. If the loaded file contains weft, stores the file's name (empty for the program itself)
// and returns 1.
int is_file_of_weft(dl_phdr_info* file, std::size_t, void* name) noexcept {
  for (int i = 0; i < file->dlpi_phnum; ++i) {
    const auto& part = file->dlpi_phdr[i];
    const auto* begin = reinterpret_cast<const char*>(file->dlpi_addr + part.p_vaddr);
    if (part.p_type != PT_LOAD || &of_weft < begin || &of_weft >= begin + part.p_memsz) continue;
    *static_cast<const char**>(name) = file->dlpi_name;
    return 1;
  }
  return 0;
}

}  // namespace

std::vector<std::string> program_files() {
  const char* library = "";
  ::dl_iterate_phdr(is_file_of_weft, &library);
  std::vector<std::string> files{"/proc/self/exe"};
  if (*library != 0) files.emplace_back(library);
  return files;
}

}  // namespace weft::os
