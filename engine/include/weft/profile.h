// Profile: how long the operations take, by name.
#pragma once
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#pragma GCC visibility push(default)
namespace weft {

class OpTimer;

// The time of all operations of one name. Each moment counts once: an operation that another one calls belongs to its
// caller; what backward runs again belongs to the operation that is run again, not to the one that asked for it. What is
// computed in one pass and recorded as several operations is timed by these in backward: a linear's activation as
// "activation", a norm's sum as "add".
struct OpTime {
  std::int64_t calls = 0;  // of forward
  double forward = 0, recomputed = 0, backward = 0;  // seconds
};

// Times the operations of its own thread while it is in scope, the innermost profile alone. Without one nothing is
// timed. "gradients" is what the sink of a backward pass takes.
class Profile {
 public:
  Profile() noexcept;
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  const std::map<std::string, OpTime>& ops() const noexcept { return ops_; }

 private:
  friend class OpTimer;
  std::map<std::string, OpTime> ops_;
  OpTimer* running_ = nullptr;
  Profile* below_;
};

// For run_op and Tape: counts its own lifetime in the current profile, if there is one.
class OpTimer {
 public:
  OpTimer(const char* op, double OpTime::*part);
  ~OpTimer();
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Profile* profile_;           // null: not counted
  OpTimer* caller_ = nullptr;
  double* seconds_ = nullptr;
  double inside_ = 0;          // seconds that belong to others
  Clock::time_point start_;
};

}  // namespace weft
#pragma GCC visibility pop
