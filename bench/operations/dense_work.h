// What weft's and the peer's dense products share.
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

// Matrices with the same numbers, in turn.
struct Weights {
  std::vector<Tensor> all;
  std::size_t taken = 0;
  const Tensor& next() { return all[taken++ % all.size()]; }
};

// Matrices (n, d): one; for the cold kind as many as fill twice the last level's cache (512 MiB if that is unknown), made
// once and shared by all that read them, so that none gets what another has just brought into cache.
std::shared_ptr<Weights> weights_of(const std::string& kind, const Sizes& s);

}  // namespace weft::bench
