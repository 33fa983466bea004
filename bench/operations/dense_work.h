// Parts that weft's and the peer's dense products share.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "operations/kinds.h"
#include "weft/tensor.h"

namespace weft::bench {

// matmul, linear, einsum; see kinds.h for the kinds.
Work dense_work(const std::string& kind, const Sizes& s, int threads);

double dense_flops(const Sizes& s);
double dense_bytes(const Sizes& s);

// Matrices with the same numbers; next() returns them in turn.
struct Weights {
  std::vector<Tensor> all;
  std::size_t taken = 0;
  const Tensor& next() { return all[taken++ % all.size()]; }
};

// One matrix (n, d). For a cold kind, as many as fill twice the last-level cache (512 MiB if that is unknown). They are
// made once and shared by all readers, so that no reader finds in cache what another one loaded.
std::shared_ptr<Weights> weights_of(const std::string& kind, const Sizes& s);

}  // namespace weft::bench
