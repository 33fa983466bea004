#include "train/loss_log.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>

namespace {

const std::string header = "step\tloss\tvalidation loss\n";

// Whether the line stays in the log of a run that continues after `step`. A validation line of `step` itself doesn't
// stay, because that validation is repeated.
bool is_before(const std::string& line, std::int64_t step) {
  std::int64_t written = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), written);
  if (error != std::errc() || *end != '\t') return false;
  return written < step || (written == step && end[1] != '-');
}

// Returns the header and the log's lines up to `step`.
std::string kept_of(const std::string& text, std::int64_t step) {
  std::size_t end = header.size();
  for (std::size_t next; (next = text.find('\n', end)) != std::string::npos; end = next + 1)
    if (!is_before(text.substr(end, next + 1 - end), step)) break;
  return text.substr(0, end);
}

std::string fixed(double value) {
  char text[400];
  std::snprintf(text, sizeof text, "%.6f", value);
  return text;
}

}  // namespace

LossLog::LossLog(const std::string& path, std::int64_t step) : path_(path) {
  if (path.empty()) return;
  std::error_code none;
  bool begun = false;
  if (std::filesystem::is_regular_file(path, none) && std::filesystem::file_size(path, none) > 0) {
    const std::string text = weft::os::read_file(path);
    if (text.rfind(header, 0) != 0)
      throw weft::Error("--log names \"" + path + "\", which exists and is not a log of weft");
    const std::string kept = kept_of(text, step);
    if (kept.size() < text.size()) std::filesystem::resize_file(path, kept.size(), none);
    begun = true;
  }
  file_.open(path, std::ios::app | std::ios::binary);
  if (!begun) file_ << header << std::flush;
  check();
}

void LossLog::line(std::int64_t step, const std::string& loss, const std::string& validation) {
  if (file_.is_open()) file_ << step << '\t' << loss << '\t' << validation << std::endl;
}

void LossLog::check() const {
  if (!path_.empty() && !file_) throw weft::Error("can't write \"" + path_ + "\"");
}

void LossLog::add(const weft::Progress& progress) {
  sum_ += progress.loss;
  ++count_;
  if (count_ < std::max<std::int64_t>(1, progress.steps / 200)) return;
  line(progress.step, fixed(sum_ / static_cast<double>(count_)), "-");
  sum_ = 0;
  count_ = 0;
}

void LossLog::add(std::int64_t step, const weft::Evaluation& evaluation) { line(step, "-", fixed(evaluation.loss)); }
