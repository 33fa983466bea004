// Random orders of rows.
#pragma once
#include <cstdint>

#include "weft/random.h"

namespace weft::detail {

// Returns element i of a random order of 0 … count - 1, without a table. Four rounds of a Feistel network permute the
// numbers below a power of four that is at least count. A result outside the range is permuted again.
std::int64_t shuffled(std::int64_t i, std::int64_t count, const Random& random);

}  // namespace weft::detail
