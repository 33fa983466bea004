// The file of --log, for plots.
#pragma once
#include <weft/trainer.h>

#include <cstdint>
#include <fstream>
#include <string>

// Lines "step TAB loss TAB validation loss", with "-" for a value that isn't there. About 200 lines have a loss, each
// the mean since the line before.
class LossLog {
 public:
  // Continues after `step`: later lines, which a longer run wrote, are cut off. Error if the file is not a log, or
  // can't be written. An empty path means no file.
  LossLog(const std::string& path, std::int64_t step);
  void add(const weft::Progress& progress);
  void add(std::int64_t step, const weft::Evaluation& evaluation);
  void check() const;  // Error if a line couldn't be written

 private:
  void line(std::int64_t step, const std::string& loss, const std::string& validation);

  std::string path_;
  std::ofstream file_;
  double sum_ = 0;  // of the losses since the last line
  std::int64_t count_ = 0;
};
