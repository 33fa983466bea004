#include "arguments.h"

namespace weft::python {

namespace nb = nanobind;

DType dtype_of_name(const std::string& name) {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::i8, DType::c64, DType::c128})
    if (name == dtype_name(dtype)) return dtype;
  throw nb::value_error(("dtype: expected f32, f64, bf16, i64, i8, c64 or c128, got " + name).c_str());
}

std::vector<Tensor> Argument<std::vector<Tensor>>::of(nb::handle parts) {
  std::vector<Tensor> all;
  for (const nb::handle part : parts) all.push_back(operand(part));
  return all;
}

Axes Argument<Axes>::of(nb::handle axis) {
  if (axis.is_none()) return {};
  if (PyIndex_Check(axis.ptr())) return {{nb::cast<std::int64_t>(axis)}};
  Axes axes;
  if (!nb::try_cast(axis, axes.all) || axes.all.empty())
    throw nb::type_error("axis: expected None, a whole number, or a tuple of at least one");
  return axes;
}

Reduction Argument<Reduction>::of(const std::string& name) {
  if (name == "none") return Reduction::none;
  if (name == "mean") return Reduction::mean;
  if (name == "sum") return Reduction::sum;
  if (name == "batch_mean") return Reduction::batch_mean;
  throw nb::value_error(("reduction: expected none, mean, sum or batch_mean, got " + name).c_str());
}

const Random* Argument<const Random*>::of(nb::handle random) {
  if (random.is_none()) return nullptr;
  if (!nb::isinstance<Random>(random)) throw nb::type_error("random: expected a weft.Random or None");
  return nb::cast<const Random*>(random);
}

}  // namespace weft::python
