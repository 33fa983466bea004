// Used by the annotated programs. Weights looks up the parameters of a library's layer by their names.
// expect_same_gradients compares outputs and gradients of such a layer with those of a program.
#pragma once
#include <weft/layers.h>

#include <stdexcept>
#include <string>
#include <utility>

#include "step.h"

namespace annotated {

// Parameters by the names that they have in a layer: weights["proj.weight"]. A parameter is a handle, so the program and
// the library's layer share its value.
class Weights {
 public:
  explicit Weights(weft::NamedParameters all, std::string prefix = "")
      : all_(std::move(all)), prefix_(std::move(prefix)) {}

  // The value of a parameter, as a leaf of the tape that records.
  weft::Tensor operator[](const std::string& name) const {
    for (const auto& [full, parameter] : all_)
      if (full == prefix_ + name) return parameter;
    throw std::runtime_error("there is no parameter " + prefix_ + name);
  }
  // The parameters of a part: weights.of("layers.0")["norm.weight"] is weights["layers.0.norm.weight"].
  Weights of(const std::string& part) const {
    return Weights(all_, prefix_ + part + ".");
  }
  const weft::NamedParameters& all() const { return all_; }

 private:
  weft::NamedParameters all_;
  std::string prefix_;
};

// Compares two functions of x and of the same parameters: their outputs, and the gradients of a weighted sum of the
// outputs with respect to x (unless x is integer) and to every parameter.
template <class F, class G>
void expect_same_gradients(const F& ours, const G& librarys, const weft::Tensor& x,
                           const weft::NamedParameters& parameters) {
  const auto run = [&](const auto& f, weft::Gradients& gradients, weft::Tensor& dx) {
    weft::Tape tape;
    const weft::Tensor leaf = weft::is_integer(x.dtype()) ? x : tape.watch(x),
                       y = f(leaf);
    tape.backward(y, weft::Random(7).normal(y.shape(), 0, 1, weft::DType::f64),
                  gradients);
    if (tape.owns(leaf) || leaf.node().tape != 0) dx = gradients.of(leaf);
    return y.detach();
  };
  weft::Gradients first, second;
  weft::Tensor first_dx, second_dx;
  const weft::Tensor a = run(ours, first, first_dx),
                     b = run(librarys, second, second_dx);
  expect_same("outputs", a, b);
  if (first_dx.defined()) expect_same("gradient of the input", first_dx, second_dx);
  double worst = 0;
  for (const auto& [name, parameter] : parameters)
    worst = std::max(worst, difference(first.of(parameter), second.of(parameter)));
  expect(
      ("gradients of " + std::to_string(parameters.size()) + " parameters are the same")
          .c_str(),
      worst <= 1e-10);
}

}  // namespace annotated

using annotated::expect_same_gradients;
using annotated::Weights;
