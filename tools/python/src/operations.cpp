// Toeplitz products and Fourier mixing on arrays, and the gradients that weft.torch needs.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <weft/spectral.h>

#include <string>
#include <utility>

#include "arrays.h"
#include "bindings.h"
#include "tensors.h"

namespace weft::python {
namespace {

using namespace nb::literals;

const std::vector<DType> reals{DType::f32, DType::f64, DType::bf16}, coefficients{DType::f32, DType::f64};

constexpr std::pair<const char*, ToeplitzForm> forms[] = {{"automatic", ToeplitzForm::automatic},
                                                          {"naive", ToeplitzForm::naive},
                                                          {"matrix", ToeplitzForm::matrix},
                                                          {"ring", ToeplitzForm::ring}};

ToeplitzForm form_of(const std::string& name) {
  for (const auto& [known, form] : forms)
    if (name == known) return form;
  throw nb::value_error(("form: expected automatic, naive, matrix or ring, got \"" + name + "\"").c_str());
}

nb::any product(nb::handle x, nb::handle t, bool causal, const std::string& form, bool torch) {
  const ToeplitzForm how = form_of(form);
  const Tensor a = tensor_of("x", x, reals), b = tensor_of("t", t, coefficients);
  return array_of(unlocked([&] { return toeplitz_product(a, b, causal, how); }), torch);
}

nb::tuple product_gradients(nb::handle x, nb::handle t, nb::handle gradient, bool causal, const std::string& form,
                            bool needs_x, bool needs_t, bool torch) {
  const ToeplitzForm how = form_of(form);
  const Tensor a = tensor_of("x", x, reals), b = tensor_of("t", t, coefficients),
               dy = tensor_of("gradient", gradient, reals);
  ToeplitzGradients g = unlocked([&] { return toeplitz_gradients(a, b, dy, causal, needs_x, needs_t, how); });
  const auto given = [&](Tensor& of) -> nb::object {
    if (!of.defined()) return nb::none();
    return array_of(std::move(of), torch);
  };
  return nb::make_tuple(given(g.x), given(g.t));
}

nb::any mixed(nb::handle x, std::int64_t sequence_dim, std::int64_t hidden_dim, bool torch) {
  const Tensor a = tensor_of("x", x, reals);
  return array_of(unlocked([&] { return fourier_mix(a, sequence_dim, hidden_dim); }), torch);
}

}  // namespace

void add_operations(nb::module_& module) {
  module.def("toeplitz_product", product, "x"_a, "t"_a, "causal"_a, "form"_a, "torch"_a);
  module.def("toeplitz_gradients", product_gradients, "x"_a, "t"_a, "gradient"_a, "causal"_a, "form"_a, "needs_x"_a,
             "needs_t"_a, "torch"_a);
  module.def("fourier_mix", mixed, "x"_a, "sequence_dim"_a, "hidden_dim"_a, "torch"_a);
}

}  // namespace weft::python
