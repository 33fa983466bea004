// Products with weights in 8 bits.
#include "weft/quantized.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

QuantizedWeight::QuantizedWeight(const Tensor& weight) : isa_(Context::current().isa()) {
  check_floating("QuantizedWeight", weight);
  if (weight.rank() != 2) fail("QuantizedWeight", "expected a weight (out, in), got " + describe(weight));
  rows_ = weight.size(0);
  columns_ = weight.size(1);
  if (columns_ > most_columns) fail("QuantizedWeight", "too many columns: " + describe(weight));
  const auto w = raw::convert(weight, DType::f32).to_vector<float>();
  Tensor values = Tensor::empty(weight.shape(), DType::i8), scales = Tensor::empty({rows_}, DType::f32);
  auto* q = values.mutable_data<std::int8_t>();
  auto* s = scales.mutable_data<float>();
  for (std::int64_t i = 0; i < rows_; ++i) {
    double most = 0;
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double x = static_cast<double>(w[static_cast<std::size_t>(i * columns_ + j)]);
      if (!std::isfinite(x)) fail("QuantizedWeight", "the weight has a NaN or infinity in row " + std::to_string(i));
      most = std::max(most, std::abs(x));
    }
    s[i] = static_cast<float>(most / 127);
    if (most > 127.001 * static_cast<double>(s[i])) s[i] = std::nextafter(s[i], 1.0f);
    for (std::int64_t j = 0; j < columns_; ++j) {
      const double x = static_cast<double>(w[static_cast<std::size_t>(i * columns_ + j)]);
      q[i * columns_ + j] = static_cast<std::int8_t>(s[i] > 0 ? std::nearbyint(x / static_cast<double>(s[i])) : 0.0);
    }
  }
  panels_ = values;
  scales_ = scales;
}

QuantizedWeight::QuantizedWeight(const Tensor& values, const Tensor& scales) : isa_(Context::current().isa()) {
  if (!values.defined() || values.dtype() != DType::i8 || values.rank() != 2)
    fail("QuantizedWeight", "expected values i8 (out, in), got " + describe(values));
  rows_ = values.size(0);
  columns_ = values.size(1);
  if (columns_ > most_columns) fail("QuantizedWeight", "too many columns: " + describe(values));
  if (!scales.defined() || scales.dtype() != DType::f32 || scales.shape() != Shape{rows_})
    fail("QuantizedWeight", "expected scales f32 " + to_string({rows_}) + ", got " + describe(scales));
  for (const float s : scales.to_vector<float>())
    if (!std::isfinite(s) || s < 0) fail("QuantizedWeight", "a scale is " + std::to_string(s));
  panels_ = raw::contiguous(values);
  scales_ = raw::contiguous(scales);
}

Tensor QuantizedWeight::values() const { return panels_; }

Tensor QuantizedWeight::dequantized() const {
  return mul(raw::convert(panels_, DType::f32), reshape(scales_, {rows_, 1}));
}

Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias, const Epilogue& epilogue) {
  return guard_memory("quantized_linear", [&] {
    if (would_record({x, bias, epilogue.gate, epilogue.residual}))
      fail("quantized_linear", "a quantised weight is for inference, and a tape records");
    if (!x.defined() || (x.dtype() != DType::f32 && x.dtype() != DType::bf16))
      fail("quantized_linear", "expected x f32 or bf16, got " + describe(x));
    Tensor rows = raw::convert(x, DType::f32);
    if (rows.rank() > 0 && rows.numel() > 8 * rows.size(-1)) {
      rows = reshape(rows, {-1, weight.columns_}).detach();
      Tensor rounded = Tensor::empty(rows.shape(), DType::f32);
      const auto from = rows.to_vector<float>();
      auto* to = rounded.mutable_data<float>();
      for (std::int64_t i = 0; i < rows.size(0); ++i) {
        float most = 0;
        bool finite = true;
        for (std::int64_t j = 0; j < weight.columns_; ++j) {
          const float v = from[static_cast<std::size_t>(i * weight.columns_ + j)];
          finite &= std::isfinite(v);
          most = std::max(most, std::abs(v));
        }
        const float s = finite ? most / 127 : NAN;
        for (std::int64_t j = 0; j < weight.columns_; ++j)
          to[i * weight.columns_ + j] =
              s == 0 ? 0 : std::nearbyint(from[static_cast<std::size_t>(i * weight.columns_ + j)] / s) * s;
      }
      rows = reshape(rounded, x.shape());
    }
    const auto in_f32 = [](const Tensor& t) { return t.defined() ? raw::convert(t, DType::f32) : t; };
    const Tensor y = linear(rows, weight.dequantized(), in_f32(bias),
                            {epilogue.activation, in_f32(epilogue.gate), in_f32(epilogue.residual)});
    return as_dtype(y, x.dtype());
  });
}

Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight) {
  return embedding(indices, weight.dequantized());
}

}  // namespace weft
