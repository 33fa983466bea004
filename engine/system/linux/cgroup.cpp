#include "system/linux/cgroup.h"

#include <algorithm>

#include "system/linux/system_file.h"

namespace weft::detail {
namespace {

void limit_cpus(CgroupLimits& limits, std::int64_t quota, std::int64_t period) {
  if (quota > 0 && period > 0)
    limits.cpus = std::min(limits.cpus, static_cast<double>(quota) / static_cast<double>(period));
}

// https://docs.kernel.org/admin-guide/cgroup-v2.html: cpu.max is "QUOTA PERIOD" in microseconds.
void read_version2(CgroupLimits& limits, const std::string& folder) {
  std::int64_t quota = 0, period = 0;
  std::uint64_t memory = 0;
  if (read_numbers(read_system_file(folder + "/cpu.max"), quota, period)) limit_cpus(limits, quota, period);
  if (read_numbers(read_system_file(folder + "/memory.max"), memory)) limits.memory = std::min(limits.memory, memory);
}

// https://docs.kernel.org/admin-guide/cgroup-v1/: a quota of -1 means no quota.
void read_version1(CgroupLimits& limits, const std::string& folder) {
  std::int64_t quota = 0, period = 0;
  std::uint64_t memory = 0;
  if (read_numbers(read_system_file(folder + "/cpu.cfs_quota_us"), quota) &&
      read_numbers(read_system_file(folder + "/cpu.cfs_period_us"), period))
    limit_cpus(limits, quota, period);
  if (read_numbers(read_system_file(folder + "/memory.limit_in_bytes"), memory))
    limits.memory = std::min(limits.memory, memory);
}

// Calls read(folder) for the group and every group above it, including the mount point. In a container, `path` may be
// the path on the host, although only the container's own group is mounted, as the root.
template <class Read>
void for_each_level(const std::string& mount, std::string path, Read read) {
  while (!path.empty()) {
    if (path != "/") read(mount + path);
    path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
  }
  read(mount);
}

}  // namespace

// A line is "ID:CONTROLLERS:PATH". In version 2, CONTROLLERS is empty.
CgroupLimits cgroup_limits(const std::string& membership, const std::string& root) {
  CgroupLimits limits;
  const auto version1 = [&](const std::string& folder) { read_version1(limits, folder); };
  const auto version2 = [&](const std::string& folder) { read_version2(limits, folder); };
  for_each_part(membership, '\n', [&](std::string_view line) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) return;
    const std::string controllers(line.substr(first + 1, second - first - 1)), path(line.substr(second + 1));
    if (controllers.empty()) {
      for_each_level(root, path, version2);
      for_each_level(root + "/unified", path, version2);
      return;
    }
    for_each_level(root + "/" + controllers, path, version1);
    for_each_part(controllers, ',', [&](std::string_view name) {
      if (name != controllers) for_each_level(root + "/" + std::string(name), path, version1);
    });
  });
  return limits;
}

}  // namespace weft::detail
