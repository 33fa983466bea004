// Shows the progress of training on standard error, as a bar on a terminal and as plain lines otherwise.
#pragma once
#include <weft/trainer.h>

#include <chrono>
#include <cstdint>
#include <string>

class ProgressDisplay {
 public:
  ProgressDisplay();
  ~ProgressDisplay();
  void show(const weft::Progress& progress);
  void show(std::int64_t step, const weft::Evaluation& evaluation);
  void clear();  // removes the bar from the screen

 private:
  void bar(const weft::Progress& progress, double loss);
  void line(const std::string& text);

  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
  double smoothed_ = 0;  // exponential moving average of the loss
  std::int64_t shown_ = 0;
};

// Shows a line such as "batch 12/340" on a terminal, where `name` is "batch".
class Count {
 public:
  Count(const char* name, std::int64_t count);
  ~Count();
  void next();   // counts the item that begins now
  void clear();  // removes the line from the screen

 private:
  const char* name_;
  std::int64_t count_, begun_ = 0;
  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
};

// Formats a time as "1:02:03" or "2:03".
std::string as_time(double seconds);
