// The table that drives the tests of all operations. A case is one line in the test file of its family. For each case,
// op_table.cpp compares the values with the oracle and the gradient with central differences. It does this for every
// instruction set, every layout of the inputs and several thread counts. It also checks that the inputs are unchanged.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "weft/ops.h"

namespace weft::test {

// How to make an input of a case. Values are random, in [low, high). Their distance from 0 is at least `gap`, so that
// central differences don't cross a kink.
struct In {
  Shape shape;
  double low = -1, high = 1, gap = 0;
  DType dtype = DType::f64;  // f64, c128 or i64 (whole numbers in [low, high)); converted for f32 runs
  bool differentiable = true;
};

inline In indices(const Shape& shape, std::int64_t count) {
  return {shape, 0, static_cast<double>(count), 0, DType::i64, false};
}
inline In complex_in(const Shape& shape) { return {shape, -1, 1, 0, DType::c128, true}; }

// Inputs for functions of one number.
inline const In wide_in{{3, 37}, -6, 6}, kinked_in{{3, 37}, -4, 4, 0.05}, positive_in{{3, 37}, 0.2, 4};

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

// y[i] = f(x[i]) for the first input x.
template <class F>
Function loop(F f) {
  return [f](const std::vector<Tensor>& in) {
    std::vector<double> values = in[0].to_vector<double>();
    for (double& v : values) v = f(v);
    return Tensor::from(values, in[0].shape());
  };
}

struct OpCase {
  std::string name;
  std::vector<In> inputs;
  Function run;
  // A plain computation of the same values in f64 (c128), by loops or other operations. It may be omitted if golden
  // cases or a separate test check the values.
  Function oracle = nullptr;
  // The largest error of f32 with respect to f64, relative to the largest value.
  double f32_tolerance = 2e-5;
};

// Defines cases at static initialization: const OpCases activation_cases{{"add", {{{2, 3}}, {{3}}}, …}, …};
class OpCases {
 public:
  OpCases(std::initializer_list<OpCase> cases);
};

const std::vector<OpCase>& all_op_cases();

// Returns the inputs of a case in f64, c128 or i64. Every call returns the same inputs.
std::vector<Tensor> make_inputs(const OpCase& c);
// Converts a tensor for runs in f32 (f64 -> f32, c128 -> c64).
Tensor to_single(const Tensor& x);

// A random tensor in [low, high), with a distance of at least `gap` from 0.
Tensor random_tensor(const In& in, std::uint64_t seed);
// Random tokens 0 … 6 of shape (b, n).
inline Tensor random_tokens(std::int64_t b, std::int64_t n) { return random_tensor(indices({b, n}, 7), 11); }

// Returns max |a - b|, with both converted to c128. The result is infinite if the shapes differ, or if only one of two
// elements is NaN.
double max_difference(const Tensor& a, const Tensor& b);
double max_abs(const Tensor& a);  // infinite if there is a NaN
bool same_bits(const Tensor& a, const Tensor& b);

// y, and the gradients of sum(cotangent · y) for the differentiable inputs. The other gradients are undefined.
struct Differentiated {
  Tensor y;
  std::vector<Tensor> gradients;
};
Differentiated differentiate(const Function& f, const std::vector<Tensor>& inputs,
                             const std::vector<bool>& differentiable, std::uint64_t cotangent_seed = 7);

// Returns the largest |numerical - analytic| / max(1, max |analytic|) over all elements of all differentiable inputs.
// The numerical gradient uses central differences with a random cotangent. `inputs` are f64 or c128. `scale` multiplies
// the analytic gradient, to show that the check detects a wrong gradient.
double gradient_error(const Function& f, const std::vector<Tensor>& inputs, const std::vector<bool>& differentiable,
                      double scale = 1);

// Does the same for models, over the parameters and the inputs.
double gradient_error(const Function& f, const std::vector<Tensor>& inputs, const NamedParameters& parameters);

}  // namespace weft::test
