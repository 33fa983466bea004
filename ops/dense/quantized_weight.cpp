// QuantizedWeight: a weight in 8 or 4 bits in the panels that products read, and an embedding that looks up its rows.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/common.h"
#include "dense/int4_feedback.h"
#include "dense/int4_tensors.h"
#include "dense/packing.h"
#include "dense/quantized_product.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/tensor_text.h"
#include "weft/quantized.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;

const char* const who = "QuantizedWeight";

// Returns max / 127. A denormal scale is rounded up if values would otherwise exceed 127.
float scale_of(float max) {
  const auto scale = static_cast<float>(static_cast<double>(max) / 127);
  return static_cast<double>(max) > 127.001 * static_cast<double>(scale)
             ? std::nextafter(scale, std::numeric_limits<float>::infinity())
             : scale;
}

void check_columns(int64_t columns, const Tensor& weight) {
  if (columns > QuantizedWeight::most_columns)
    fail(who,
         "expected at most " + std::to_string(QuantizedWeight::most_columns) + " columns, got " + describe(weight));
}

void check_matrix(const Tensor& weight) {
  check_floating(who, weight);
  if (weight.rank() != 2) fail(who, "expected a weight of shape (out, in), got " + describe(weight));
  check_columns(weight.size(1), weight);
}

// Calls f(first row, last row + 1, panel's first byte, scratch memory for scratch_columns values per row) for each
// panel. Each panel is a task.
template <class F>
void for_panels(const QuantizedKernels<float>& kernel, int64_t rows, int64_t columns, int64_t scratch_columns,
                Tensor& panels, F f) {
  const QuantizedPanels layout = quantized_panels(kernel, rows, columns);
  panels = Tensor::empty({layout.all()}, DType::i8);
  auto* to = panels.mutable_data<std::int8_t>();
  Context::current().parallel_for(rows, layout.nr, static_cast<std::size_t>(layout.nr * scratch_columns),
                                  [&](int64_t begin, int64_t end, void* scratch) {
                                    f(begin, end, to + begin / layout.nr * layout.bytes,
                                      static_cast<std::int8_t*>(scratch));
                                  });
}

Tensor packed(const Tensor& values) {
  const auto& kernel = kernels<QuantizedKernels<float>>();
  const Tensor dense = raw::contiguous(values);
  const int64_t columns = values.size(1);
  Tensor panels;
  for_panels(kernel, values.size(0), columns, 0, panels, [&](int64_t begin, int64_t end, std::int8_t* panel, void*) {
    kernel.pack(end - begin, columns, dense.data<std::int8_t>() + begin * columns, columns, panel);
  });
  return panels;
}

// Returns the scales of a dense f32 weight.
Tensor scales_of(const Tensor& weight) {
  const int64_t rows = weight.size(0), columns = weight.size(1);
  Tensor scales = Tensor::empty({rows}, DType::f32);
  float* to = scales.mutable_data<float>();
  const int64_t grain = std::max<int64_t>(1, task_elements / (columns + 1));
  Context::current().parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    const auto magnitude = kernels<QuantizedKernels<float>>().magnitude;
    for (int64_t i = begin; i < end; ++i) to[i] = scale_of(magnitude(columns, weight.data<float>() + i * columns));
  });
  for (int64_t i = 0; i < rows; ++i)
    if (std::isnan(to[i])) fail(who, "row " + std::to_string(i) + " of the weight contains a NaN or an infinity");
  return scales;
}

// Returns the panels of a dense f32 weight.
Tensor quantized(const Tensor& weight, const Tensor& scales) {
  const auto& kernel = kernels<QuantizedKernels<float>>();
  const int64_t columns = weight.size(1);
  const auto* scale = scales.data<float>();
  Tensor panels;
  for_panels(kernel, weight.size(0), columns, columns, panels,
             [&](int64_t begin, int64_t end, std::int8_t* panel, std::int8_t* values) {
               for (int64_t i = begin; i < end; ++i) {
                 const QuantizedFactors factors(scale[i], 1);
                 kernel.quantize(columns, weight.data<float>() + i * columns, factors.first, factors.second,
                                 values + (i - begin) * columns);
               }
               kernel.pack(end - begin, columns, values, columns, panel);
             });
  return panels;
}

}  // namespace

