// weft.Tensor and weft.Parameter: construction, elements and operators.
#include "tensors.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/ops.h>
#include <weft/parameter.h>
#include <weft/print.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "arguments.h"
#include "arrays.h"
#include "bindings.h"

namespace weft::python {

using namespace nb::literals;
using std::int64_t;

namespace {

Tensor copy_of(const Tensor& x) {
  Tensor own = Tensor::empty(x.shape(), x.dtype());
  raw::copy(x, own);
  return own;
}

}  // namespace

namespace {

// Whether x is a numpy array with a dtype that tensors do not support, such as int32.
bool has_other_dtype(nb::handle x) {
  if (!nb::hasattr(x, "__array_interface__")) return false;
  const auto name = nb::cast<std::string>(nb::str(nb::handle(nb::object(x.attr("dtype")))));
  for (const char* own : {"float32", "float64", "int64", "int8", "complex64", "complex128"})
    if (name == own) return false;
  return true;
}

}  // namespace

Tensor operand(nb::handle x) {
  if (nb::isinstance<Tensor>(x)) return nb::cast<Tensor>(x);
  if (nb::isinstance<Parameter>(x)) return nb::cast<Parameter&>(x);
  if (nb::isinstance<nb::list>(x) || nb::isinstance<nb::tuple>(x) || has_other_dtype(x))
    return nb::cast<Tensor>(nb::module_::import_("weft").attr("tensor")(x));
  const Tensor borrowed =
      tensor_of("operand", x, {DType::f32, DType::f64, DType::i64, DType::bf16, DType::c64, DType::c128, DType::i8});
  // Copies the array, because the program may write to it before the backward pass reads it.
  return copy_of(borrowed);
}

std::optional<double> number_of(nb::handle x) {
  if (PyFloat_Check(x.ptr()) || PyLong_Check(x.ptr())) {
    const double number = PyFloat_AsDouble(x.ptr());
    if (number == -1 && PyErr_Occurred() != nullptr) throw nb::python_error();  // an int that is too large
    return number;
  }
  if (nb::isinstance<Tensor>(x) || nb::isinstance<Parameter>(x)) return std::nullopt;
  if (nb::hasattr(x, "ndim") && nb::hasattr(x, "__float__") && nb::cast<int64_t>(x.attr("ndim")) == 0)
    return nb::cast<double>(nb::float_(x));
  return std::nullopt;
}

namespace {

// Whether an operator accepts x as its second operand. If not, Python calls the operator of x's type.
bool is_operand(nb::handle x) {
  return nb::isinstance<Tensor>(x) || nb::isinstance<Parameter>(x) || nb::hasattr(x, "__dlpack__") ||
         nb::hasattr(x, "__array_interface__");
}

using Unary = Tensor (*)(const Tensor&);
using Binary = Tensor (*)(const Tensor&, const Tensor&);
using WithNumber = Tensor (*)(const Tensor&, double);

// Applies an operator to two tensors.
nb::object of_tensors(nb::handle a, nb::handle b, Binary tensors) {
  if (!is_operand(b)) return nb::borrow(Py_NotImplemented);
  const auto [x, y] = promoted(operand(a), operand(b));
  return nb::cast(unlocked([&, &x = x, &y = y] { return tensors(x, y); }));
}

// Applies an operator to two tensors, or to a tensor and a number.
nb::object binary(nb::handle a, nb::handle b, Binary tensors, WithNumber number) {
  if (const auto c = number_of(b)) {
    const Tensor x = operand(a);
    return nb::cast(unlocked([&] { return number(x, *c); }));
  }
  return of_tensors(a, b, tensors);
}

template <class Class>
void add_operator(Class& type, const char* name, Binary tensors, WithNumber number) {
  type.def(
      name, [=](nb::handle a, nb::handle b) { return binary(a, b, tensors, number); }, nb::is_operator());
}

// Returns a read-only numpy array over the same elements. bf16 becomes float32.
nb::object numpy_of(const Tensor& x) {
  nb::object array{array_of(x.dtype() == DType::bf16 ? x : x.detach())};
  array.attr("setflags")("write"_a = false);
  return array;
}

std::string text_of(const Tensor& x) {
  std::ostringstream text;
  text << x;
  return text.str();
}

const Tensor& value_of(nb::handle x) {
  return nb::isinstance<Tensor>(x) ? nb::cast<const Tensor&>(x) : nb::cast<const Parameter&>(x).value();
}

// Adds the members that tensors and parameters have in common.
template <class Class>
void add_members(Class& type) {
  type.def_prop_ro("shape", [](nb::handle x) { return nb::tuple(nb::cast(value_of(x).shape())); });
  type.def_prop_ro("dtype", [](nb::handle x) { return std::string(dtype_name(value_of(x).dtype())); });
  type.def_prop_ro("ndim", [](nb::handle x) { return value_of(x).rank(); });
  type.def_prop_ro("size", [](nb::handle x) { return value_of(x).numel(); });
  type.def(
      "numpy", [](nb::handle x) { return numpy_of(value_of(x)); },
      "The elements as a read-only numpy array. bf16 becomes float32.");
  type.def(
      "__array__",
      [](nb::handle x, nb::object dtype, nb::object copy) {
        nb::object array = numpy_of(value_of(x));
        if (!dtype.is_none()) return nb::object(array.attr("astype")(dtype));
        return copy.is(nb::bool_(true)) ? nb::object(array.attr("copy")()) : array;
      },
      "dtype"_a = nb::none(), "copy"_a = nb::none());
  type.attr("__array_ufunc__") = nb::none();  // so that numpy's operators call those of this class
  type.def(
      "item",
      [](nb::handle x) -> nb::object {
        const Tensor& value = value_of(x);
        if (value.dtype() == DType::i64 && value.numel() == 1) return nb::int_(value.to_vector<int64_t>()[0]);
        return nb::float_(value.item());
      },
      "The value of a tensor with one element.");
  type.def("__float__", [](nb::handle x) { return value_of(x).item(); });
  type.def("__int__", [](nb::handle x) { return nb::int_(x.attr("item")()); });
  type.def("__abs__", [](nb::handle x) { return abs(operand(x)); });
  type.def("__format__", [](nb::handle x, const nb::str& form) -> nb::object {
    const bool is_number = nb::len(form) > 0 && value_of(x).numel() == 1;
    return (is_number ? nb::object(x.attr("item")()) : nb::object(nb::str(x))).attr("__format__")(form);
  });
  type.def("__bool__", [](nb::handle x) {
    if (value_of(x).numel() != 1)
      throw nb::type_error(("a tensor of shape " + to_string(value_of(x).shape()) + " has no truth value").c_str());
    return value_of(x).item() != 0;
  });
  type.def("__len__", [](nb::handle x) {
    if (value_of(x).rank() == 0) throw nb::type_error("a tensor of shape () has no length");
    return value_of(x).size(0);
  });
  type.def(
      "__getitem__", [](nb::handle x, nb::handle key) { return indexed(operand(x), key); }, "key"_a.none());
  add_operator(type, "__add__", add, [](const Tensor& x, double c) { return x + c; });
  add_operator(
      type, "__radd__", [](const Tensor& a, const Tensor& b) { return b + a; },
      [](const Tensor& x, double c) { return c + x; });
  add_operator(type, "__sub__", sub, [](const Tensor& x, double c) { return x - c; });
  add_operator(
      type, "__rsub__", [](const Tensor& a, const Tensor& b) { return b - a; },
      [](const Tensor& x, double c) { return c - x; });
  add_operator(type, "__mul__", mul, [](const Tensor& x, double c) { return x * c; });
  add_operator(
      type, "__rmul__", [](const Tensor& a, const Tensor& b) { return b * a; },
      [](const Tensor& x, double c) { return c * x; });
  add_operator(type, "__truediv__", div, [](const Tensor& x, double c) { return x / c; });
  add_operator(
      type, "__rtruediv__", [](const Tensor& a, const Tensor& b) { return b / a; },
      [](const Tensor& x, double c) { return c / x; });
  add_operator(type, "__pow__", pow, pow);
  add_operator(type, "__lt__", less, less);
  add_operator(type, "__le__", less_equal, less_equal);
  add_operator(type, "__gt__", greater, greater);
  add_operator(type, "__ge__", greater_equal, greater_equal);
  add_operator(type, "__eq__", equal, equal);
  add_operator(type, "__ne__", not_equal, not_equal);
  type.attr("__hash__") = nb::handle(reinterpret_cast<PyObject*>(&PyBaseObject_Type)).attr("__hash__");  // identity
  add_operator(
      type, "__rpow__", [](const Tensor& a, const Tensor& b) { return pow(b, a); },
      [](const Tensor& x, double c) { return pow(Tensor::scalar(c, x.dtype()), x); });
  type.def(
      "__matmul__", [](nb::handle a, nb::handle b) { return of_tensors(a, b, matmul); }, nb::is_operator());
  type.def(
      "__rmatmul__",
      [](nb::handle b, nb::handle a) {
        return of_tensors(b, a, [](const Tensor& y, const Tensor& x) { return matmul(x, y); });
      },
      nb::is_operator());
  type.def("__neg__", [](nb::handle x) { return neg(operand(x)); });
}

}  // namespace

void add_tensors(nb::module_& module) {
  nb::class_<Tensor> tensor(module, "Tensor");
  tensor.def(
      "__init__", [](Tensor* self, nb::handle x) { new (self) Tensor(operand(x)); }, "array"_a);
  tensor.def("__repr__", [](const Tensor& x) { return "weft.Tensor(" + text_of(x) + ")"; });
  tensor.def("__reduce__", [](const Tensor& x) {  // numpy has no bf16
    const Tensor values = x.dtype() == DType::bf16 ? raw::convert(x, DType::f32) : raw::contiguous(x.detach());
    return nb::make_tuple(nb::module_::import_("weft").attr("tensor"),
                          nb::make_tuple(array_of(values), dtype_name(x.dtype())));
  });
  tensor.def("detach", &Tensor::detach, "A tensor with the same elements that is not recorded on any tape.");
  add_members(tensor);

  nb::class_<Parameter> parameter(module, "Parameter");
  parameter.def(
      "__init__",
      [](Parameter* self, nb::handle x, bool trainable) { new (self) Parameter(copy_of(operand(x)), trainable); },
      "array"_a, "trainable"_a = true);
  parameter.def("__repr__", [](const Parameter& p) { return "weft.Parameter(" + text_of(p.value()) + ")"; });
  parameter.def_prop_rw("trainable", &Parameter::trainable, &Parameter::set_trainable);
  parameter.def(
      "assign", [](Parameter& p, nb::handle x) { p.assign(operand(x)); }, "array"_a,
      "Replaces the elements with those of an array of the same shape and dtype.");
  parameter.def("__reduce__", [](nb::handle self) {
    const Tensor value = nb::cast<const Parameter&>(self).value().detach();
    return nb::make_tuple(self.type(), nb::make_tuple(value, self.attr("trainable")));
  });
  add_members(parameter);
}

}  // namespace weft::python
