/// \file
/// Profile: how long the operations take, by name.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#pragma GCC visibility push(default)
namespace weft {

namespace detail {
class [[gnu::visibility("hidden")]] OpTimer;
}

/// The time of all operations of one name. Each moment counts once: an operation that another one calls belongs to its
/// caller; what backward runs again belongs to the operation that is run again, not to the one that asked for it. What
/// is computed in one pass and recorded as several operations is timed by these in backward: a linear's activation as
/// "activation", a norm's sum as "add".
struct OpTime {
  std::int64_t calls = 0;  ///< of forward
  double forward = 0;      ///< seconds
  double recomputed = 0;   ///< seconds, of forward run again in backward
  double backward = 0;     ///< seconds
};

/// Times the operations of its own thread while it is in scope, the innermost profile alone. Without one nothing is
/// timed. "gradients" is what the sink of a backward pass takes.
class Profile {
 public:
  Profile() noexcept;
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// So far, by name.
  const std::map<std::string, OpTime>& ops() const noexcept { return ops_; }

 private:
  friend class detail::OpTimer;
  std::map<std::string, OpTime> ops_;
  detail::OpTimer* running_ = nullptr;
  Profile* below_;
};

}  // namespace weft
#pragma GCC visibility pop
