#include "dense/int4_tensors.h"

#include <cmath>
#include <string>

#include "base/common.h"
#include "dense/kernels/quantized.h"
#include "weft/context.h"

namespace weft::detail {
namespace {

using std::int64_t;

const char* const who = "QuantizedWeight";

Int4Panels layout_of(const Int4Weight& weight) {
  return {kernels<Int4Kernels<float>>(weight.isa).nr, weight.rows, weight.columns};
}

// Calls f(i, scratch memory for the row's values, scratch memory for its scales) for each row.
template <class F>
void for_rows(const Int4Weight& weight, const F& f) {
  const int64_t grain = std::max<int64_t>(1, task_elements / (weight.columns + 1));
  const auto scale_bytes = int4_groups(weight.columns) * int64_t{sizeof(bfloat16)};
  Context::current().parallel_for(weight.rows, grain, static_cast<std::size_t>(scale_bytes + weight.columns),
                                  [&](int64_t begin, int64_t end, void* scratch) {
                                    auto* scales = static_cast<bfloat16*>(scratch);
                                    auto* values = static_cast<std::int8_t*>(scratch) + scale_bytes;
                                    for (int64_t i = begin; i < end; ++i) f(i, values, scales);
                                  });
}

// Returns the weight whose rows compute(i, values, scales) computes, for the current instruction set.
template <class F>
Int4Weight made(int64_t rows, int64_t columns, const F& compute) {
  Int4Weight weight{{}, rows, columns, Context::current().isa()};
  const Int4Panels layout = layout_of(weight);
  weight.panels = Tensor::zeros({layout.count * layout.bytes()}, DType::i8);
  auto* to = weight.panels.mutable_data<std::int8_t>();
  for_rows(weight, [&](int64_t i, std::int8_t* values, bfloat16* scales) {
    compute(i, values, scales);
    layout.write_row(i, values, scales, to);
  });
  return weight;
}

// Calls f(i, values, scales) for each row of the weight.
template <class F>
void for_stored_rows(const Int4Weight& weight, const F& f) {
  const Int4Panels layout = layout_of(weight);
  for_rows(weight, [&](int64_t i, std::int8_t* values, bfloat16* scales) {
    layout.read_row(i, weight.panels.data<std::int8_t>(), values, scales);
    f(i, values, scales);
  });
}

}  // namespace

void check_int4_range(const Tensor& weight) {
  const auto magnitude = kernels<QuantizedKernels<float>>().magnitude;
  const int64_t columns = weight.size(1);
  for (int64_t i = 0; i < weight.size(0); ++i)
    if (const float most = magnitude(columns, weight.data<float>() + i * columns); !(most <= 0x1p127f))
      fail(who, "row " + std::to_string(i) + " of the weight contains " +
                    (std::isnan(most) ? "a NaN or an infinity" : "an element beyond 2^127"));
}

Int4Weight Int4Weight::rounded(const Tensor& weight) {
  check_int4_range(weight);
  const int64_t columns = weight.size(1);
  return made(weight.size(0), columns, [&](int64_t i, std::int8_t* values, bfloat16* scales) {
    round_to_int4(columns, weight.data<float>() + i * columns, values, scales);
  });
}

Int4Weight Int4Weight::of(const Tensor& values, const Tensor& scales) {
  const int64_t columns = values.size(1), groups = scales.size(1);
  return made(values.size(0), columns, [&](int64_t i, std::int8_t* row, bfloat16* row_scales) {
    std::copy_n(values.data<std::int8_t>() + i * columns, columns, row);
    std::copy_n(scales.data<bfloat16>() + i * groups, groups, row_scales);
  });
}

Int4Weight Int4Weight::packed(const Tensor& values, const Tensor& scales, int64_t columns) {
  const int64_t bytes = values.size(1), groups = scales.size(1);
  const auto* scale = scales.data<bfloat16>();
  for (int64_t i = 0; i < scales.numel(); ++i)
    if (const auto s = static_cast<float>(scale[i]); !std::isfinite(s))
      fail(who, "expected finite scales, got " + std::to_string(s) + " for row " + std::to_string(i / groups));
  return made(values.size(0), columns, [&](int64_t i, std::int8_t* row, bfloat16* row_scales) {
    unpack_int4(columns, values.data<std::int8_t>() + i * bytes, row);
    std::copy_n(scale + i * groups, groups, row_scales);
  });
}

Int4Weight Int4Weight::rearranged() const {
  const Int4Panels layout = layout_of(*this);
  return made(rows, columns, [&](int64_t i, std::int8_t* values, bfloat16* scales) {
    layout.read_row(i, panels.data<std::int8_t>(), values, scales);
  });
}

Tensor Int4Weight::values() const {
  Tensor all = Tensor::empty({rows, columns}, DType::i8);
  auto* to = all.mutable_data<std::int8_t>();
  for_stored_rows(*this, [&](int64_t i, const std::int8_t* values, const bfloat16*) {
    std::copy_n(values, columns, to + i * columns);
  });
  return all;
}

Tensor Int4Weight::packed_values() const {
  const int64_t bytes = int4_row_bytes(columns);
  Tensor all = Tensor::empty({rows, bytes}, DType::i8);
  auto* to = all.mutable_data<std::int8_t>();
  for_stored_rows(*this, [&](int64_t i, const std::int8_t* values, const bfloat16*) {
    pack_int4(columns, values, to + i * bytes);
  });
  return all;
}

Tensor Int4Weight::scales() const {
  const int64_t groups = int4_groups(columns);
  Tensor all = Tensor::empty({rows, groups}, DType::bf16);
  auto* to = all.mutable_data<bfloat16>();
  for_stored_rows(*this, [&](int64_t i, const std::int8_t*, const bfloat16* scales) {
    std::copy_n(scales, groups, to + i * groups);
  });
  return all;
}

void Int4Weight::dequantize_row(int64_t i, float* y) const {
  layout_of(*this).dequantize_row(i, panels.data<std::int8_t>(), y);
}

}  // namespace weft::detail
