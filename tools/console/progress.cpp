#include "console/progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>

#include "console/report.h"
#include "console/terminal.h"

namespace {

std::string format(const char* pattern, double value) {
  char text[64];
  std::snprintf(text, sizeof text, pattern, value);
  return text;
}

// Leaves out the speed first, then the time, then the loss, until the text fits into `width` columns.
std::string figures(const weft::Progress& p, double loss, std::size_t width) {
  const std::string step = "step " + std::to_string(p.step) + "/" + std::to_string(p.steps);
  const std::string with_loss = step + "  loss " + format("%.4f", loss), time = "  ETA " + as_time(p.seconds_left);
  const std::string speed = "  " + format("%.0f", p.tokens_per_second) + " tokens/s";
  for (const std::string& text : {with_loss + speed + time, with_loss + time, with_loss})
    if (text.size() <= width) return text;
  return step.substr(0, width);
}

constexpr std::size_t any_width = 1000;

}  // namespace

std::string as_time(double seconds) {
  const auto s = static_cast<long long>(std::min(std::ceil(std::max(seconds, 0.0)), 1e9));
  char text[64];
  if (s >= 3600) std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", s / 3600, s / 60 % 60, s % 60);
  else std::snprintf(text, sizeof text, "%lld:%02lld", s / 60, s % 60);
  return text;
}

ProgressDisplay::ProgressDisplay() : terminal_(is_terminal()) {}

ProgressDisplay::~ProgressDisplay() { clear(); }

Count::Count(const char* name, std::int64_t count) : name_(name), count_(count), terminal_(is_terminal()) {}

Count::~Count() { clear(); }

void Count::next() {
  ++begun_;
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || (drawn_ && now - last_drawn_ < std::chrono::milliseconds(100))) return;
  last_drawn_ = now;
  const std::string text = std::string(name_) + " " + std::to_string(begun_) + "/" + std::to_string(count_);
  const int width = std::max(terminal_width() - 1, 1);
  std::cerr << "\r\033[K" << text.substr(0, static_cast<std::size_t>(width)) << std::flush;
  drawn_ = true;
}

void Count::clear() {
  if (drawn_) std::cerr << "\r\033[K" << std::flush;
  drawn_ = false;
}

void ProgressDisplay::clear() {
  if (drawn_) std::cerr << "\r\033[K" << std::flush;
  drawn_ = false;
}

void ProgressDisplay::line(const std::string& text) {
  clear();
  std::cerr << text << std::endl;
}

void ProgressDisplay::bar(const weft::Progress& progress, double loss) {
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_drawn_ < std::chrono::milliseconds(100)) return;
  last_drawn_ = now;
  const int width = std::max(terminal_width() - 1, 1);  // some terminals begin a new line in the last column
  const std::string text = figures(progress, loss, static_cast<std::size_t>(width));
  const int room = std::min(width - static_cast<int>(text.size()) - 3, 40);
  std::string drawn;
  if (room >= 5) {
    std::string cells(static_cast<std::size_t>(room), ' ');
    std::fill_n(cells.begin(), room * progress.step / progress.steps, '=');
    drawn = "[" + cells + "] ";
  }
  std::cerr << "\r\033[K" << drawn << text << std::flush;
  drawn_ = true;
}

void ProgressDisplay::show(const weft::Progress& progress) {
  smoothed_ = shown_++ == 0 ? progress.loss : 0.95 * smoothed_ + 0.05 * progress.loss;
  if (terminal_) bar(progress, smoothed_);
  else if (progress.step % std::max<std::int64_t>(1, progress.steps / 20) == 0)
    line(figures(progress, smoothed_, any_width));
}

void ProgressDisplay::show(std::int64_t step, const weft::Evaluation& evaluation) {
  std::string text = "step " + std::to_string(step) + ": validation loss " + format("%.4f", evaluation.loss);
  for (const weft::Metric& metric : evaluation.metrics) text += ", " + metric.name + " " + metric_text(metric);
  line(text);
}
