// Seconds, and what sums up several measurements.
#pragma once
#include <functional>
#include <vector>

namespace weft::bench {

double seconds_of(const std::function<void()>& run, long calls);  // the mean of so many calls

// The mean of as many calls as take min_seconds, at least one, after untimed ones that take a tenth of that.
double seconds_per_call(const std::function<void()>& run, double min_seconds);

double median_of(std::vector<double> x);  // of one at least

}  // namespace weft::bench
