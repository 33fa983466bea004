#include "pointwise/kernels/optimizer.h"

#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;

template <class T>
void adam(const AdamUpdate<T>& update, T* p, const T* grad, T* m, T* v, std::int64_t n) noexcept {
  const AdamUpdate<T> u = update;
  simd::for_vectors<T>(n, [=](auto at) noexcept {
    const Vec<T> value = at.load(p);
    const Vec<T> g = simd::fma(Vec<T>(u.l2), value, Vec<T>(u.grad_scale) * at.load(grad));
    const Vec<T> mean = simd::fma(Vec<T>(u.beta1), at.load(m), Vec<T>(u.one_minus_beta1) * g);
    const Vec<T> square = simd::fma(Vec<T>(u.beta2), at.load(v), Vec<T>(u.one_minus_beta2) * g * g);
    const Vec<T> root = simd::fma(simd::square_root(square), Vec<T>(u.inverse_root), Vec<T>(u.eps));
    at.store(m, mean);
    at.store(v, square);
    at.store(p, simd::fnma(Vec<T>(u.step), simd::quotient(mean, root), value * Vec<T>(u.decay)));
  });
}

template <class T>
void sgd(const SgdUpdate<T>& update, T* p, const T* grad, T* buf, std::int64_t n) noexcept {
  const SgdUpdate<T> u = update;
  simd::for_vectors<T>(n, [=](auto at) noexcept {
    const Vec<T> value = at.load(p);
    Vec<T> g = simd::fma(Vec<T>(u.l2), value, Vec<T>(u.grad_scale) * at.load(grad));
    if (!u.first) g = simd::fma(Vec<T>(u.momentum), at.load(buf), g);
    at.store(buf, g);
    at.store(p, simd::fnma(Vec<T>(u.lr), g, value));
  });
}

template <class T>
constexpr OptimizerKernels<T> table() {
  return {.adam = adam<T>, .sgd = sgd<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(OptimizerKernels)
