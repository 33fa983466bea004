// The limits that Linux control groups (versions 1 and 2) set for a process.
#pragma once
#include <cstdint>
#include <limits>
#include <string>

namespace weft::detail {

struct CgroupLimits {
  double cpus = std::numeric_limits<double>::infinity();
  std::uint64_t memory = std::numeric_limits<std::uint64_t>::max();  // bytes
};

// `membership` is the text of /proc/self/cgroup. `root` is the mount point of the groups, /sys/fs/cgroup. The limits of
// the process's groups and of all groups above them apply. Missing and unreadable files set no limit.
CgroupLimits cgroup_limits(const std::string& membership, const std::string& root);

}  // namespace weft::detail
