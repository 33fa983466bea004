// The metric of --best-by.
#pragma once
#include <weft/data.h>

#include <string>

// Returns the metric that --best-by names, without a value. "loss" stands for the loss. Any other name is that of a
// metric of the data in lower case and with "-" for a blank, such as "macro-f1", or "f1" for "macro-f1". Throws a
// UsageError if the data have no such metric.
weft::Metric metric_of(const std::string& best_by, const weft::Data& data);
