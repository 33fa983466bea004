// The basic loops over tensors with any strides: fill, copy, convert and accumulate.
#include <cmath>
#include <complex>
#include <cstring>
#include <optional>
#include <type_traits>

#include "weft/detail/nest.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/tensor_text.h"

namespace weft::raw {

using detail::guard_memory;
using detail::Nest;

namespace {

// Elements per task. Larger: threads may be idle. Smaller: more overhead per task. bench: bench/steps/step_compare
constexpr std::int64_t grain = 1 << 15;

// Calls f with a null pointer of the dtype's element type.
template <class F>
void with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::f32: return f(static_cast<float*>(nullptr));
    case DType::f64: return f(static_cast<double*>(nullptr));
    case DType::c64: return f(static_cast<std::complex<float>*>(nullptr));
    case DType::c128: return f(static_cast<std::complex<double>*>(nullptr));
    case DType::i64: return f(static_cast<std::int64_t*>(nullptr));
    case DType::bf16: return f(static_cast<bfloat16*>(nullptr));
    case DType::i8: return f(static_cast<std::int8_t*>(nullptr));
  }
}

// Converts an element to the type for computations: bfloat16 to float. Other types are unchanged.
template <class T>
T computed(const T& x) {
  return x;
}
inline float computed(bfloat16 x) { return static_cast<float>(x); }

template <class T>
constexpr bool is_complex_type = false;
template <class R>
constexpr bool is_complex_type<std::complex<R>> = true;

// The type that copies use for the elements. Compilers vectorize loops over numbers, but not over structs.
template <class T>
using Moved = std::conditional_t<std::is_same_v<T, bfloat16>, std::uint16_t, T>;

template <class X, class Y, class Combine>
void strided(const Tensor& x, Tensor& y, Combine combine) {
  if (y.numel() == 0) return;
  const X* from = static_cast<const X*>(x.raw());
  Y* to = static_cast<Y*>(y.mutable_raw());
  const Nest<2> nest(y.shape(), {&x.strides(), &y.strides()});
  const auto [sx, sy] = nest.strides.back();
  nest.for_rows(grain, [&, sx = sx, sy = sy](const auto& at, std::int64_t n) {
    const X* a = from + at[0];
    Y* b = to + at[1];
    if (sx == 1 && sy == 1)
      for (std::int64_t i = 0; i < n; ++i) combine(a[i], b[i]);
    else
      for (std::int64_t i = 0; i < n; ++i) combine(a[i * sx], b[i * sy]);
  });
}

// The axes of a transposed copy: elements are neighbors in x along one axis, and in y along the other.
struct Transposed {
  std::size_t x_axis, y_axis;
};

std::optional<Transposed> transposed(const Nest<2>& nest) {
  std::optional<std::size_t> x_axis, y_axis;
  for (std::size_t i = 0; i < nest.shape.size(); ++i) {
    if (nest.strides[i][0] == 1) x_axis = i;
    if (nest.strides[i][1] == 1) y_axis = i;
  }
  if (!x_axis || !y_axis || *x_axis == *y_axis) return {};
  return Transposed{*x_axis, *y_axis};
}

// Copies in square tiles that stay in cache. If x is transposed, a copy along rows of y would fetch a new cache line of
// x for each element.
template <class T>
void copy_tiles(const Nest<2>& nest, Transposed axes, const T* x, T* y) {
  // The number of rows and of columns of a tile. Larger: the rows of a tile no longer stay in L1. Smaller: a row of f32
  // numbers fills less than a cache line. bench: bench/steps/step_compare
  constexpr std::int64_t tile = 16;
  const std::int64_t rows = nest.shape[axes.x_axis], columns = nest.shape[axes.y_axis];
  const std::int64_t x_step = nest.strides[axes.y_axis][0], y_step = nest.strides[axes.x_axis][1];
  Shape tiles = nest.shape;
  tiles[axes.x_axis] = (rows - 1) / tile + 1;
  tiles[axes.y_axis] = (columns - 1) / tile + 1;
  Context::current().parallel_for(numel(tiles), grain / (tile * tile), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const T* from = x;
      T* to = y;
      std::int64_t rest = task, row = 0, column = 0;
      for (std::size_t i = tiles.size(); i-- > 0;) {
        std::int64_t index = rest % tiles[i];
        rest /= tiles[i];
        if (i == axes.x_axis) row = index *= tile;
        if (i == axes.y_axis) column = index *= tile;
        from += index * nest.strides[i][0];
        to += index * nest.strides[i][1];
      }
      const std::int64_t height = std::min(tile, rows - row), width = std::min(tile, columns - column);
      for (std::int64_t i = 0; i < height; ++i)
        for (std::int64_t j = 0; j < width; ++j) to[i * y_step + j] = from[i + j * x_step];
    }
  });
}

