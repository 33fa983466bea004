// Reports failed saves during weft train.
#pragma once
#include <weft/error.h>

#include <cstdint>
#include <iostream>

#include "console/progress.h"

// Reports the first failure, and the first success after failures.
class FailedSaves {
 public:
  explicit FailedSaves(bool keep_going) : keep_going_(keep_going) {}

  // Records a failed save. Returns whether the run continues.
  bool add(const weft::Error& error, ProgressDisplay& display) {
    latest_ = true;
    if (any_ || !keep_going_) return keep_going_;
    any_ = true;
    display.clear();
    std::cerr << "weft: " << error.what() << "; the run continues, and earlier saves are intact" << std::endl;
    return true;
  }
  // Call this after a step, before anything is saved.
  void step() noexcept { latest_ = false; }
  // Call this after an evaluation and its saves.
  void evaluated(std::int64_t step, ProgressDisplay& display) {
    if (!any_ || latest_) return;
    any_ = false;
    display.clear();
    std::cerr << "weft: step " << step << " is saved, after earlier saves failed" << std::endl;
  }
  bool ended_run() const noexcept { return latest_ && !keep_going_; }

 private:
  bool keep_going_, any_ = false, latest_ = false;
};
