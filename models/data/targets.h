// The targets of rows.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "weft/target_rows.h"

namespace weft::detail {

// Returns the target of a row: its class () i64, or the target that find_targets() describes. If the row's label is not
// valid for the task, throws an Error that names the row.
Tensor target_of_row(const TargetKind& kind, const LabeledTexts& rows, std::size_t row);

// Returns the classes of all rows, or of all their tokens. Returns nothing for a task whose targets are not classes.
std::vector<std::int64_t> classes_of_rows(const TargetKind& kind, const LabeledTexts& rows);

// Returns the options that differ from their defaults, for the name of the data: ", balance weights, focal 2".
std::string describe(const LearningOptions& learning);

// Returns the name of a row for messages: the beginning of its text in quotation marks, or its number.
std::string row_name(const LabeledTexts& rows, std::size_t row);

}  // namespace weft::detail
