// What weft train says of saves that fail.
#pragma once
#include <weft/error.h>

#include <cstdint>
#include <iostream>

#include "console/progress.h"

// The first one, and when all is saved again.
class FailedSaves {
 public:
  explicit FailedSaves(bool keep_going) : keep_going_(keep_going) {}

  // A save failed; whether the run goes on.
  bool add(const weft::Error& error, ProgressDisplay& display) {
    latest_ = true;
    if (any_ || !keep_going_) return keep_going_;
    any_ = true;
    display.clear();
    std::cerr << "weft: " << error.what() << "; going on, what was saved before is as it was" << std::endl;
    return true;
  }
  // Before what is saved with an evaluation.
  void step() noexcept { latest_ = false; }
  // After it.
  void evaluated(std::int64_t step, ProgressDisplay& display) {
    if (!any_ || latest_) return;
    any_ = false;
    display.clear();
    std::cerr << "weft: step " << step << " is saved, after saves that failed" << std::endl;
  }
  bool ended_run() const noexcept { return latest_ && !keep_going_; }

 private:
  bool keep_going_, any_ = false, latest_ = false;
};
