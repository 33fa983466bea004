// The file that --log names. It is meant for plots.
#pragma once
#include <weft/trainer.h>

#include <cstdint>
#include <fstream>
#include <string>

// Writes lines "step TAB loss TAB validation loss", with "-" for a missing value. About 200 lines of a run have a loss.
// Each loss is the mean over the steps since the previous line with a loss.
class LossLog {
 public:
  // Opens the log to continue after `step`. Removes later lines, which were written after the last save. Throws an
  // Error if the file is not a log or can't be written. An empty path means that there is no log.
  LossLog(const std::string& path, std::int64_t step);
  void add(const weft::Progress& progress);
  void add(std::int64_t step, const weft::Evaluation& evaluation);
  void check() const;  // throws an Error if a line couldn't be written

 private:
  void line(std::int64_t step, const std::string& loss, const std::string& validation);

  std::string path_;
  std::ofstream file_;
  double sum_ = 0;  // sum of the losses since the last line
  std::int64_t count_ = 0;
};
