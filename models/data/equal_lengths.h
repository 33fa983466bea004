// Batches whose rows have lengths of their own.
#pragma once
#include <vector>

#include "weft/data.h"

namespace weft::detail {

// The rows of each length of a classifier's batch, (rows, length), in their order; the batch itself if all have the
// tensor's, or none of its own. Error unless the lengths are those of its rows, short ones first.
std::vector<Batch> equal_lengths(const Batch& batch);

// Without what fills its rows up.
std::int64_t token_count(const Batch& batch);

}  // namespace weft::detail
