// The targets of rows.
#pragma once
#include <cstddef>
#include <string>

#include "weft/target_rows.h"

namespace weft::detail {

// The target of a row: its class () i64, or what find_targets() describes. Throws an Error that names the row if its
// label doesn't fit.
Tensor target_of_row(const TargetKind& kind, const LabelledTexts& rows, std::size_t row);

// How messages name a row: the beginning of its text in quotation marks, or its number.
std::string row_name(const LabelledTexts& rows, std::size_t row);

}  // namespace weft::detail
