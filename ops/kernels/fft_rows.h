// Rows of a work buffer and of memory, as the passes read and write them.
#pragma once
#include "fft.h"
#include "fft_butterfly.h"
#include "simd.h"

namespace weft::WEFT_ISA {

template <class T> inline constexpr std::int64_t row_size = 2 * simd::lanes<T>;

template <class T>
inline ComplexVec<T> exchanged(ComplexVec<T> v) noexcept { return {v.im, v.re}; }

template <class T>
inline ComplexVec<T> load_row(const T* work, std::int64_t k) noexcept {
  return {simd::load(work + k * row_size<T>), simd::load(work + k * row_size<T> + simd::lanes<T>)};
}

template <class T>
struct WorkRows {
  T* work;

  ComplexVec<T> load(std::int64_t k) const noexcept { return load_row<T>(work, k); }
  void store(std::int64_t k, ComplexVec<T> v) const noexcept {
    simd::store(work + k * row_size<T>, v.re);
    simd::store(work + k * row_size<T> + simd::lanes<T>, v.im);
  }
};

// Complex elements of neighbouring columns.
template <class T>
struct ComplexRows {
  const T* data;
  std::int64_t step;

  ComplexVec<T> load(std::int64_t k) const noexcept {
    const simd::Vec<T> a = simd::load(data + k * step), b = simd::load(data + k * step + simd::lanes<T>);
    return {simd::even<T>(a, b), simd::odd<T>(a, b)};
  }
};

// Bins to complex elements of neighbouring columns.
template <class T>
struct ComplexBins {
  T* data;
  std::int64_t step, n;
  bool inverse;
  T factor;

  void store(std::int64_t bin, ComplexVec<T> v) const noexcept {
    T* to = data + (inverse && bin > 0 ? n - bin : bin) * step;
    const simd::Vec<T> f(factor), re = v.re * f, im = v.im * f;
    simd::store(to, simd::zip_lo<T>(re, im));
    simd::store(to + simd::lanes<T>, simd::zip_hi<T>(re, im));
  }
};

}  // namespace weft::WEFT_ISA
