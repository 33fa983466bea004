/// \file
/// Layers: parameters with the operation that uses them. Every layer and model has
/// - `Tensor operator()(x) const`, the forward pass,
/// - its parameters and parts listed once, named as in PyTorch's state_dict, in
///   `template <class Visit> void fields(Visit visit) const { visit("norm", norm); visit("proj", proj); … }`,
/// - `void collect(prefix, out) const`, which appends its parameters: Layer or ModelOf makes it of that list.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/ops.h"
#include "weft/parameter.h"

#pragma GCC visibility push(default)
namespace weft {

namespace detail {
class [[gnu::visibility("hidden")]] KeptWeight;
class [[gnu::visibility("hidden")]] SinusoidalPositions;
}  // namespace detail

/// What a model may still make.
struct ParameterBudget {
  std::int64_t parameters = 0;  ///< tensors
  std::int64_t elements = 0;    ///< of all of them together
};

/// How parameters are made: dtype, and random numbers that depend on the seed and the place in the model. Every
/// parameter comes from here, and Error if it is beyond the budget: a config can ask for more than there is memory.
/// A budget is one thread's.
struct Init {
  Random random{0};                   ///< of this place
  DType dtype = DType::f32;           ///< f32 or f64
  ParameterBudget* budget = nullptr;  ///< none: any number
  /// A parameter has its shape alone: all its elements are one 0. For looking, not for running; and for load_checkpoint,
  /// which then gives it its value. What is assigned to such a parameter is lost, to write its elements is an Error.
  bool shapes_only = false;

  /// The one for the k-th part of this place.
  Init child(std::uint64_t k) const { return {random.split(k), dtype, budget, shapes_only}; }
  /// Values in [low, high).
  Parameter uniform(const Shape& shape, double low, double high) const;
  /// Values of mean 0.
  Parameter normal(const Shape& shape, double deviation) const;
  /// All elements are `value`.
  Parameter full(const Shape& shape, double value) const;

 private:
  template <class Draw>
  Parameter make(const Shape& shape, Draw draw) const;
};

/// What collects parameters by a list of fields. A parameter that isn't defined and a part that isn't there are left out.
class ParameterCollector {
 public:
  /// Appends to `out`, each name behind `prefix`.
  ParameterCollector(std::string prefix, NamedParameters& out) : prefix_(std::move(prefix)), out_(out) {}

  /// A parameter of the layer's own.
  void operator()(const std::string& name, const Parameter& parameter) const {
    if (parameter.defined()) out_.emplace_back(prefix_ + name, parameter);
  }
  /// A part, which has fields() or a collect() of its own: "name.…"; without a name its parameters are the layer's own.
  template <class Part>
  void operator()(const std::string& name, const Part& part) const {
    collect(part, name.empty() ? prefix_ : prefix_ + name + ".", 0);
  }
  /// A part, if there is one.
  template <class Part>
  void operator()(const std::string& name, const std::optional<Part>& part) const {
    if (part) (*this)(name, *part);
  }
  /// Parts in their order: "name.0.…", "name.1.…", ….
  template <class Part>
  void operator()(const std::string& name, const std::vector<Part>& parts) const {
    for (std::size_t i = 0; i < parts.size(); ++i) (*this)(name + "." + std::to_string(i), parts[i]);
  }

 private:
  std::string prefix_;
  NamedParameters& out_;

