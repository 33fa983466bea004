// quantized_linear: checks the arguments and makes the operands contiguous for the driver.
#include <string>

#include "base/common.h"
#include "dense/quantized_product.h"
#include "weft/detail/tensor_text.h"
#include "weft/op.h"
#include "weft/quantized.h"

namespace weft {
using namespace detail;

namespace {

const char* const who = "quantized_linear";

void check_optional(const Tensor& t, DType dtype, const char* what, const Shape& shape) {
  if (t.defined() && (t.dtype() != dtype || t.shape() != shape))
    fail(who, std::string("expected ") + what + " to be " + tensor_text(dtype, shape) + ", got " + describe(t));
}

// Checks the arguments and returns y's shape.
Shape check(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias, const Epilogue& epilogue) {
  (void)activation_name(epilogue.activation);
  if (!x.defined() || (x.dtype() != DType::f32 && x.dtype() != DType::bf16))
    fail(who, "expected x of dtype f32 or bf16, got " + describe(x));
  if (x.rank() < 1 || x.size(-1) != weight.columns())
    fail(who, "expected x of shape (…, in) and weight of shape (out, in), got shapes " + to_string(x.shape()) +
                  " and " + to_string({weight.rows(), weight.columns()}));
  Shape out = x.shape();
  out.back() = weight.rows();
  const bool f32_bias = bias.defined() && bias.dtype() == DType::f32;
  check_optional(bias, f32_bias ? DType::f32 : x.dtype(), "bias", {weight.rows()});
  check_optional(epilogue.gate, x.dtype(), "gate", out);
  check_optional(epilogue.residual, x.dtype(), "residual", out);
  if (would_record({x, bias, epilogue.gate, epilogue.residual}))
    fail(who, "quantized weights are only for inference: expected no input that is on a tape");
  return out;
}

template <class T>
void product(const Tensor& input, const Tensor& panels, const QuantizedWeight& weight, const Tensor& bias,
             const Epilogue& epilogue, Tensor& y) {
  const Tensor x = as_rows(input);
  const Tensor scales = weight.bits() == 8 ? weight.scales() : Tensor();
  QuantizedProblem<T> problem{x.size(0),
                              weight.rows(),
                              weight.columns(),
                              x.data<T>(),
                              x.strides()[0],
                              panels.data<std::int8_t>(),
                              scales.defined() ? scales.data<float>() : nullptr,
                              y.mutable_data<T>()};
  GemmEpilogue<T>& e = problem.epilogue;
  e.activation = epilogue.activation;
  if (bias.defined()) {
    e.bias = bias.data<float>();
    e.bias_column = 1;
  }
  Tensor gate, residual;
  if (epilogue.gate.defined()) {
    gate = as_rows(epilogue.gate);
    e.gate = gate.data<T>();
    e.gate_row = gate.strides()[0];
  }
  if (epilogue.residual.defined()) {
    residual = as_rows(epilogue.residual);
    e.residual = residual.data<T>();
    e.residual_row = residual.strides()[0];
  }
  if (weight.bits() == 8) quantized_product(problem);
  else int4_product(problem);
}

}  // namespace

Tensor quantized_linear(const Tensor& x, const QuantizedWeight& weight, const Tensor& bias, const Epilogue& epilogue) {
  return run_op(who, [&] {
    Tensor y = Tensor::empty(check(x, weight, bias, epilogue), x.dtype());
    const Tensor panels = weight.panels();
    const Tensor dense_bias = bias.defined() ? raw::contiguous(as_dtype(bias, DType::f32)) : bias;
    if (x.dtype() == DType::f32) product<float>(x, panels, weight, dense_bias, epilogue, y);
    else product<bfloat16>(x, panels, weight, dense_bias, epilogue, y);
    return y;
  });
}

}  // namespace weft
