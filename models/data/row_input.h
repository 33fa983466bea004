// A model's input for one row of numbers.
#pragma once
#include <string>

#include "weft/checkpoint.h"

namespace weft::detail {

// Whether the model reads rows of numbers, without tokens.
bool reads_numbers(const Model& model);

// Returns the input (1, …) for a row of numbers, truncated as in training. Throws an Error if the row doesn't match the
// model's input.
ModelInput input_of_numbers(const std::string& row, const Checkpoint& checkpoint);

}  // namespace weft::detail
