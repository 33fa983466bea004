// What macOS reports about the machine and the process.
#include <dlfcn.h>
#include <mach-o/dyld.h>
#include <pthread/qos.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "system/priority.h"
#include "weft/os.h"

namespace weft::os {
namespace {

// The number that the system calls `name`, or 0.
std::int64_t number(const char* name) noexcept {
  std::int64_t value = 0;
  std::size_t size = sizeof value;
  return ::sysctlbyname(name, &value, &size, nullptr, 0) == 0 ? value : 0;  // a 32-bit number leaves the rest at 0
}

}  // namespace

// On processors with cores of two kinds, these are the fast ones.
int available_threads(int cpus) noexcept {
  auto threads = static_cast<int>(number("hw.perflevel0.logicalcpu"));
  if (threads == 0) threads = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return std::max({threads, cpus, 1});
}

std::int64_t second_cache() noexcept {
  static const std::int64_t bytes = [] {
    const std::int64_t found = number("hw.l2cachesize");
    return found > 0 ? found : std::int64_t{512} << 10;
  }();
  return bytes;
}

std::uint64_t physical_memory() noexcept { return static_cast<std::uint64_t>(number("hw.memsize")); }

std::uint64_t peak_resident_memory() noexcept {
  rusage usage;
  return ::getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<std::uint64_t>(usage.ru_maxrss) : 0;  // in bytes
}

void lower_thread_priority() noexcept { (void)::pthread_set_qos_class_self_np(QOS_CLASS_UTILITY, 0); }
int inherited_priority() noexcept { return 0; }  // a new thread has the default class

std::vector<std::string> program_files() {
  static const char of_weft = 0;  // an address in the loaded file that contains weft
  std::vector<std::string> files;
  std::uint32_t size = 0;
  (void)::_NSGetExecutablePath(nullptr, &size);
  std::string program(size, '\0');
  if (::_NSGetExecutablePath(program.data(), &size) == 0) files.emplace_back(program.c_str());
  Dl_info library;
  if (::dladdr(&of_weft, &library) != 0 && library.dli_fname != nullptr &&
      (files.empty() || files[0] != library.dli_fname))
    files.emplace_back(library.dli_fname);
  return files;
}

}  // namespace weft::os
