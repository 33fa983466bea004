// Batches whose rows have different lengths.
#pragma once
#include <vector>

#include "weft/data.h"

namespace weft::detail {

// Splits a batch of rows by length. Returns one (rows, length) batch for each length for which something is predicted,
// in increasing order of length. Returns the batch itself if all rows have the tensor's length, or if the batch has no
// lengths. Throws an Error unless there is a valid length for each row, in increasing order.
std::vector<Batch> equal_lengths(const Batch& batch);

// Returns the number of tokens, frames or patches that the model reads, without padding.
std::int64_t token_count(const Batch& batch, const Model& model);

}  // namespace weft::detail