  // By its collect(), if it has one (int is what 0 is), else by its fields().
  template <class Part>
  auto collect(const Part& part, const std::string& prefix, int) const -> decltype(part.collect(prefix, out_)) {
    part.collect(prefix, out_);
  }
  template <class Part>
  void collect(const Part& part, const std::string& prefix, long) const {
    part.fields(ParameterCollector(prefix, out_));
  }
};

/// What a layer derives from that lists its parts in fields(): `class Block : public Layer<Block>`.
template <class Self>
class Layer {
 public:
  /// Appends the parameters, by names that begin with `prefix`.
  void collect(const std::string& prefix, NamedParameters& out) const {
    static_cast<const Self&>(*this).fields(ParameterCollector(prefix, out));
  }
};

/// The parameters of a layer by itself.
template <class Part>
NamedParameters parameters_of(const Part& layer) {
  NamedParameters all;
  layer.collect("", all);
  return all;
}

/// y = x Wᵀ + b. Where no tape records, the weight stays packed between calls with more than a few rows, which takes
/// its memory again; a recorded call gives that back. The weight of a model that was loaded for inference is packed by the
/// second such call, or the ninth with few rows, if it lies in a mapped file: its own memory is then given back, and all
/// calls read the packed one. Of a bf16 x the packed weight is bf16, half as large, and made by the first call that isn't
/// recorded, however few its rows: else each call would round the weight.
/// A weight that is quantised (weft/quantize.h) is packed by the first call: of i8 for quantized_linear, whatever the
/// precision.
/// Copies share parameters and packed weight. Calls may come from several threads, each with a Context of its own, as
/// long as nobody writes a parameter; the packed weight is behind a lock.
class Linear : public Layer<Linear> {
 public:
  /// weight (out, in) and bias (out) ~ U(-1/√in, 1/√in), as PyTorch's Linear. Error if a size is below 1.
  Linear(std::int64_t in, std::int64_t out, const Init& init, bool with_bias = true);
  /// x (…, in): (…, out), with what the epilogue does to it.
  Tensor operator()(const Tensor& x, const Epilogue& epilogue = {}) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }

  Parameter weight;  ///< (out, in)
  Parameter bias;    ///< (out), or undefined

 private:
  std::shared_ptr<detail::KeptWeight> kept_;
};

/// Over the last axis (d): (x - mean) / sqrt(var + eps) · weight + bias (Ba et al. 2016, arXiv 1607.06450).
/// Threads may call it at once, as Linear.
class LayerNorm : public Layer<LayerNorm> {
 public:
  /// weight ones, bias zeros.
  LayerNorm(std::int64_t d, const Init& init, double eps = 1e-5);
  /// x (…, d), or x + residual, if that is defined: (…, d).
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }

  Parameter weight;  ///< (d)
  Parameter bias;    ///< (d)
  double eps;        ///< added to the variance
};

/// x / (‖x‖₂/√d + eps) over the last axis (d), no parameters (Qin et al. 2023, arXiv 2307.14995).
class SimpleRmsNorm {
 public:
  /// `epsilon` is eps.
  explicit SimpleRmsNorm(double epsilon = 1e-8) : eps(epsilon) {}
  /// x (…, d): (…, d).
  Tensor operator()(const Tensor& x) const { return rms_norm(x, {}, eps); }

  double eps;  ///< added to the norm
};

/// Rows of a matrix by index. Threads may call it at once, as Linear.
class Embedding : public Layer<Embedding> {
 public:
  /// weight (count, d) ~ N(0, deviation²).
  Embedding(std::int64_t count, std::int64_t d, const Init& init, double deviation = 1);
  /// indices (…) i64: (…, d), in f32 of a table that is quantised. Error for an index outside 0 … count-1.
  Tensor operator()(const Tensor& indices) const;
  /// x (…, d): x Eᵀ + b, (…, count), the head of a model whose output is tied to its embedding; bias (count) or undefined.
  Tensor logits(const Tensor& x, const Tensor& bias = {}) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("weight", weight);
  }

  Parameter weight;  ///< (count, d)

 private:
  std::shared_ptr<detail::KeptWeight> kept_;
};

/// Drops elements with probability p, if a generator is given: each call of a forward pass takes a child of it.
/// Without one (inference) it is the identity.
class Dropout {
 public:
  /// `probability` is p.
  explicit Dropout(double probability = 0) : p(probability) {}
  /// x of any shape; what stays is scaled by 1/(1-p).
  Tensor operator()(const Tensor& x, const Random* random) const;

  double p;  ///< 0 <= p < 1
};

/// weight or bias as an operation takes it: the parameter, or an undefined tensor.
inline Tensor optional(const Parameter& p) { return p.defined() ? Tensor(p) : Tensor(); }

/// The number of elements of all parameters; one that comes twice counts once.
std::int64_t parameter_count(const NamedParameters& parameters);

}  // namespace weft
#pragma GCC visibility pop
