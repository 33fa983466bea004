// Converts the arguments of a Python operation to those of a function of the library.
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

// The argument `axis`, as in numpy: None for all axes, an integer, or several integers.
struct Axes {
  std::vector<std::int64_t> all;
};

// A tensor, or None, which becomes an undefined tensor.
struct Optional {
  Tensor tensor;
};

// Converts a dtype. It is given by its name in weft or in numpy ("f32" or "float32"), or as a numpy dtype.
DType dtype_of(nanobind::handle dtype);

// Converts both tensors to one dtype. If both dtypes are real, this is the more precise dtype. If one is real and the
// other is an integer dtype, it is the real dtype.
std::pair<Tensor, Tensor> promoted(const Tensor& x, const Tensor& y);

// Argument<T>::of(x) converts x to an argument of type T. `Given` is the type of x, to which nanobind converts Python's
// object.
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
struct Argument<const Random*> {  // None: no random numbers, and therefore no dropout
  using Given = nanobind::handle;
  static const Random* of(nanobind::handle random);
};

// Returns a function for Python that converts its arguments, and then calls f without holding the interpreter's lock.
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