QuantizedWeight::QuantizedWeight(const Tensor& weight, int bits) : bits_(bits), isa_(Context::current().isa()) {
  if (bits != 8 && bits != 4) fail(who, "expected 8 or 4 bits, got " + std::to_string(bits));
  check_matrix(weight);
  rows_ = weight.size(0);
  columns_ = weight.size(1);
  guard_memory(who, [&] {
    const Tensor dense = raw::contiguous(as_dtype(weight, DType::f32));
    if (bits == 4) {
      panels_ = Int4Weight::rounded(dense).panels;
    } else {
      scales_ = scales_of(dense);
      panels_ = quantized(dense, scales_);
    }
  });
}

QuantizedWeight QuantizedWeight::fitted(const Tensor& weight, const Tensor& moments) {
  check_matrix(weight);
  const Shape shape{weight.size(1), weight.size(1)};
  if (!moments.defined() || moments.dtype() != DType::f32 || moments.shape() != shape)
    fail(who, "expected moments to be " + tensor_text(DType::f32, shape) + ", got " + describe(moments));
  return guard_memory(who, [&] {
    const Tensor dense = raw::contiguous(as_dtype(weight, DType::f32));
    const Int4Weight rounded = rounded_with_feedback(dense, raw::contiguous(moments));
    QuantizedWeight made;
    made.bits_ = 4;
    made.rows_ = rounded.rows;
    made.columns_ = rounded.columns;
    made.panels_ = rounded.panels;
    made.isa_ = rounded.isa;
    return made;
  });
}

QuantizedWeight::QuantizedWeight(const Tensor& packed_values, const Tensor& scales, std::int64_t columns)
    : bits_(4), columns_(columns), isa_(Context::current().isa()) {
  if (columns < 0) fail(who, "expected at least 0 columns, got " + std::to_string(columns));
  if (!packed_values.defined() || packed_values.dtype() != DType::i8 || packed_values.rank() != 2 ||
      packed_values.size(1) != int4_row_bytes(columns))
    fail(who, "expected packed values of dtype i8 and shape (out, " + std::to_string(int4_row_bytes(columns)) +
                  "), got " + describe(packed_values));
  check_columns(columns, packed_values);
  rows_ = packed_values.size(0);
  const Shape shape{rows_, int4_groups(columns)};
  if (!scales.defined() || scales.dtype() != DType::bf16 || scales.shape() != shape)
    fail(who, "expected scales to be " + tensor_text(DType::bf16, shape) + ", got " + describe(scales));
  guard_memory(who, [&] {
    panels_ = Int4Weight::packed(raw::contiguous(packed_values), raw::contiguous(scales), columns).panels;
  });
}

QuantizedWeight::QuantizedWeight(const Tensor& values, const Tensor& scales) : isa_(Context::current().isa()) {
  if (!values.defined() || values.dtype() != DType::i8 || values.rank() != 2)
    fail(who, "expected values of dtype i8 and shape (out, in), got " + describe(values));
  check_columns(values.size(1), values);
  rows_ = values.size(0);
  columns_ = values.size(1);
  if (!scales.defined() || scales.dtype() != DType::f32 || scales.shape() != Shape{rows_})
    fail(who, "expected scales to be " + tensor_text(DType::f32, {rows_}) + ", got " + describe(scales));
  guard_memory(who, [&] {
    scales_ = Tensor::empty({rows_}, DType::f32);
    raw::copy(scales, scales_);
    for (int64_t i = 0; i < rows_; ++i)
      if (const float scale = scales_.data<float>()[i]; !std::isfinite(scale) || scale < 0)
        fail(who,
             "expected finite scales of at least 0, got " + std::to_string(scale) + " for row " + std::to_string(i));
    panels_ = packed(values);
  });
}

