#include "weft/quantize.h"

#include <cmath>

#include "base/for_inference.h"
#include "base/input_moments.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/rebind.h"

namespace weft {
using namespace detail;

namespace {

struct Rounded {
  Tensor value, scales;
};

// Returns the largest |x|, or NaN if x contains a NaN.
template <class T>
float largest(const Tensor& x) {
  const Tensor dense = raw::contiguous(x);
  const T* p = dense.data<T>();
  float most = 0;
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const float size = std::abs(static_cast<float>(p[i]));
    if (!(size <= most)) most = size;
    if (std::isnan(most)) break;
  }
  return most;
}

// Returns the values in 8 or 4 bits, and their scales. The moments of the inputs are undefined without calibration.
Rounded rounded_weight(const std::string& name, const Tensor& value, Quantization to, const Tensor& moments) {
  if (value.size(1) > QuantizedWeight::most_columns)
    throw Error("[quantize] expected at most " + std::to_string(QuantizedWeight::most_columns) + " columns for " +
                quantization_name(to) + ", but " + name + " is " + to_string(value.shape()));
  if (to == Quantization::int4 && largest<float>(value) > 0x1p127f)
    throw Error("[quantize] parameter " + name + " has elements beyond 2^127, the limit of int4");
  const QuantizedWeight weight = moments.defined() ? QuantizedWeight::fitted(value, moments)
                                                   : QuantizedWeight(value, to == Quantization::int8 ? 8 : 4);
  give_back(value);
  return {to == Quantization::int8 ? weight.values() : weight.packed_values(), weight.scales()};
}

// Returns the rounded value and its scales. If the parameter is not quantizable, returns its unchanged value.
Rounded rounded(const std::string& name, const Parameter& parameter, Quantization to, const InputMoments* moments) {
  const Tensor& value = parameter.value();
  if (value.dtype() != DType::f32)
    throw Error("[quantize] expected f32 parameters, but " + name + " is " + dtype_name(value.dtype()));
  if (!std::isfinite(largest<float>(value))) throw Error("[quantize] parameter " + name + " is not finite");
  if (!parameter.quantizable()) return {value, {}};
  if (value.rank() != 2)
    throw Error("[quantize] expected matrices (out, in), but " + name + " is " + to_string(value.shape()));
  if (to != Quantization::bf16) return rounded_weight(name, value, to, moments ? moments->of(parameter) : Tensor());
  const Tensor half = raw::convert(value, DType::bf16);
  if (!std::isfinite(largest<bfloat16>(half)))
    throw Error("[quantize] parameter " + name + " has elements beyond the largest bf16 number, 3.39e38");
  give_back(value);
  return {half, {}};
}

void check_quantizable(const NamedParameters& parameters) {
  bool any = false;
  for (const auto& [name, parameter] : parameters) {
    any = any || parameter.quantizable();
    if (parameter.quantized()) throw Error("[quantize] " + name + " belongs to a model that is already quantized");
  }
  if (!any)
    throw Error(
        "[quantize] the model has no parameter that can be quantized: it has neither a Linear nor an Embedding whose "
        "weights may be quantized");
}

void quantize_parameters(const NamedParameters& parameters, Quantization to, const InputMoments* moments) {
  std::vector<Rounded> values;
  for (const auto& [name, parameter] : parameters) values.push_back(rounded(name, parameter, to, moments));
  for (std::size_t i = 0; i < values.size(); ++i)
    lend_quantized(parameters[i].second, values[i].value, values[i].scales, quantized_for_inference);
}

}  // namespace

void quantize(const NamedParameters& parameters, Quantization to) {
  guard_memory("quantize", [&] {
    (void)quantization_name(to);
    check_quantizable(parameters);
    quantize_parameters(parameters, to, nullptr);
  });
}

void quantize(Model& model, Quantization to) {
  quantize(model.parameters(), to);
  model.set_precision(Precision::bf16);
}

void quantize(Model& model, Quantization to, const std::function<void()>& calibrate) {
  guard_memory("quantize", [&] {
    if (to != Quantization::int4)
      throw Error(std::string("[quantize] expected int4 with calibration, got ") + quantization_name(to));
    check_quantizable(model.parameters());
    InputMoments moments;
    {
      Context alone;
      alone.set_threads(1);
      const ContextScope scope(alone);
      calibrate();
    }
    if (moments.empty()) throw Error("[quantize] the calibration used no Linear layer of the model");
    quantize_parameters(model.parameters(), to, &moments);
  });
  model.set_precision(Precision::bf16);
}

std::optional<Quantization> quantized_to(const NamedParameters& parameters) {
  for (const auto& [name, parameter] : parameters)
    if (parameter.quantized() && parameter.quantizable()) {
      if (parameter.value().dtype() == DType::bf16) return Quantization::bf16;
      return parameter.scales().dtype() == DType::f32 ? Quantization::int8 : Quantization::int4;
    }
  return {};
}

const std::vector<Quantization>& quantizations() {
  static const std::vector<Quantization> all{Quantization::bf16, Quantization::int8, Quantization::int4};
  return all;
}

const char* quantization_name(Quantization to) {
  switch (to) {
    case Quantization::bf16: return "bf16";
    case Quantization::int8: return "int8";
    case Quantization::int4: return "int4";
  }
  throw Error("[quantize] expected bf16, int8 or int4, got Quantization " + std::to_string(static_cast<int>(to)));
}

Quantization quantization_from_name(const std::string& name) {
  for (const Quantization to : quantizations())
    if (name == quantization_name(to)) return to;
  throw Error("[quantize] expected bf16, int8 or int4, got \"" + name + "\"");
}

}  // namespace weft