void check_same(const char* op, const Tensor& x, const Tensor& y) {
  if (!x.defined() || !y.defined())
    throw Error(std::string("[") + op + "] expected defined tensors, got an undefined one");
  if (x.shape() != y.shape() || x.dtype() != y.dtype())
    throw Error(std::string("[") + op + "] expected " + detail::tensor_text(y) + ", got " + detail::tensor_text(x));
}

}  // namespace

void fill(Tensor& y, double value) {
  guard_memory("fill", [&] {
    const bool fits = y.dtype() == DType::i8 ? value >= -128 && value <= 127 : std::abs(value) < 0x1p63;
    if (is_integer(y.dtype()) && !fits)
      throw Error(std::string("[fill] expected a number that ") + dtype_name(y.dtype()) + " can represent, got " +
                  std::to_string(value));
    with_type(y.dtype(), [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      const T v = static_cast<T>(value);
      Moved<T> moved;
      std::memcpy(&moved, &v, sizeof v);
      strided<Moved<T>, Moved<T>>(y, y, [moved](const auto&, auto& b) { b = moved; });
    });
  });
}

void copy(const Tensor& x, Tensor& y) {
  guard_memory("copy", [&] {
    check_same("copy", x, y);
    with_type(y.dtype(), [&](auto* type) {
      using T = Moved<std::remove_pointer_t<decltype(type)>>;
      const Nest<2> nest(y.shape(), {&x.strides(), &y.strides()});
      const auto axes = transposed(nest);
      if (axes && y.numel() > 0)
        copy_tiles(nest, *axes, static_cast<const T*>(x.raw()), static_cast<T*>(y.mutable_raw()));
      else strided<T, T>(x, y, [](const T& a, T& b) { b = a; });
    });
  });
}

void accumulate(Tensor& y, const Tensor& x) {
  guard_memory("accumulate", [&] {
    check_same("accumulate", x, y);
    if (y.dtype() == DType::i8) throw Error("[accumulate] i8 is only for storage; computing in it is not supported");
    with_type(y.dtype(), [&](auto* type) {
      using T = std::remove_pointer_t<decltype(type)>;
      strided<T, T>(x, y, [](const T& a, T& b) { b = static_cast<T>(computed(b) + computed(a)); });
    });
  });
}

Tensor convert(const Tensor& x, DType dtype) {
  return guard_memory("convert", [&] {
    if (!x.defined()) throw Error("[convert] the tensor is undefined");
    const bool narrows = dtype == DType::i8 ? x.dtype() != DType::i8 : dtype == DType::i64 && !is_integer(x.dtype());
    if ((is_complex(x.dtype()) && !is_complex(dtype)) || narrows)
      throw Error(std::string("[convert] ") + dtype_name(x.dtype()) + " can't be converted to " + dtype_name(dtype));
    Tensor y = Tensor::empty(x.shape(), dtype);
    with_type(x.dtype(), [&](auto* from) {
      with_type(dtype, [&](auto* to) {
        using X = std::remove_pointer_t<decltype(from)>;
        using Y = std::remove_pointer_t<decltype(to)>;
        if constexpr (is_complex_type<Y> && !is_complex_type<X>)
          strided<X, Y>(x, y, [](const X& a, Y& b) { b = static_cast<typename Y::value_type>(computed(a)); });
        else if constexpr (is_complex_type<Y> || !is_complex_type<X>)
          strided<X, Y>(x, y, [](const X& a, Y& b) { b = static_cast<Y>(computed(a)); });
      });
    });
    return y;
  });
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  copy(x, y);
  return y;
}

}  // namespace weft::raw
