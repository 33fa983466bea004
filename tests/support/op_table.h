// The table that drives the tests of all operations: a case is one line in the test file of its family. For each case,
// op_table.cpp checks the values against the oracle, the gradient by central differences, every instruction set, every
// layout of the inputs, several thread counts, and that the inputs are unchanged.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "weft/ops.h"

namespace weft::test {

// How to make an input of a case. Values are random, in [low, high). `gap` keeps them at least that far from 0, so that
// central differences reach no kink.
struct In {
  Shape shape;
  double low = -1, high = 1, gap = 0;
  DType dtype = DType::f64;  // f64, c128 or i64 (whole numbers in [low, high)); f32 runs convert
  bool differentiable = true;
};

inline In indices(const Shape& shape, std::int64_t count) {
  return {shape, 0, static_cast<double>(count), 0, DType::i64, false};
}
inline In complex_in(const Shape& shape) { return {shape, -1, 1, 0, DType::c128, true}; }

using Function = std::function<Tensor(const std::vector<Tensor>&)>;

struct OpCase {
  std::string name;
  std::vector<In> inputs;
  Function run;
  // A plain computation of the same values in f64 (c128), by loops or other operations. It may be omitted if the golden
  // cases or a separate test have the values.
  Function oracle = nullptr;
  // The largest error of f32 against f64, relative to the largest value.
  double f32_tolerance = 2e-5;
};

// Defines cases at static initialization: static const OpCases cases{{"add", {{{2, 3}}, {{3}}}, …}, …};
class OpCases {
 public:
  OpCases(std::initializer_list<OpCase> cases);
};

const std::vector<OpCase>& all_op_cases();

// The inputs of a case in f64 / c128 / i64, the same at every call.
std::vector<Tensor> make_inputs(const OpCase& c);
// Converts for runs in f32 (f64 -> f32, c128 -> c64).
Tensor to_single(const Tensor& x);

// A random tensor in [low, high), at least gap from 0.
Tensor random_tensor(const In& in, std::uint64_t seed);
// Tokens 0 … 6, (b, n).
inline Tensor random_tokens(std::int64_t b, std::int64_t n) { return random_tensor(indices({b, n}, 7), 11); }

// max |a - b|, both converted to c128; infinite if shapes differ or only one of them has a NaN.
double max_difference(const Tensor& a, const Tensor& b);
double max_abs(const Tensor& a);  // infinite if there is a NaN
bool same_bits(const Tensor& a, const Tensor& b);

// y, and the gradients of sum(cotangent · y) for the differentiable inputs (undefined for the others).
struct Differentiated {
  Tensor y;
  std::vector<Tensor> gradients;
};
Differentiated differentiate(const Function& f, const std::vector<Tensor>& inputs,
                             const std::vector<bool>& differentiable, std::uint64_t cotangent_seed = 7);

// The largest |numerical - analytic| / max(1, max |analytic|) over every element of every differentiable input, by
// central differences with a random cotangent. `inputs` are f64 or c128. `scale` multiplies the analytic gradient (to
// show that a wrong one fails).
double gradient_error(const Function& f, const std::vector<Tensor>& inputs, const std::vector<bool>& differentiable,
                      double scale = 1);

// For models: the same over parameters and inputs.
double gradient_error(const Function& f, const std::vector<Tensor>& inputs, const NamedParameters& parameters);

}  // namespace weft::test
