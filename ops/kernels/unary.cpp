#include "unary.h"

#include "family.h"
#include "math.h"
#include "simd.h"

namespace weft::WEFT_ISA {
namespace {

struct Exp { template <class V> V operator()(V x) const noexcept { return math::exp(x); } };
struct Expm1 { template <class V> V operator()(V x) const noexcept { return math::expm1(x); } };
struct Log { template <class V> V operator()(V x) const noexcept { return math::log(x); } };
struct Tanh { template <class V> V operator()(V x) const noexcept { return math::tanh(x); } };
struct Sigmoid { template <class V> V operator()(V x) const noexcept { return math::sigmoid(x); } };
struct Erf { template <class V> V operator()(V x) const noexcept { return math::erf(x); } };
struct Sqrt { template <class V> V operator()(V x) const noexcept { return xsimd::sqrt(x); } };
struct Square { template <class V> V operator()(V x) const noexcept { return x * x; } };
struct SqrtBackward { template <class V> V operator()(V y, V dy) const noexcept { return V(0.5) * dy / y; } };
struct SquareBackward { template <class V> V operator()(V x, V dy) const noexcept { return V(2) * x * dy; } };

template <class T, class F>
void forward(const T* x, T* y, std::int64_t n) noexcept { simd::map(F{}, y, n, x); }

template <class T, class F>
void backward(const T* kept, const T* dy, T* dx, std::int64_t n) noexcept { simd::map(F{}, dx, n, kept, dy); }

template <class T>
constexpr UnaryKernels<T> table() {
  return {forward<T, Exp>,  forward<T, Expm1>, forward<T, Log>,    forward<T, Tanh>,           forward<T, Sigmoid>,
          forward<T, Erf>,  forward<T, Sqrt>,  forward<T, Square>, backward<T, SqrtBackward>,
          backward<T, SquareBackward>};
}

}  // namespace

extern const KernelFamily<UnaryKernels> unary;
constexpr KernelFamily<UnaryKernels> unary = {table<float>(), table<double>()};

}  // namespace weft::WEFT_ISA
