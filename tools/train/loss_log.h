// The file of --log, for plots.
#pragma once
#include <weft/trainer.h>

#include <cstdint>
#include <fstream>
#include <string>

// Lines "step TAB loss TAB validation loss", with "-" where there is none; about 200 of losses, each the mean since the
// one before.
class LossLog {
 public:
  // Goes on after `step`: what a longer run wrote behind it is cut off. Error if the file is no log, or can't be written.
  // An empty path: no file.
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
