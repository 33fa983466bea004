// What weft's and the peer's dense products share.
#pragma once
#include <memory>
#include <vector>

#include "weft/tensor.h"
#include "work.h"

namespace weft::bench {

// matmul, linear, einsum; see work.h for the kinds.
Work dense_work(const std::string& kind, const Sizes& s, int threads);

double dense_flops(const Sizes& s);
double dense_bytes(const Sizes& s);

// Matrices (n, d) with the same numbers: one; for the cold kind as many as fill twice the last level's cache (512 MiB if
// that is unknown), made once and shared.
std::shared_ptr<const std::vector<Tensor>> weights_of(const std::string& kind, const Sizes& s);

}  // namespace weft::bench
