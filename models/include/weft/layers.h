/// \file
/// Layers. A layer has parameters and an operation that uses them. Every layer and every model has
/// - `Tensor operator()(x) const`, the forward pass,
/// - a list of its parameters and parts, with names as in PyTorch's state_dict, in
///   `template <class Visit> void fields(Visit visit) const { visit("norm", norm); visit("proj", proj); … }`,
/// - `void collect(prefix, out) const`, which appends its parameters. Layer and ModelOf implement it with the list in
///   fields().
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/ops.h"
#include "weft/parameter.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

namespace detail {
class WEFT_HIDDEN KeptWeight;
class WEFT_HIDDEN SinusoidalPositions;
}  // namespace detail

/// Limits the number and the size of the parameters that a model may still make.
struct ParameterBudget {
  std::int64_t parameters = 0;  ///< number of tensors
  std::int64_t elements = 0;    ///< total number of elements of these tensors
};

/// How parameters are made: their dtype and their random values, which depend on the seed and on the parameter's place
/// in the model. An Init makes every parameter of a model. A parameter that exceeds the budget causes an Error. The
/// budget exists because a config can require more memory than the machine has. Only one thread may use a budget.
struct Init {
  Random random{0};                   ///< the generator for this place in the model
  DType dtype = DType::f32;           ///< f32 or f64
  ParameterBudget* budget = nullptr;  ///< null: no limit
  /// Whether parameters have a shape but no memory: all elements are one shared 0. Use it to inspect a model without
  /// running it. load_checkpoint also uses it, and then gives each parameter its value. Assigning to such a parameter
  /// has no effect, and writing its elements throws an Error.
  bool shapes_only = false;

  /// Returns the Init for the k-th part of the layer or model at this place.
  Init child(std::uint64_t k) const { return {random.split(k), dtype, budget, shapes_only}; }
  /// Makes a parameter with values from the uniform distribution over [low, high).
  Parameter uniform(const Shape& shape, double low, double high) const;
  /// Makes a parameter with values from N(0, deviation²).
  Parameter normal(const Shape& shape, double deviation) const;
  /// Makes a parameter whose elements are all `value`.
  Parameter full(const Shape& shape, double value) const;

 private:
  template <class Draw>
  Parameter make(const Shape& shape, Draw draw) const;
};

/// Collects the parameters in a list of fields. It skips undefined parameters and optional parts that are absent.
class ParameterCollector {
 public:
  /// Appends the parameters to `out`. Each name begins with `prefix`.
  ParameterCollector(std::string prefix, NamedParameters& out) : prefix_(std::move(prefix)), out_(out) {}

  /// Adds one of the layer's own parameters.
  void operator()(const std::string& name, const Parameter& parameter) const {
    if (parameter.defined()) out_.emplace_back(prefix_ + name, parameter);
  }
  /// Adds the parameters of a part that has fields() or its own collect(). Their names begin with "name.". If the name
  /// is empty, they have no such prefix and look like the layer's own parameters.
  template <class Part>
  void operator()(const std::string& name, const Part& part) const {
    collect(part, name.empty() ? prefix_ : prefix_ + name + ".", 0);
  }
  /// Adds the parameters of a part that may be absent.
  template <class Part>
  void operator()(const std::string& name, const std::optional<Part>& part) const {
    if (part) (*this)(name, *part);
  }
  /// Adds the parameters of several parts in order. The names of their parameters begin with "name.0.", "name.1.", ….
  template <class Part>
  void operator()(const std::string& name, const std::vector<Part>& parts) const {
    for (std::size_t i = 0; i < parts.size(); ++i) (*this)(name + "." + std::to_string(i), parts[i]);
  }

 private:
  std::string prefix_;
  NamedParameters& out_;

  // Uses the part's collect() if it has one (the argument 0 is an int, so this overload wins), else its fields().
  template <class Part>
  auto collect(const Part& part, const std::string& prefix, int) const -> decltype(part.collect(prefix, out_)) {
    part.collect(prefix, out_);
  }
  template <class Part>
  void collect(const Part& part, const std::string& prefix, long) const {
    part.fields(ParameterCollector(prefix, out_));
  }
};

/// The base class for layers that list their parts in fields(): `class Block : public Layer<Block>`.
template <class Self>
class Layer {
 public:
  /// Appends the parameters; their names begin with `prefix`.
  void collect(const std::string& prefix, NamedParameters& out) const {
    static_cast<const Self&>(*this).fields(ParameterCollector(prefix, out));
  }
};

/// Returns the parameters of a single layer.
template <class Part>
NamedParameters parameters_of(const Part& layer) {
  NamedParameters all;
  layer.collect("", all);
  return all;
}

