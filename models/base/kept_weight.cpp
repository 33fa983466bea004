#include "base/kept_weight.h"

#include "base/input_moments.h"
#include "base/sequence.h"
#include "weft/context.h"
#include "weft/detail/rebind.h"

namespace weft::detail {
namespace {

// For products with at most this many rows, gemm reads the weight in place, because a packed copy isn't worth its
// memory. bench: weft-bench --benchmark_filter='gemm-nt(-cold)?/[0-9]*x2048x512'
constexpr std::int64_t few_rows = 16;
// A weight in a mapped file is packed after this many calls with few rows, or one call with more. A program that makes
// only one query thus gets its result without a copy. A program that makes many queries reads packed weights, which lie
// on large pages. Mapped files have small pages.
constexpr int first_calls = 8;

// Whether a packed copy of the weight can serve x. It can if the dtypes are equal, or if an f32 weight is rounded to
// bf16 for a bf16 x. A weight that was quantized to bf16 also serves an f32 x.
bool can_serve(const Tensor& x, const Parameter& weight) {
  const DType own = weight.value().dtype();
  const bool converts = (x.dtype() == DType::bf16 && own == DType::f32) ||
                        (x.dtype() == DType::f32 && own == DType::bf16 && weight.quantized());
  return x.rank() > 0 && (x.dtype() == own || converts) && x.size(-1) == weight.value().size(1);
}

}  // namespace

// Returns null if the product should read the weight in place. A weight that the model owns is packed only for many
// rows. A weight that was loaded for inference is packed after its first calls, for any number of rows, if its memory
// can then be given back. A weight that must be converted to x's dtype is packed on the first call.
std::shared_ptr<const PackedWeight> KeptWeight::packed(const Parameter& weight, bool few, DType dtype) {
  const Tensor& value = weight.value();
  const bool converts = dtype != value.dtype();
  if (few && weight.writable() && !converts) return nullptr;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto of_this_weight = [&](const PackedWeight& p) {
    return p.weight().raw() == value.raw() && p.weight().strides() == value.strides() &&
           p.weight().storage() == value.storage() && p.is_current() && p.isa() == Context::current().isa() &&
           p.dtype() == dtype;
  };
  if (packed_ && of_this_weight(*packed_)) return packed_;
  if (packed_ && packed_->weight().storage() != value.storage()) packed_.reset();  // the weight was replaced
  if (!weight.writable() && !converts) {
    if (!in_mapped_file(value)) return nullptr;
    if (calls_ < first_calls) {
      calls_ += few ? 1 : first_calls;
      return nullptr;
    }
  }
  packed_.reset();  // frees its memory first
  packed_ = std::make_shared<const PackedWeight>(value, dtype);
  give_back(value);
  return packed_;
}

// Packs the weight only once, because a quantized value never changes.
std::shared_ptr<const QuantizedWeight> KeptWeight::quantized(const Parameter& weight) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (quantized_ && quantized_of_ == weight.id() && quantized_->isa() == Context::current().isa()) return quantized_;
  packed_.reset();  // it belongs to the weight before quantization
  quantized_.reset();
  if (weight.scales().dtype() == DType::bf16)
    quantized_ = std::make_shared<const QuantizedWeight>(weight.value(), weight.scales(), weight.shape()[1]);
  else quantized_ = std::make_shared<const QuantizedWeight>(weight.value(), weight.scales());
  quantized_of_ = weight.id();
  give_back(weight.value());
  return quantized_;
}

Tensor KeptWeight::linear(const Tensor& x, const Parameter& weight, const Tensor& bias, const Epilogue& epilogue) {
  if (InputMoments* moments = InputMoments::current()) moments->add(weight, x);
  if (weight.scales().defined()) return quantized_linear(x, *quantized(weight), bias, epilogue);
  const bool records = Tape::recording() != nullptr;
  if (!records && can_serve(x, weight))
    if (const auto panels = packed(weight, x.numel() <= few_rows * x.size(-1), x.dtype()))
      return packed_linear(x, *panels, bias, epilogue);
  if (records) {
    const std::lock_guard<std::mutex> lock(mutex_);
    packed_.reset();
  }
  if (weight.quantized() && weight.value().dtype() != x.dtype())
    return weft::linear(x, raw::convert(weight.value(), x.dtype()), bias, epilogue);
  return weft::linear(x, weight, bias, epilogue);
}

Tensor KeptWeight::embedding(const Tensor& indices, const Parameter& weight) {
  if (weight.scales().defined()) return quantized_embedding(indices, *quantized(weight));
  const Tensor rows = weft::embedding(indices, weight);
  return weight.quantized() ? widened(rows) : rows;
}

}  // namespace weft::detail
