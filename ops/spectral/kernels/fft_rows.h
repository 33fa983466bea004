// Rows of a work buffer and of memory, as the passes read and write them.
#pragma once
#include "simd/simd.h"
#include "spectral/kernels/fft.h"
#include "spectral/kernels/fft_butterfly.h"

namespace weft::detail::WEFT_ISA {

template <class T>
inline constexpr std::int64_t row_size = 2 * simd::lanes<T>;

template <class T>
inline ComplexVec<T> exchanged(ComplexVec<T> v) noexcept {
  return {v.im, v.re};
}

template <class T>
inline ComplexVec<T> load_row(const T* work, std::int64_t k) noexcept {
  return {simd::load(work + k * row_size<T>), simd::load(work + k * row_size<T> + simd::lanes<T>)};
}

// Sources and targets of passes give cursors: at(row, stride) reads or writes rows row + q · stride, for a constant q, and
// next() moves on by a row.
template <class T>
struct WorkRows {
  T* work;

  ComplexVec<T> load(std::int64_t k) const noexcept { return load_row<T>(work, k); }
  void store(std::int64_t k, ComplexVec<T> v) const noexcept {
    simd::store(work + k * row_size<T>, v.re);
    simd::store(work + k * row_size<T> + simd::lanes<T>, v.im);
  }

  struct Cursor {
    T* p;
    std::int64_t step;

    ComplexVec<T> load(int q) const noexcept { return load_row<T>(p + q * step, 0); }
    void store(int q, ComplexVec<T> v) const noexcept { WorkRows{p + q * step}.store(0, v); }
    void next() noexcept { p += row_size<T>; }
  };
  Cursor at(std::int64_t row, std::int64_t stride) const noexcept {
    return {work + row * row_size<T>, stride * row_size<T>};
  }
};

template <class T>
inline ComplexVec<T> load_complex(const T* p) noexcept {
  const simd::Vec<T> a = simd::load(p), b = simd::load(p + simd::lanes<T>);
  return {simd::even<T>(a, b), simd::odd<T>(a, b)};
}
template <class T>
inline void store_complex(T* p, ComplexVec<T> v) noexcept {
  simd::store(p, simd::zip_lo<T>(v.re, v.im));
  simd::store(p + simd::lanes<T>, simd::zip_hi<T>(v.re, v.im));
}
template <class T>
inline ComplexVec<T> scaled(ComplexVec<T> v, simd::Vec<T> factor) noexcept {
  return {v.re * factor, v.im * factor};
}

// Complex elements of neighbouring columns.
template <class T>
struct ComplexRows {
  const T* data;
  std::int64_t step;

  struct Cursor {
    const T* p;
    std::int64_t row, apart;

    ComplexVec<T> load(int q) const noexcept { return load_complex(p + q * apart); }
    void next() noexcept { p += row; }
  };
  Cursor at(std::int64_t row, std::int64_t stride) const noexcept { return {data + row * step, step, stride * step}; }
};

// Bins to complex elements of neighbouring columns.
template <class T>
struct ComplexBins {
  T* data;
  std::int64_t step, n;
  bool inverse;
  T factor;

  struct Cursor {
    T *first, *p;
    std::int64_t apart;
    T factor;

    void store(int j, ComplexVec<T> v) const noexcept {
      store_complex(j == 0 ? first : p + j * apart, scaled(v, simd::Vec<T>(factor)));
    }
  };
  Cursor at(std::int64_t bin, std::int64_t stride) const noexcept {
    T* p = data + (inverse ? n - bin : bin) * step;
    return {bin == 0 ? data : p, p, (inverse ? -stride : stride) * step, factor};
  }
};

}  // namespace weft::detail::WEFT_ISA
