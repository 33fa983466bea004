// Layers: parameters with the operation that uses them. Every layer and model has
//   Tensor operator()(x) const              the forward pass
//   void collect(prefix, out) const         appends its parameters, named as in PyTorch's state_dict
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "weft/ops.h"
#include "weft/parameter.h"

#pragma GCC visibility push(default)
namespace weft {

// What a model may still make.
struct ParameterBudget {
  std::int64_t parameters = 0, elements = 0;
};

// How parameters are made: dtype, and random numbers that depend on the seed and the place in the model. Every
// parameter comes from here, and Error if it is beyond the budget: a config can ask for more than there is memory.
struct Init {
  Random random{0};
  DType dtype = DType::f32;
  ParameterBudget* budget = nullptr;  // none: any number

  Init child(std::uint64_t k) const { return {random.split(k), dtype, budget}; }
  Parameter uniform(const Shape& shape, double low, double high) const;
  Parameter normal(const Shape& shape, double deviation) const;  // mean 0
  Parameter full(const Shape& shape, double value) const;

 private:
  void draw(const Shape& shape) const;
};

// y = x Wᵀ + b. weight (out, in) and bias (out) ~ U(-1/√in, 1/√in), as PyTorch's Linear. Where no tape records, the weight
// stays packed between calls with more than a few rows, which takes its memory again; a recorded call gives that back.
class Linear {
 public:
  Linear(std::int64_t in, std::int64_t out, const Init& init, bool with_bias = true);
  Tensor operator()(const Tensor& x, const Epilogue& epilogue = {}) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  Parameter weight, bias;  // bias is undefined without one

 private:
  struct Packed;
  std::shared_ptr<const PackedWeight> packed() const;

  std::shared_ptr<Packed> packed_;
};

// Over the last axis (d): weight ones, bias zeros.
class LayerNorm {
 public:
  LayerNorm(std::int64_t d, const Init& init, double eps = 1e-5);
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;  // of x + residual, if that is defined
  void collect(const std::string& prefix, NamedParameters& out) const;

  Parameter weight, bias;
  double eps;
};

// x / (‖x‖₂/√d + eps), no parameters.
class SimpleRmsNorm {
 public:
  explicit SimpleRmsNorm(double epsilon = 1e-8) : eps(epsilon) {}
  Tensor operator()(const Tensor& x) const { return rms_norm(x, {}, eps); }
  double eps;
};

// Rows of weight (count, d) ~ N(0, deviation²) by i64 index.
class Embedding {
 public:
  Embedding(std::int64_t count, std::int64_t d, const Init& init, double deviation = 1);
  Tensor operator()(const Tensor& indices) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  Parameter weight;
};

// Drops elements with probability p, if a generator is given: each call of a forward pass takes a child of it.
// Without one (inference) it is the identity.
class Dropout {
 public:
  explicit Dropout(double probability = 0) : p(probability) {}
  Tensor operator()(const Tensor& x, const Random* random) const;
  double p;
};

// weight or bias as an operation takes it: the parameter, or an undefined tensor.
inline Tensor optional(const Parameter& p) { return p.defined() ? Tensor(p) : Tensor(); }

// The number of elements of all parameters; one that comes twice counts once.
std::int64_t parameter_count(const NamedParameters& parameters);

}  // namespace weft
#pragma GCC visibility pop
