// Timing, and summaries of several measurements.
#pragma once
#include <functional>
#include <vector>

namespace weft::bench {

double seconds_of(const std::function<void()>& run, long calls);  // the mean of that many calls

// The mean of as many calls as fit into min_seconds, at least one. Untimed calls of a tenth of that come first.
double seconds_per_call(const std::function<void()>& run, double min_seconds);

double median_of(std::vector<double> x);  // x has at least one element

}  // namespace weft::bench
