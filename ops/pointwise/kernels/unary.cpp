#include "pointwise/kernels/unary.h"

#include "simd/math.h"
#include "simd/power.h"
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
struct Log1p {
  template <class V>
  V operator()(V x) const noexcept {
    return math::log1p(x);
  }
};
struct Softplus {
  template <class V>
  V operator()(V x) const noexcept {
    return math::softplus(x);
  }
};
struct Rsqrt {
  template <class V>
  V operator()(V x) const noexcept {
    return simd::quotient(V(1), simd::square_root(x));
  }
};
struct Reciprocal {
  template <class V>
  V operator()(V x) const noexcept {
    return simd::quotient(V(1), x);
  }
};
struct Abs {
  template <class V>
  V operator()(V x) const noexcept {
    return simd::abs(x);
  }
};
struct Sign {  // 0 for NaN, because comparisons with NaN are false
  template <class V>
  V operator()(V x) const noexcept {
    return simd::select(x > V(0), V(1), simd::select(x < V(0), V(-1), V(0)));
  }
};
struct Sin {
  template <class V>
  V operator()(V x) const noexcept {
    return math::sin(x);
  }
};
struct Cos {
  template <class V>
  V operator()(V x) const noexcept {
    return math::cos(x);
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
struct Expm1Backward {
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return math::exp(x) * dy;
  }
};
struct Log1pBackward {
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return simd::quotient(dy, V(1) + x);
  }
};
struct SoftplusBackward {
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return math::sigmoid(x) * dy;
  }
};
struct ErfBackward {  // 2/√π e^(-x²) dy
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return V(1.12837916709551257390) * math::exp(-x * x) * dy;
  }
};
struct RsqrtBackward {  // -½ dy / (x √x)
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return simd::quotient(simd::quotient(V(-0.5) * dy, x), simd::square_root(x));
  }
};
struct ReciprocalBackward {  // -dy / x², without x², which may overflow or underflow before the result does
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return simd::quotient(simd::quotient(-dy, x), x);
  }
};
struct AbsBackward {
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return Sign{}(x)*dy;
  }
};
struct SinBackward {
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return math::cos(x) * dy;
  }
};
struct CosBackward {
  template <class V>
  V operator()(V x, V dy) const noexcept {
    return -math::sin(x) * dy;
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
          .log1p = forward<T, Log1p>,
          .tanh = forward<T, Tanh>,
          .sigmoid = forward<T, Sigmoid>,
          .softplus = forward<T, Softplus>,
          .erf = forward<T, Erf>,
          .sqrt = forward<T, Sqrt>,
          .rsqrt = forward<T, Rsqrt>,
          .reciprocal = forward<T, Reciprocal>,
          .square = forward<T, Square>,
          .abs = forward<T, Abs>,
          .sign = forward<T, Sign>,
          .sin = forward<T, Sin>,
          .cos = forward<T, Cos>,
          .sqrt_backward = backward<T, SqrtBackward>,
          .square_backward = backward<T, SquareBackward>,
          .expm1_backward = backward<T, Expm1Backward>,
          .log1p_backward = backward<T, Log1pBackward>,
          .softplus_backward = backward<T, SoftplusBackward>,
          .erf_backward = backward<T, ErfBackward>,
          .rsqrt_backward = backward<T, RsqrtBackward>,
          .reciprocal_backward = backward<T, ReciprocalBackward>,
          .abs_backward = backward<T, AbsBackward>,
          .sin_backward = backward<T, SinBackward>,
          .cos_backward = backward<T, CosBackward>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(UnaryKernels)
