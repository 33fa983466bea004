/// \file
/// Profile: the time that operations take, by name.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#pragma GCC visibility push(default)
namespace weft {

namespace detail {
class [[gnu::visibility("hidden")]] OpTimer;
}

/// The time of all operations with the same name. No time is counted twice. If an operation calls another one, the time
/// belongs to the caller. If backward runs an operation again, the time belongs to that operation, not to the one that
/// needed its output. An operation that computes in one pass but is recorded as several operations appears under their
/// names in backward: a linear's activation as "activation", a norm's sum as "add".
struct OpTime {
  std::int64_t calls = 0;  ///< the number of forward calls
  double forward = 0;      ///< seconds in forward
  double recomputed = 0;   ///< seconds in forward runs that backward repeated
  double backward = 0;     ///< seconds in backward
};

/// Measures the time of the operations on its thread while it is in scope. If profiles are nested, only the innermost
/// one measures. Without a profile nothing is measured. The time of the sink during backward has the name "gradients".
class Profile {
 public:
  Profile() noexcept;
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// The times so far, by name.
  const std::map<std::string, OpTime>& ops() const noexcept { return ops_; }

 private:
  friend class detail::OpTimer;
  std::map<std::string, OpTime> ops_;
  detail::OpTimer* running_ = nullptr;
  Profile* below_;
};

}  // namespace weft
#pragma GCC visibility pop
