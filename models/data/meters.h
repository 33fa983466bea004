// Meters for weft's own tasks.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "weft/data.h"

namespace weft::detail {

// For logits (b, labels) and targets (b): accuracy, macro F1 and a confusion matrix.
std::unique_ptr<Meter> confusion_meter(std::int64_t labels);
// For numbers (b, outputs): MAE, and R² averaged over the outputs.
std::unique_ptr<Meter> regression_meter(std::int64_t outputs);
// For logits (b, labels) and targets of 0 and 1: micro F1, macro F1 and mean average precision.
std::unique_ptr<Meter> multilabel_meter(std::int64_t labels);
// For logits (b, n, tags) and targets (b, n), which are -100 where there is no target: accuracy and macro F1 of tokens,
// and span F1 if the tags are O, B-NAME and I-NAME.
std::unique_ptr<Meter> tagging_meter(const std::vector<std::string>& tags);

}  // namespace weft::detail
