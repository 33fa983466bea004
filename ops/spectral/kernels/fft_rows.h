// Rows of a work buffer and of memory, with the interface through which passes read and write them.
#pragma once
#include <utility>

#include "simd/memory.h"
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

// Sources and targets of passes return cursors. The cursor at(row, stride) reads or writes the rows row + q · stride
// for constant q, and next() advances it by one row.
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
inline void stream_complex(T* p, ComplexVec<T> v) noexcept {
  simd::stream(p, simd::zip_lo<T>(v.re, v.im));
  simd::stream(p + simd::lanes<T>, simd::zip_hi<T>(v.re, v.im));
}
template <class T>
inline ComplexVec<T> scaled(ComplexVec<T> v, simd::Vec<T> factor) noexcept {
  return {v.re * factor, v.im * factor};
}

// Source: complex elements of neighboring columns.
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

// Target: complex elements of neighboring columns. If Streamed, the stores bypass the caches.
template <bool Streamed, class T>
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
      T* to = j == 0 ? first : p + j * apart;
      if constexpr (Streamed) stream_complex(to, scaled(v, simd::Vec<T>(factor)));
      else store_complex(to, scaled(v, simd::Vec<T>(factor)));
    }
  };
  Cursor at(std::int64_t bin, std::int64_t stride) const noexcept {
    T* p = data + (inverse ? n - bin : bin) * step;
    return {bin == 0 ? data : p, p, (inverse ? -stride : stride) * step, factor};
  }
};

// A source or target of passes that also prefetches. With each row it prefetches `Bytes` bytes of the same row of other
// columns, which are written (Write) or read later. If the rows of a tile are far apart in memory, the pass would
// otherwise wait for each row, because no hardware prefetcher finds them.
// bench: weft-bench --benchmark_filter='c2c-columns|toeplitz-cached'
template <bool Write, int Bytes, class Rows>
struct Fetching {
  Rows rows;
  std::uintptr_t other;
  std::int64_t step;  // in bytes

  struct Cursor {
    decltype(std::declval<const Rows&>().at(0, 0)) at;
    std::uintptr_t other;
    std::int64_t row, apart;

    WEFT_INLINE void fetch(int q) const noexcept {
      simd::fetch<Bytes, Write>(other + static_cast<std::uintptr_t>(q * apart));
    }
    auto load(int q) const noexcept {
      fetch(q);
      return at.load(q);
    }
    template <class V>
    void store(int q, V v) const noexcept {
      fetch(q);
      at.store(q, v);
    }
    void next() noexcept {
      at.next();
      other += static_cast<std::uintptr_t>(row);
    }
  };
  Cursor at(std::int64_t row, std::int64_t stride) const noexcept {
    return {rows.at(row, stride), other + static_cast<std::uintptr_t>(row * step), step, stride * step};
  }
};

// Adds prefetching to `rows`: of `Numbers` numbers in each row of the columns that start at `first`.
template <bool Write, int Numbers, class Rows, class T>
Fetching<Write, Numbers* static_cast<int>(sizeof(T)), Rows> fetching(Rows rows, const T* first,
                                                                     std::int64_t step) noexcept {
  return {rows, reinterpret_cast<std::uintptr_t>(first), step * static_cast<std::int64_t>(sizeof(T))};
}

}  // namespace weft::detail::WEFT_ISA
