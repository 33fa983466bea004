// Helpers for the tests of 8-bit and 4-bit weights.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "every_isa.h"
#include "weft/ops.h"
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

// The whole numbers and the scale of a row of x, computed by the rule in the header.
struct Row {
  std::vector<std::int64_t> numbers;
  float scale = 0;
};

inline int digits_of(std::int64_t rows) { return rows > 8 ? 1 : 2; }
inline float limit_of(int digits) { return digits == 1 ? 127.0f : 127.0f * 256; }

inline Row row_of(const float* x, std::int64_t k, int digits) {
  Row row;
  float most = 0;
  for (std::int64_t p = 0; p < k; ++p) most = std::max(most, std::abs(x[p]));
  row.scale = most / limit_of(digits);
  const float factor = most > 0 ? limit_of(digits) / most : 0;
  for (std::int64_t p = 0; p < k; ++p) row.numbers.push_back(static_cast<std::int64_t>(std::nearbyint(x[p] * factor)));
  return row;
}

inline void check_same(const Tensor& got, const std::vector<float>& want) {
  const Tensor rounded = raw::convert(Tensor::from(want, got.shape()), got.dtype());
  CHECK(raw::convert(got, DType::f64).to_vector<double>() == raw::convert(rounded, DType::f64).to_vector<double>());
}

// Compares products of a weight in `bits` bits with expected(x, weight): for more rows than two digits have, in f32 and
// bf16, with several threads, and with a weight that another instruction set has arranged.
template <class F>
void check_many_rows(int bits, const F& expected) {
  for (const std::int64_t m : {1, 4, 8, 9, 131, 300}) {
    const std::int64_t n = 530, k = 259;
    const Tensor w = normal({n, k}, 1);
    const QuantizedWeight made_here(w, bits);
    for (const DType dtype : {DType::f32, DType::bf16}) {
      const Tensor x = normal({m, k}, 2, dtype);
      const std::vector<float> want = expected(x, made_here);
      for_every_isa([&](Context& context) {
        const QuantizedWeight q(w, bits);
        for (const int threads : {1, 2, 3}) {
          CAPTURE(isa_name(context.isa()));
          CAPTURE(threads);
          CAPTURE(m);
          context.set_threads(threads);
          check_same(quantized_linear(x, q), want);
        }
        check_same(quantized_linear(x, made_here), want);
      });
    }
  }
}

// Returns the product with linear's epilogue in f64.
inline std::vector<double> plain(const Tensor& x, const Tensor& weight, const Tensor& bias, const Epilogue& e) {
  const auto wide = [](const Tensor& t) { return t.defined() ? raw::convert(t, DType::f64) : t; };
  return linear(wide(x), wide(weight), wide(bias), {e.activation, wide(e.gate), wide(e.residual)}).to_vector<double>();
}

}  // namespace weft::test
