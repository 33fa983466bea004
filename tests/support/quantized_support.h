// Helpers for the tests of 8-bit weights.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "every_isa.h"
#include "weft/quantized.h"
#include "weft/random.h"

namespace weft::test {

// Returns the bytes of a tensor of any dtype.
inline std::vector<unsigned char> bytes_of(const Tensor& x) {
  const Tensor dense = raw::contiguous(x);
  std::vector<unsigned char> bytes(static_cast<std::size_t>(x.numel()) * dtype_size(x.dtype()));
  if (!bytes.empty()) std::memcpy(bytes.data(), dense.raw(), bytes.size());
  return bytes;
}

inline Tensor normal(const Shape& shape, std::uint64_t stream, DType dtype = DType::f32) {
  return raw::convert(Random(7, stream).normal(shape, 0, 1), dtype);
}

}  // namespace weft::test
