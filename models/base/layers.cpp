#include "weft/layers.h"

#include <cmath>
#include <mutex>
#include <set>

#include "weft/context.h"
#include "weft/detail/rebind.h"

namespace weft {
namespace {

// Rows up to which a packed copy of the weight isn't worth its memory: gemm reads so few rows' weight where it is.
// bench: weft-bench --benchmark_filter='gemm-nt(-cold)?/[0-9]*x2048x512'
constexpr std::int64_t few_rows = 16;
// Calls with few rows that a weight in a mapped file is read by, or one with more, before it is packed: a program that asks
// once has its answer without a copy. One that goes on reads packed weights on large pages, files lie on small ones.
constexpr int first_calls = 8;

}  // namespace

template <class Draw>
Parameter Init::make(const Shape& shape, Draw draw) const {
  const std::int64_t count = numel(shape);
  if (budget) {
    if (budget->parameters < 1 || budget->elements < count)
      throw Error("[model] its config asks for a parameter of shape " + to_string(shape) + ", but there are only " +
                  std::to_string(budget->parameters) + " more, with " + std::to_string(budget->elements) + " elements");
    --budget->parameters;
    budget->elements -= count;
  }
  return shapes_only ? detail::outline(shape, dtype) : Parameter(draw());
}

Parameter Init::uniform(const Shape& shape, double low, double high) const {
  return make(shape, [&] { return random.uniform(shape, low, high, dtype); });
}

Parameter Init::normal(const Shape& shape, double deviation) const {
  return make(shape, [&] { return random.normal(shape, 0, deviation, dtype); });
}

Parameter Init::full(const Shape& shape, double value) const {
  return make(shape, [&] { return Tensor::full(shape, value, dtype); });
}

struct Linear::Packed {
  std::mutex mutex;
  std::shared_ptr<const PackedWeight> latest;
  int calls = 0;  // that read the weight in its file; one with many rows counts as first_calls
};

Linear::Linear(std::int64_t in, std::int64_t out, const Init& init, bool with_bias)
    : packed_(std::make_shared<Packed>()) {
  if (in < 1 || out < 1)
    throw Error("[Linear] expected sizes of at least 1, got " + std::to_string(in) + " -> " + std::to_string(out));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = init.child(0).uniform({out, in}, -bound, bound);
  if (with_bias) bias = init.child(1).uniform({out}, -bound, bound);
}

// Null: read the weight where it lies. One that is a model's own is packed for many rows alone; one that was loaded for
// inference after its first calls, for all rows, if its memory can then be given back. One that is rounded for x of the
// dtype is packed at once.
std::shared_ptr<const PackedWeight> Linear::packed(bool few, DType dtype) const {
  const Tensor& value = weight.value();
  const bool rounds = dtype != value.dtype();
  if (few && weight.writable() && !rounds) return nullptr;
  const std::lock_guard<std::mutex> lock(packed_->mutex);
  std::shared_ptr<const PackedWeight>& latest = packed_->latest;
  const auto of_this_weight = [&](const PackedWeight& p) {
    return p.weight().raw() == value.raw() && p.weight().strides() == value.strides() &&
           p.weight().storage() == value.storage() && p.is_current() && p.isa() == Context::current().isa() &&
           p.dtype() == dtype;
  };
  if (latest && of_this_weight(*latest)) return latest;
  if (!weight.writable() && !rounds) {
    if (!detail::in_mapped_file(value)) return nullptr;
    if (packed_->calls < first_calls) {
      packed_->calls += few ? 1 : first_calls;
      return nullptr;
    }
  }
  latest.reset();  // its memory first
  latest = std::make_shared<const PackedWeight>(value, dtype);
  detail::give_back(value);
  return latest;
}

Tensor Linear::operator()(const Tensor& x, const Epilogue& epilogue) const {
  const bool records = Tape::recording() != nullptr;
  const DType own = weight.value().dtype();
  const bool fits = x.rank() > 0 && (x.dtype() == own || (x.dtype() == DType::bf16 && own == DType::f32)) &&
                    x.size(-1) == weight.value().size(1);
  if (!records && fits)
    if (const auto panels = packed(x.numel() <= few_rows * x.size(-1), x.dtype()))
      return packed_linear(x, *panels, optional(bias), epilogue);
  if (records) {
    const std::lock_guard<std::mutex> lock(packed_->mutex);
    packed_->latest.reset();
  }
  return linear(x, weight, optional(bias), epilogue);
}

void Linear::collect(const std::string& prefix, NamedParameters& out) const {
  out.emplace_back(prefix + "weight", weight);
  if (bias.defined()) out.emplace_back(prefix + "bias", bias);
}

LayerNorm::LayerNorm(std::int64_t d, const Init& init, double epsilon)
    : weight(init.full({d}, 1)), bias(init.full({d}, 0)), eps(epsilon) {}

Tensor LayerNorm::operator()(const Tensor& x, const Tensor& residual) const {
  return layer_norm(x, 1, weight, bias, eps, residual);
}

void LayerNorm::collect(const std::string& prefix, NamedParameters& out) const {
  out.emplace_back(prefix + "weight", weight);
  out.emplace_back(prefix + "bias", bias);
}

Embedding::Embedding(std::int64_t count, std::int64_t d, const Init& init, double deviation)
    : weight(init.normal({count, d}, deviation)) {}

Tensor Embedding::operator()(const Tensor& indices) const { return embedding(indices, weight); }

void Embedding::collect(const std::string& prefix, NamedParameters& out) const {
  out.emplace_back(prefix + "weight", weight);
}

Tensor Dropout::operator()(const Tensor& x, const Random* random) const {
  return random && p > 0 ? dropout(x, p, *random) : x;
}

std::int64_t parameter_count(const NamedParameters& parameters) {
  std::set<const void*> seen;
  std::int64_t count = 0;
  for (const auto& [name, parameter] : parameters)
    if (seen.insert(parameter.id()).second) count += parameter.value().numel();
  return count;
}

}  // namespace weft
