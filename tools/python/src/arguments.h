// How the arguments of an operation of Python become those of a function of the library.
#pragma once
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <weft/ops.h>
#include <weft/random.h>

#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tensors.h"

namespace weft::python {

// numpy's axis: None for all axes, a whole number, or several.
struct Axes {
  std::vector<std::int64_t> all;
};

// A tensor, or None, which is an undefined one.
struct Optional {
  Tensor tensor;
};

// A dtype by weft's name or numpy's ("f32" or "float32"), or as a dtype of numpy.
DType dtype_of(nanobind::handle dtype);

// Both tensors in one dtype: the more precise one of two real dtypes, and the real one of a real one and integers.
std::pair<Tensor, Tensor> promoted(const Tensor& x, const Tensor& y);

// Argument<T>::of(x) is an argument of type T; Given is what nanobind makes of Python's object.
template <class T>
struct Argument {
  using Given = T;
  static T of(const T& x) { return x; }
};
template <>
struct Argument<Tensor> {
  using Given = nanobind::handle;
  static Tensor of(nanobind::handle x) { return operand(x); }
};
template <>
struct Argument<Optional> {
  using Given = nanobind::handle;
  static Optional of(nanobind::handle x) { return {x.is_none() ? Tensor() : operand(x)}; }
};
template <>
struct Argument<std::vector<Tensor>> {
  using Given = nanobind::handle;
  static std::vector<Tensor> of(nanobind::handle parts);
};
template <>
struct Argument<Axes> {
  using Given = nanobind::handle;
  static Axes of(nanobind::handle axis);
};
template <>
struct Argument<Reduction> {
  using Given = std::string;
  static Reduction of(const std::string& name);
};
template <>
struct Argument<DType> {
  using Given = nanobind::handle;
  static DType of(nanobind::handle dtype) { return dtype_of(dtype); }
};
template <>
struct Argument<const Random*> {  // None: no random numbers, and so no dropout
  using Given = nanobind::handle;
  static const Random* of(nanobind::handle random);
};

// f as a function of Python, which converts its arguments and calls f without the interpreter's lock.
template <class F, class R, class... A>
auto converting(F f, R (*)(A...)) {
  return [f](typename Argument<std::decay_t<A>>::Given... given) {
    const std::tuple<std::decay_t<A>...> arguments{Argument<std::decay_t<A>>::of(given)...};
    return unlocked([&] { return std::apply(f, arguments); });
  };
}
template <class R, class... A>
auto converting(R (*f)(A...)) {
  return converting(f, f);
}
template <class F>
auto converting(F f) {
  return converting(f, +f);  // a lambda without captures
}

}  // namespace weft::python
