// The four strided loops every tensor needs: fill, copy, convert, add.
#include <algorithm>
#include <complex>

#include "weft/context.h"
#include "weft/tensor.h"

namespace weft::raw {
namespace {

constexpr std::int64_t grain = 1 << 15;  // elements a task

// Calls f with a null pointer of the dtype's element type.
template <class F>
void with_type(DType dtype, F f) {
  switch (dtype) {
    case DType::f32: return f(static_cast<float*>(nullptr));
    case DType::f64: return f(static_cast<double*>(nullptr));
    case DType::c64: return f(static_cast<std::complex<float>*>(nullptr));
    case DType::c128: return f(static_cast<std::complex<double>*>(nullptr));
    case DType::i64: return f(static_cast<std::int64_t*>(nullptr));
  }
}

// Two operands' common loop nest: axes of size 1 dropped, neighbours merged where both allow it.
struct Loops {
  Shape shape;
  Strides x, y;
};

Loops merge(const Shape& shape, const Strides& x, const Strides& y) {
  Loops loops;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 1) continue;
    if (!loops.shape.empty() && loops.x.back() == x[i] * shape[i] && loops.y.back() == y[i] * shape[i]) {
      loops.shape.back() *= shape[i];
      loops.x.back() = x[i];
      loops.y.back() = y[i];
    } else {
      loops.shape.push_back(shape[i]);
      loops.x.push_back(x[i]);
      loops.y.push_back(y[i]);
    }
  }
  if (loops.shape.empty()) loops = {{1}, {1}, {1}};
  return loops;
}

// Calls row(x + …, y + …, n, stride of x, stride of y) for each innermost row, or piece of one.
template <class X, class Y, class Row>
void for_rows(const Loops& loops, const X* x, Y* y, Row row) {
  const std::size_t last = loops.shape.size() - 1;
  const std::int64_t n = loops.shape[last];
  std::int64_t rows = 1;
  for (std::size_t i = 0; i < last; ++i) rows *= loops.shape[i];
  const std::int64_t piece = std::min(n, grain), pieces = (n - 1) / piece + 1;
  Context::current().parallel_for(rows * pieces, std::max<std::int64_t>(1, grain / piece), [&](auto begin, auto end) {
    for (std::int64_t task = begin; task < end; ++task) {
      std::int64_t rest = task / pieces, x_offset = 0, y_offset = 0;
      for (std::size_t i = last; i-- > 0;) {
        const std::int64_t index = rest % loops.shape[i];
        rest /= loops.shape[i];
        x_offset += index * loops.x[i];
        y_offset += index * loops.y[i];
      }
      const std::int64_t first = task % pieces * piece;
      row(x + x_offset + first * loops.x[last], y + y_offset + first * loops.y[last], std::min(piece, n - first),
          loops.x[last], loops.y[last]);
    }
  });
}

template <class X, class Y, class Combine>
void strided(const Tensor& x, Tensor& y, Combine combine) {
  if (y.numel() == 0) return;
  const X* from = static_cast<const X*>(x.raw());
  Y* to = static_cast<Y*>(y.mutable_raw());
  for_rows(merge(y.shape(), x.strides(), y.strides()), from, to,
           [&](const X* a, Y* b, std::int64_t n, std::int64_t sa, std::int64_t sb) {
             if (sa == 1 && sb == 1)
               for (std::int64_t i = 0; i < n; ++i) combine(a[i], b[i]);
             else
               for (std::int64_t i = 0; i < n; ++i) combine(a[i * sa], b[i * sb]);
           });
}

void check_same(const char* op, const Tensor& x, const Tensor& y) {
  if (x.shape() != y.shape() || x.dtype() != y.dtype())
    throw Error(std::string("[") + op + "] expected " + dtype_name(y.dtype()) + " " + to_string(y.shape()) + ", got " +
                dtype_name(x.dtype()) + " " + to_string(x.shape()));
}

}  // namespace

void fill(Tensor& y, double value) {
  with_type(y.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    const T v = static_cast<T>(value);
    strided<T, T>(y, y, [v](const T&, T& b) { b = v; });
  });
}

void copy(const Tensor& x, Tensor& y) {
  check_same("copy", x, y);
  with_type(y.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    strided<T, T>(x, y, [](const T& a, T& b) { b = a; });
  });
}

void accumulate(Tensor& y, const Tensor& x) {
  check_same("accumulate", x, y);
  with_type(y.dtype(), [&](auto* type) {
    using T = std::remove_pointer_t<decltype(type)>;
    strided<T, T>(x, y, [](const T& a, T& b) { b += a; });
  });
}

Tensor convert(const Tensor& x, DType dtype) {
  if (is_complex(x.dtype()) && !is_complex(dtype))
    throw Error(std::string("[convert] ") + dtype_name(x.dtype()) + " has no " + dtype_name(dtype) + " value");
  Tensor y = Tensor::empty(x.shape(), dtype);
  with_type(x.dtype(), [&](auto* from) {
    with_type(dtype, [&](auto* to) {
      using X = std::remove_pointer_t<decltype(from)>;
      using Y = std::remove_pointer_t<decltype(to)>;
      if constexpr (std::is_arithmetic_v<X> || !std::is_arithmetic_v<Y>)
        strided<X, Y>(x, y, [](const X& a, Y& b) {
          if constexpr (std::is_arithmetic_v<X> && !std::is_arithmetic_v<Y>)
            b = static_cast<typename Y::value_type>(a);
          else
            b = static_cast<Y>(a);
        });
    });
  });
  return y;
}

Tensor contiguous(const Tensor& x) {
  if (x.is_contiguous()) return x;
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  copy(x, y);
  return y;
}

}  // namespace weft::raw
