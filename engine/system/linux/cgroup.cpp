#include "system/linux/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace weft::detail {
namespace {

void limit_cpus(CgroupLimits& limits, std::int64_t quota, std::int64_t period) {
  if (quota > 0 && period > 0)
    limits.cpus = std::min(limits.cpus, static_cast<double>(quota) / static_cast<double>(period));
}

// Reads the numbers at the start of the file. Returns false if the file starts with something else, such as "max".
template <class... T>
bool read_numbers(const std::string& path, T&... numbers) {
  std::ifstream file(path);
  return static_cast<bool>((file >> ... >> numbers));
}

// https://docs.kernel.org/admin-guide/cgroup-v2.html: cpu.max is "QUOTA PERIOD" in microseconds.
void read_version2(CgroupLimits& limits, const std::string& folder) {
  std::int64_t quota = 0, period = 0;
  std::uint64_t memory = 0;
  if (read_numbers(folder + "/cpu.max", quota, period)) limit_cpus(limits, quota, period);
  if (read_numbers(folder + "/memory.max", memory)) limits.memory = std::min(limits.memory, memory);
}

// https://docs.kernel.org/admin-guide/cgroup-v1/: a quota of -1 means no quota.
void read_version1(CgroupLimits& limits, const std::string& folder) {
  std::int64_t quota = 0, period = 0;
  std::uint64_t memory = 0;
  if (read_numbers(folder + "/cpu.cfs_quota_us", quota) && read_numbers(folder + "/cpu.cfs_period_us", period))
    limit_cpus(limits, quota, period);
  if (read_numbers(folder + "/memory.limit_in_bytes", memory)) limits.memory = std::min(limits.memory, memory);
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
  std::istringstream lines(membership);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      for_each_level(root, path, version2);
      for_each_level(root + "/unified", path, version2);
      continue;
    }
    for_each_level(root + "/" + controllers, path, version1);
    std::istringstream names(controllers);
    for (std::string name; std::getline(names, name, ',');)
      if (name != controllers) for_each_level(root + "/" + name, path, version1);
  }
  return limits;
}

}  // namespace weft::detail
