#include "weft/layers.h"

#include <cmath>
#include <set>

#include "base/kept_weight.h"
#include "weft/detail/rebind.h"

namespace weft {
template <class Draw>
Parameter Init::make(const Shape& shape, Draw draw) const {
  const std::int64_t count = numel(shape);
  if (budget) {
    if (budget->parameters < 1 || budget->elements < count)
      throw Error("[model] the config requires a parameter of shape " + to_string(shape) + ", but only " +
                  std::to_string(budget->parameters) + " more parameters, with " + std::to_string(budget->elements) +
                  " elements, are allowed");
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

Linear::Linear(std::int64_t in, std::int64_t out, const Init& init, bool with_bias)
    : kept_(std::make_shared<detail::KeptWeight>()) {
  if (in < 1 || out < 1)
    throw Error("[Linear] expected sizes of at least 1, got " + std::to_string(in) + " -> " + std::to_string(out));
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  weight = init.child(0).uniform({out, in}, -bound, bound);
  weight.set_quantizable(true);
  if (with_bias) bias = init.child(1).uniform({out}, -bound, bound);
}

Tensor Linear::operator()(const Tensor& x, const Epilogue& epilogue) const {
  return kept_->linear(x, weight, optional(bias), epilogue);
}

LayerNorm::LayerNorm(std::int64_t d, const Init& init, double epsilon)
    : weight(init.full({d}, 1)), bias(init.full({d}, 0)), eps(epsilon) {}

Tensor LayerNorm::operator()(const Tensor& x, const Tensor& residual) const {
  return layer_norm(x, 1, weight, bias, eps, residual);
}

Embedding::Embedding(std::int64_t count, std::int64_t d, const Init& init, double deviation)
    : weight(init.normal({count, d}, deviation)), kept_(std::make_shared<detail::KeptWeight>()) {
  weight.set_quantizable(true);
}

Tensor Embedding::operator()(const Tensor& indices) const { return kept_->embedding(indices, weight); }

// Packs only a quantized table. Any other table would be in memory twice, because the lookup reads the unpacked rows.
Tensor Embedding::logits(const Tensor& x, const Tensor& bias) const {
  return weight.quantized() ? kept_->linear(x, weight, bias, {}) : linear(x, weight, bias);
}

Tensor Dropout::operator()(const Tensor& x, const Random* random) const {
  return random && p > 0 ? dropout(x, p, *random) : x;
}

std::int64_t parameter_count(const NamedParameters& parameters) {
  std::set<const void*> seen;
  std::int64_t count = 0;
  for (const auto& [name, parameter] : parameters)
    if (seen.insert(parameter.id()).second) count += numel(parameter.shape());
  return count;
}

}  // namespace weft
