#include "pointwise/kernels/gate.h"

#include "pointwise/kernels/activation_vectors.h"
#include "simd/rows.h"

namespace weft::detail::WEFT_ISA {
namespace {

template <class T>
void forward_vectors(Activation f, std::int64_t n, T* y, const T* gates, const T* x) noexcept {
  Computed<T> values[activation_stage];
  for_activation_stages(n, [&](std::int64_t first, std::int64_t m) noexcept {
    activation_values(f, m, values, x + first);
    for (std::int64_t i = 0; i < m; i += simd::lanes<T>)
      simd::store(y + first + i, simd::load(gates + first + i) * simd::load(values + i));
  });
}

// dgates and dx may each be null.
template <class T>
void backward_vectors(Activation f, std::int64_t n, T* dgates, T* dx, const T* gates, const T* x,
                      const T* dy) noexcept {
  Computed<T> values[activation_stage], slopes[activation_stage];
  for_activation_stages(n, [&](std::int64_t first, std::int64_t m) noexcept {
    if (dgates) activation_values(f, m, values, x + first);
    if (dx) activation_derivatives(f, m, slopes, x + first);
    for (std::int64_t i = first; i < first + m; i += simd::lanes<T>) {
      const simd::Vec<T> d = simd::load(dy + i);
      const simd::Vec<T> inner = dx ? d * simd::load(gates + i) * simd::load(slopes + i - first) : d;
      if (dgates) simd::store(dgates + i, d * simd::load(values + i - first));
      if (dx) simd::store(dx + i, inner);
    }
  });
}

template <class T>
void forward(Activation f, const T* gates, const T* x, T* y, std::int64_t n) noexcept {
  simd::in_whole_vectors<T, 1, 2>(n, {y}, {gates, x}, [f](std::int64_t m, T* const* to, const T* const* from) noexcept {
    forward_vectors(f, m, to[0], from[0], from[1]);
  });
}

template <class T>
void backward(Activation f, const T* gates, const T* x, const T* dy, T* dgates, T* dx, std::int64_t n) noexcept {
  simd::in_whole_vectors<T, 2, 3>(n, {dgates, dx}, {gates, x, dy},
                                  [f](std::int64_t m, T* const* to, const T* const* from) noexcept {
                                    backward_vectors(f, m, to[0], to[1], from[0], from[1], from[2]);
                                  });
}

template <class T>
constexpr GateKernels<T> table() {
  return {.forward = forward<T>, .backward = backward<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES_AND_BF16(GateKernels)
