// What Linux reports about the machine and the process.
#include <link.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "system/linux/cache.h"
#include "system/linux/cgroup.h"
#include "system/linux/system_file.h"
#include "system/priority.h"
#include "weft/os.h"

namespace weft::os {
namespace {

detail::CgroupLimits limits_of_this_process() noexcept {
  try {
    return detail::cgroup_limits(detail::read_system_file("/proc/self/cgroup"), "/sys/fs/cgroup");
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
    const std::int64_t found = detail::second_cache_size();
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
  constexpr std::string_view field = "VmHWM:";
  std::uint64_t kilobytes = 0;
  try {
    detail::for_each_part(detail::read_system_file("/proc/self/status"), '\n', [&](std::string_view line) {
      if (line.substr(0, field.size()) == field) detail::read_numbers(line.substr(field.size()), kilobytes);
    });
  } catch (const std::exception&) {
  }
  return kilobytes * 1024;
}

namespace {

// On Linux, each thread has its own nice value, which it passes on to the threads that it starts.
int& nice_value() noexcept {
  static thread_local int value = ::getpriority(PRIO_PROCESS, 0);  // not read again, because each product needs it
  return value;
}

}  // namespace

// A thread with the nice value 5 gets a third of the time of a thread with 0.
void lower_thread_priority() noexcept {
  (void)::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + 5);
  nice_value() = ::getpriority(PRIO_PROCESS, 0);
}

int inherited_priority() noexcept { return nice_value(); }

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
