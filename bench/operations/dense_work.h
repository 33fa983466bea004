// Code that the dense products of weft and of oneDNN share.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "operations/kinds.h"
#include "weft/tensor.h"

namespace weft::bench {

// Work with matmul, linear or einsum. kinds.h describes the kinds.
Work dense_work(const std::string& kind, const Sizes& s, int threads);

double dense_flops(const Sizes& s);
double dense_bytes(const Sizes& s);

// Several matrices with equal elements. next() returns them one after the other.
struct Weights {
  std::vector<Tensor> all;
  std::size_t taken = 0;
  const Tensor& next() { return all[taken++ % all.size()]; }
};

// One matrix (n, d), or enough matrices to fill twice the last-level cache for a cold kind (512 MiB if its size is
// unknown). The cold matrices are made only once. Weft and its peer share them, so neither finds a matrix in cache that
// the other one has loaded.
std::shared_ptr<Weights> weights_of(const std::string& kind, const Sizes& s);

}  // namespace weft::bench
