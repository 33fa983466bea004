// OpTimer measures the time of an operation for a Profile.
#pragma once
#include <chrono>

#include "weft/profile.h"

namespace weft::detail {

// Adds the time between construction and destruction to the current profile, if there is one.
class OpTimer {
 public:
  OpTimer(const char* op, double OpTime::*part);
  ~OpTimer();
  OpTimer(const OpTimer&) = delete;
  OpTimer& operator=(const OpTimer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Profile* profile_;  // null: the time is not counted
  OpTimer* caller_ = nullptr;
  double* seconds_ = nullptr;
  double inside_ = 0;  // seconds that nested timers have counted
  Clock::time_point start_;
};

}  // namespace weft::detail