/// y = x Wᵀ + b.
///
/// When no tape records, a call with more than a few rows packs the weight, and the layer keeps this packed copy for
/// later calls. The copy takes as much memory as the weight. A call recorded by a tape releases the copy. If the model
/// was loaded for inference and the weight is in a mapped file, the layer packs the weight in the second call with more
/// than a few rows, or in the ninth call with few rows. It then releases the memory of the mapped weight, and all calls
/// read the packed copy.
///
/// If x is bf16, the packed copy is bf16 and takes half as much memory. The first call without a tape then packs the
/// weight, even if x has few rows, because otherwise each call would have to round the weight. The first call also
/// packs a quantized weight (weft/quantize.h). A weight in int8 or int4 is packed for quantized_linear, whatever the precision.
///
/// Copies of a layer share the parameters and the packed weight. Several threads may call a layer at the same time,
/// each with its own Context, as long as no thread writes a parameter. A lock protects the packed weight.
class Linear : public Layer<Linear> {
 public:
  /// Draws weight (out, in) and bias (out) from U(-1/√in, 1/√in), as in PyTorch's Linear. Throws an Error if a size is
  /// below 1.
  Linear(std::int64_t in, std::int64_t out, const Init& init, bool with_bias = true);
  /// x (…, in) -> (…, out), after the epilogue.
  Tensor operator()(const Tensor& x, const Epilogue& epilogue = {}) const;
  /// Lists the parameters and parts (see weft/layers.h).
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

/// Normalizes over the last axis (d): (x - mean) / sqrt(var + eps) · weight + bias (Ba et al. 2016, arXiv 1607.06450).
/// Several threads may call the same layer concurrently, as with Linear.
class LayerNorm : public Layer<LayerNorm> {
 public:
  /// Sets the weight to ones and the bias to zeros.
  LayerNorm(std::int64_t d, const Init& init, double eps = 1e-5);
  /// x (…, d) -> (…, d). If `residual` is defined, the layer normalizes x + residual.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("weight", weight);
    visit("bias", bias);
  }

  Parameter weight;  ///< (d)
  Parameter bias;    ///< (d)
  double eps;        ///< added to the variance
};

/// x / (‖x‖₂/√d + eps) over the last axis (d), without parameters (Qin et al. 2023, arXiv 2307.14995).
class SimpleRmsNorm {
 public:
  /// `epsilon` is eps.
  explicit SimpleRmsNorm(double epsilon = 1e-8) : eps(epsilon) {}
  /// x (…, d) -> (…, d).
  Tensor operator()(const Tensor& x) const { return rms_norm(x, {}, eps); }

  double eps;  ///< added to the root mean square
};

/// Looks up rows of a matrix by index. Several threads may call the same layer concurrently, as with Linear.
class Embedding : public Layer<Embedding> {
 public:
  Embedding() = default;  ///< has no table, for a model without a vocabulary; a call throws an Error
  /// Draws weight (count, d) from N(0, deviation²).
  Embedding(std::int64_t count, std::int64_t d, const Init& init, double deviation = 1);
  /// indices (…) i64 -> (…, d), in f32 for a quantized table. Throws an Error for an index outside 0 … count-1.
  Tensor operator()(const Tensor& indices) const;
  /// Computes logits with this table E, for a model whose head shares the weight of its embedding: x (…, d) -> x Eᵀ +
  /// b, (…, count). The bias b has the shape (count) or is undefined.
  Tensor logits(const Tensor& x, const Tensor& bias = {}) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("weight", weight);
  }

  Parameter weight;  ///< (count, d)

 private:
  std::shared_ptr<detail::KeptWeight> kept_;
};

/// Sets each element to 0 with probability p if a call gets a random generator. In a forward pass, each call needs its
/// own child generator (Random::split). Without a generator, as in inference, a call returns x.
class Dropout {
 public:
  /// `probability` is p.
  explicit Dropout(double probability = 0) : p(probability) {}
  /// Takes x of any shape. The remaining elements are scaled by 1/(1-p).
  Tensor operator()(const Tensor& x, const Random* random) const;

  double p;  ///< 0 <= p < 1
};

/// Returns the tensor of a parameter, or an undefined tensor if the parameter is undefined.
inline Tensor optional(const Parameter& p) { return p.defined() ? Tensor(p) : Tensor(); }

/// Returns the number of elements of all parameters. A parameter that occurs twice counts once.
std::int64_t parameter_count(const NamedParameters& parameters);

}  // namespace weft
WEFT_PUBLIC_END
