/// \file
/// Profile: the time that operations take, by name.
#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

namespace detail {
class WEFT_HIDDEN OpTimer;
}

/// The time of all operations with the same name. No time is counted twice. If an operation calls another operation,
/// the time of both counts for the caller. If backward runs an operation again, the time counts for that operation, not
/// for the one that needed its output. Some operations compute in one pass but are recorded as several operations. In
/// backward, their times appear under the names of the recorded operations. For example, the activation of a linear
/// layer appears as "activation", and the sum in a norm with a residual as "add".
struct OpTime {
  std::int64_t calls = 0;  ///< the number of forward calls
  double forward = 0;      ///< seconds in forward
  double recomputed = 0;   ///< seconds in forward runs that backward repeated
  double backward = 0;     ///< seconds in backward
};

/// Measures the time of the operations on its thread while it is in scope. If profiles are nested, only the innermost
/// one measures. Without a profile, nothing is measured. The name "gradients" stands for the time that backward spends
/// in the gradient sink and in filling parts of gradients with zeros.
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
WEFT_PUBLIC_END