Tensor QuantizedWeight::values() const {
  return guard_memory(who, [&] {
    if (bits_ == 4) return Int4Weight{panels_, rows_, columns_, isa_}.values();
    Tensor values = Tensor::empty({rows_, columns_}, DType::i8);
    auto* to = values.mutable_data<std::int8_t>();
    const auto& kernel = kernels<QuantizedKernels<float>>(isa_);
    const QuantizedPanels layout = quantized_panels(kernel, rows_, columns_);
    Context::current().parallel_for(rows_, layout.nr, [&](int64_t begin, int64_t end) {
      kernel.unpack(end - begin, columns_, panels_.data<std::int8_t>() + begin / layout.nr * layout.bytes,
                    to + begin * columns_, columns_);
    });
    return values;
  });
}

Tensor QuantizedWeight::packed_values() const {
  if (bits_ != 4) fail(who, "expected a weight in 4 bits for packed_values, got one in " + std::to_string(bits_));
  return guard_memory(who, [&] { return Int4Weight{panels_, rows_, columns_, isa_}.packed_values(); });
}

Tensor QuantizedWeight::scales() const {
  if (bits_ == 8) return scales_;
  return guard_memory(who, [&] { return Int4Weight{panels_, rows_, columns_, isa_}.scales(); });
}

Tensor QuantizedWeight::dequantized() const {
  return guard_memory(who, [&] {
    Tensor all = Tensor::empty({rows_, columns_}, DType::f32);
    float* to = all.mutable_data<float>();
    Context::current().parallel_for(rows_, std::max<int64_t>(1, task_elements / (columns_ + 1)),
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i) write_row(i, to + i * columns_);
                                    });
    return all;
  });
}

void QuantizedWeight::write_row(int64_t i, float* y) const {
  if (bits_ == 4) return Int4Weight{panels_, rows_, columns_, isa_}.dequantize_row(i, y);
  const auto& kernel = kernels<QuantizedKernels<float>>(isa_);
  const QuantizedPanels layout = quantized_panels(kernel, rows_, columns_);
  kernel.dequantize(columns_, panels_.data<std::int8_t>() + i / layout.nr * layout.bytes, i % layout.nr,
                    scales_.data<float>()[i], y);
}

Tensor QuantizedWeight::panels() const {
  if (isa_ == Context::current().isa()) return panels_;
  return bits_ == 4 ? Int4Weight{panels_, rows_, columns_, isa_}.rearranged().panels : packed(values());
}

Tensor quantized_embedding(const Tensor& indices, const QuantizedWeight& weight) {
  constexpr const char* name = "quantized_embedding";
  return run_op(name, [&] {
    if (!indices.defined() || indices.dtype() != DType::i64)
      fail(name, "expected indices of dtype i64, got " + describe(indices));
    const Tensor dense = raw::contiguous(indices);
    const auto* index = dense.data<int64_t>();
    for (int64_t i = 0; i < dense.numel(); ++i)
      if (index[i] < 0 || index[i] >= weight.rows())
        fail(name,
             "expected indices from 0 to " + std::to_string(weight.rows() - 1) + ", got " + std::to_string(index[i]));
    Shape shape = indices.shape();
    shape.push_back(weight.columns());
    Tensor y = Tensor::empty(shape, DType::f32);
    float* to = y.mutable_data<float>();
    Context::current().parallel_for(dense.numel(), std::max<int64_t>(1, task_elements / (weight.columns() + 1)),
                                    [&](int64_t begin, int64_t end) {
                                      for (int64_t i = begin; i < end; ++i)
                                        weight.write_row(index[i], to + i * weight.columns());
                                    });
    return y;
  });
}

}  // namespace weft
