#include "machine/timing.h"

#include <algorithm>
#include <chrono>

namespace weft::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

double seconds_of(const std::function<void()>& run, long calls) {
  const auto start = Clock::now();
  for (long i = 0; i < calls; ++i) run();
  return seconds_since(start) / static_cast<double>(calls);
}

double seconds_per_call(const std::function<void()>& run, double min_seconds) {
  const auto warm = Clock::now();
  long warm_calls = 0;
  do {
    run();
    ++warm_calls;
  } while (seconds_since(warm) < min_seconds / 10);
  const double estimate = seconds_since(warm) / static_cast<double>(warm_calls);
  return seconds_of(run, std::max(1L, static_cast<long>(min_seconds / estimate + 0.5)));
}

double median_of(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  const std::size_t middle = x.size() / 2;
  return x.size() % 2 == 1 ? x[middle] : (x[middle - 1] + x[middle]) / 2;
}

}  // namespace weft::bench
