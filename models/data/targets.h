// The targets of rows.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "weft/target_rows.h"

namespace weft::detail {

// The target of a row: its class () i64, or what find_targets() describes. Throws an Error that names the row if its
// label doesn't fit.
Tensor target_of_row(const TargetKind& kind, const LabelledTexts& rows, std::size_t row);

// The classes of all rows, or of all their tokens; empty for a task whose targets are no classes.
std::vector<std::int64_t> classes_of_rows(const TargetKind& kind, const LabelledTexts& rows);

// ", balance weights, focal 2": options that differ from their defaults, for the name of data; else empty.
std::string describe(const LearningOptions& learning);

// How messages name a row: the beginning of its text in quotation marks, or its number.
std::string row_name(const LabelledTexts& rows, std::size_t row);

}  // namespace weft::detail
