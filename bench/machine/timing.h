// Timing, and summaries of several measurements.
#pragma once
#include <functional>
#include <vector>

namespace weft::bench {

double seconds_of(const std::function<void()>& run, long calls);  // the mean time of a call

// The mean time of as many calls as fit into min_seconds, but at least one. Before them, it makes untimed calls for a
// tenth of this time.
double seconds_per_call(const std::function<void()>& run, double min_seconds);

double median_of(std::vector<double> x);  // x has at least one element

}  // namespace weft::bench
