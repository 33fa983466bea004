#include "pointwise/kernels/unary.h"

#include "simd/math.h"
#include "simd/simd.h"

namespace weft::detail::WEFT_ISA {
namespace {

struct Exp {
  template <class V>
  V operator()(V x) const noexcept {
    return math::exp(x);
  }
};
struct Expm1 {
  template <class V>
  V operator()(V x) const noexcept {
    return math::expm1(x);
  }
};
struct Log {
  template <class V>
  V operator()(V x) const noexcept {
    return math::log(x);
  }
};
struct Tanh {
  template <class V>
  V operator()(V x) const noexcept {
    return math::tanh(x);
  }
};
struct Sigmoid {
  template <class V>
  V operator()(V x) const noexcept {
    return math::sigmoid(x);
  }
};
struct Erf {
  template <class V>
  V operator()(V x) const noexcept {
    return math::erf(x);
  }
};
struct Sqrt {
  template <class V>
  V operator()(V x) const noexcept {
    return simd::square_root(x);
  }
};
struct Square {
  template <class V>
  V operator()(V x) const noexcept {
    return x * x;
  }
};
struct SqrtBackward {
  template <class V>
  V operator()(V y, V dy) const noexcept {
    return simd::quotient(V(0.5) * dy, y);
  }
};
struct SquareBackward {
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return V(2) * x * dy;
  }
};

template <class T, class F>
void forward(const T* x, T* y, std::int64_t n) noexcept {
  simd::map(F{}, y, n, x);
}

template <class T, class F>
void backward(const T* kept, const T* dy, T* dx, std::int64_t n) noexcept {
  simd::map(F{}, dx, n, kept, dy);
}

template <class T>
constexpr UnaryKernels<T> table() {
  return {.exp = forward<T, Exp>,
          .expm1 = forward<T, Expm1>,
          .log = forward<T, Log>,
          .tanh = forward<T, Tanh>,
          .sigmoid = forward<T, Sigmoid>,
          .erf = forward<T, Erf>,
          .sqrt = forward<T, Sqrt>,
          .square = forward<T, Square>,
          .sqrt_backward = backward<T, SqrtBackward>,
          .square_backward = backward<T, SquareBackward>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(UnaryKernels)
