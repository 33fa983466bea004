#include "spectral/kernels/lagged_products.h"

#include "simd/simd.h"
#include "simd/unroll.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

// Adds the products of V vectors of channels, whose sums stay in registers.
template <class T, int V>
void add_vectors(int64_t count, int64_t row, const T* t, const T* v, T* y) noexcept {
  constexpr int64_t lanes = simd::lanes<T>;
  Vec<T> sums[V];
  repeat<V>([&](auto s) WEFT_INLINE { sums[s.value] = simd::load(y + s.value * lanes); });
  for (int64_t k = 0; k < count; ++k)
    repeat<V>([&](auto s) WEFT_INLINE {
      const T *from = t - k * row + s.value * lanes, *by = v + k * row + s.value * lanes;
      sums[s.value] = simd::fma(simd::load(from), simd::load(by), sums[s.value]);
    });
  repeat<V>([&](auto s) WEFT_INLINE { simd::store(y + s.value * lanes, sums[s.value]); });
}

template <class T>
void add(int64_t count, int64_t channels, const T* t, const T* v, T* y) noexcept {
  constexpr int64_t lanes = simd::lanes<T>, vectors = 8;
  int64_t c = 0;
  for (; c + vectors * lanes <= channels; c += vectors * lanes)
    add_vectors<T, vectors>(count, channels, t + c, v + c, y + c);
  for (; c + lanes <= channels; c += lanes) add_vectors<T, 1>(count, channels, t + c, v + c, y + c);
  const int64_t rest = channels - c;
  if (rest == 0) return;
  Vec<T> sum = simd::load_n(y + c, rest);
  for (int64_t k = 0; k < count; ++k)
    sum = simd::fma(simd::load_n(t + c - k * channels, rest), simd::load_n(v + c + k * channels, rest), sum);
  simd::store_n(y + c, sum, rest);
}

template <class T>
constexpr LaggedProductsKernels<T> table() {
  return {.add = add<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(LaggedProductsKernels)
