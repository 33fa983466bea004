// Progress of training on standard error: a bar on a terminal, plain lines elsewhere; and in a file, for plots.
#pragma once
#include <weft/trainer.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <string>

class ProgressDisplay {
 public:
  // log: a file of lines "step TAB loss TAB validation loss", "-" where there is none; empty: no file.
  ProgressDisplay(const std::string& log, bool append);
  ~ProgressDisplay();
  void show(const weft::Progress& progress);
  void show(std::int64_t step, const weft::Evaluation& evaluation);
  void clear();            // takes the bar off the screen
  void check_log() const;  // Error if a line of the log couldn't be written

 private:
  void bar(const weft::Progress& progress, double loss);
  void line(const std::string& text);
  void log(std::int64_t step, const std::string& loss, const std::string& validation);

  bool terminal_, drawn_ = false;
  std::chrono::steady_clock::time_point last_drawn_;
  double smoothed_ = 0, sum_ = 0;  // smoothed loss; sum of the losses since the last logged line
  std::int64_t count_ = 0, shown_ = 0;
  std::string log_path_;
  std::ofstream log_;
};

// "1:02:03" or "2:03"
std::string as_time(double seconds);
