#include "arguments.h"

namespace weft::python {

namespace nb = nanobind;

DType dtype_of(nb::handle dtype) {
  constexpr std::pair<const char*, const char*> others[] = {
      {"float32", "f32"}, {"float64", "f64"}, {"float", "f64"},     {"bfloat16", "bf16"},  {"int64", "i64"},
      {"int", "i64"},     {"int8", "i8"},     {"complex64", "c64"}, {"complex128", "c128"}};
  std::string name;
  if (!nb::try_cast(dtype, name))
    name = nb::cast<std::string>(dtype.attr(nb::hasattr(dtype, "name") ? "name" : "__name__"));
  for (const auto& [other, own] : others)
    if (name == other) name = own;
  for (const DType known : {DType::f32, DType::f64, DType::bf16, DType::i64, DType::i8, DType::c64, DType::c128})
    if (name == dtype_name(known)) return known;
  throw nb::value_error(("dtype: expected f32, f64, bf16, i64, i8, c64 or c128, got " + name).c_str());
}

std::pair<Tensor, Tensor> promoted(const Tensor& x, const Tensor& y) {
  // Increases with the precision. Every real dtype, even bf16, comes after the integer dtypes.
  const auto place = [](DType dtype) {
    switch (dtype) {
      case DType::i8: return 1;
      case DType::i64: return 2;
      case DType::bf16: return 3;
      case DType::f32: return 4;
      case DType::f64: return 5;
      default: return 0;  // complex
    }
  };
  const int a = place(x.dtype()), b = place(y.dtype());
  if (a == b || a == 0 || b == 0) return {x, y};
  if (a < b) return {cast(x, y.dtype()), y};
  return {x, cast(y, x.dtype())};
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
    throw nb::type_error("axis: expected None, an integer, or a tuple of at least one integer");
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
