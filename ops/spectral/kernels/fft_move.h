// Copies columns between memory and work buffers. Neighboring columns are copied as vectors, contiguous columns as
// transposed squares, and others element by element.
#pragma once
#include "spectral/kernels/fft_rows.h"

namespace weft::detail::WEFT_ISA {

// The row of element k: row[k], or k if `row` is null. For the inverse, elements 1 … n-1 are in reverse order.
struct RowOrder {
  const std::int32_t* row;
  std::int64_t n;
  bool inverse;

  std::int64_t operator()(std::int64_t k) const noexcept {
    const std::int64_t bin = inverse && k > 0 ? n - k : k;
    return row ? row[bin] : bin;
  }
};

template <class T>
bool are_neighbors(const FftColumns<T>& x, std::int64_t apart) noexcept {
  for (std::int64_t c = 1; c < x.count; ++c)
    if (x.offset[c] != x.offset[0] + apart * c) return false;
  return true;
}

// The number of elements of a column that are copied before the next column, so that their rows stay in L1. It applies
// to columns that are neither neighboring nor contiguous. No benchmark covers this case.
constexpr std::int64_t move_block = 16;

// Loads the first `size` numbers of a vector, size <= lanes. The others are 0.
template <class T>
inline simd::Vec<T> load_part(const T* p, std::int64_t size) noexcept {
  return size >= simd::lanes<T> ? simd::load(p) : size > 0 ? simd::load_n(p, size) : simd::Vec<T>(T(0));
}
template <class T>
inline void store_part(T* p, simd::Vec<T> v, std::int64_t size) noexcept {
  if (size >= simd::lanes<T>) simd::store(p, v);
  else if (size > 0) simd::store_n(p, v, size);
}

// Loads numbers `from` … from + size - 1 of each column as the vectors v[0] … v[size - 1], size <= lanes.
template <class T>
WEFT_INLINE inline void load_square(const FftColumns<const T>& x, std::int64_t from, std::int64_t size,
                                    simd::Vec<T>* v) noexcept {
  using namespace simd;
  constexpr int L = static_cast<int>(lanes<T>);
  if (size == L && x.count == L) {
    repeat<L>([&](auto c) WEFT_INLINE { v[c.value] = load(x.data + x.offset[c.value] + from); });
  } else {
    repeat<L>([&](auto c) WEFT_INLINE {
      v[c.value] = c.value < x.count ? load_part(x.data + x.offset[c.value] + from, size) : Vec<T>(T(0));
    });
  }
  transpose<T>(v);
}

template <class T>
WEFT_INLINE inline void store_square(const FftColumns<T>& y, std::int64_t from, std::int64_t size,
                                     simd::Vec<T>* v) noexcept {
  using namespace simd;
  constexpr int L = static_cast<int>(lanes<T>);
  transpose<T>(v);
  if (size == L && y.count == L) {
    repeat<L>([&](auto c) WEFT_INLINE { store(y.data + y.offset[c.value] + from, v[c.value]); });
  } else {
    repeat<L>([&](auto c) WEFT_INLINE {
      if (c.value < y.count) store_part(y.data + y.offset[c.value] + from, v[c.value], size);
    });
  }
}

// Copies n numbers of each column to rows that are `step` apart. The rows belong to a plane, or they are the parts of
// complex elements.
template <class T>
WEFT_FLATTEN void gather_contiguous(std::int64_t n, const FftColumns<const T>& x, std::int64_t step, T* to) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>);
  for (std::int64_t k = 0; k < n; k += L, to += L * step) {
    simd::Vec<T> v[L];
    const std::int64_t size = n - k < L ? n - k : L;
    load_square(x, k, size, v);
    if (size == L) repeat<L>([&](auto i) WEFT_INLINE { simd::store(to + i.value * step, v[i.value]); });
    else
      repeat<L>([&](auto i) WEFT_INLINE {
        if (i.value < size) simd::store(to + i.value * step, v[i.value]);
      });
  }
}

// Copies numbers from rows of a plane, multiplied by f, to each column.
template <class T>
WEFT_FLATTEN void scatter_contiguous(std::int64_t n, RowOrder order, const T* plane, simd::Vec<T> f,
                                     const FftColumns<T>& y) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>);
  for (std::int64_t k = 0; k < n; k += L) {
    simd::Vec<T> v[L];
    const std::int64_t size = n - k < L ? n - k : L;
    repeat<L>([&](auto i) WEFT_INLINE {
      v[i.value] = simd::load(plane + order(i.value < size ? k + i.value : k) * row_size<T>) * f;
    });
    store_square(y, k, size, v);
  }
}

// Copies elements k … k + lanes - 1 of a whole tile. In the mirrored columns these are elements n - k - lanes + 1 … n -
// k, where n stands for element 0.
template <class T>
WEFT_FLATTEN void scatter_mirrored_contiguous(std::int64_t n, const std::int32_t* row, const T* plane,
                                              const FftColumns<T>& y, const std::int64_t* mirror) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>);
  for (std::int64_t k = 0; k < n; k += L) {
    simd::Vec<T> v[L];
    const std::int64_t size = n - k < L ? n - k : L;
    repeat<L>([&](auto i) WEFT_INLINE {
      v[i.value] = simd::load(plane + row[i.value < size ? k + i.value : k] * row_size<T>);
    });
    store_square(y, k, size, v);
    for (int c = 0; c < L; ++c) {
      if (mirror[c] == y.offset[c]) continue;
      const T* from = y.data + y.offset[c] + k;
      T* to = y.data + mirror[c];
      if (k > 0 && size == L) simd::store(to + n - k - L + 1, simd::reversed(simd::load(from)));
      else
        for (std::int64_t i = 0; i < size; ++i) to[(n - k - i) % n] = from[i];
    }
  }
}

// Copies one complex element of each column. Half spectra of n = 2^a end with a single element, which is too little for
// a square.
template <class T>
void scatter_element(std::int64_t k, ComplexVec<T> z, const FftColumns<T>& y) noexcept {
  alignas(64) T row[row_size<T>];
  store_complex(row, z);
  for (std::int64_t c = 0; c < y.count; ++c) __builtin_memcpy(y.data + y.offset[c] + 2 * k, row + 2 * c, 2 * sizeof(T));
}

// Does the same as scatter_contiguous for complex elements.
template <class T>
WEFT_FLATTEN void scatter_complex_contiguous(std::int64_t n, RowOrder order, const T* work, simd::Vec<T> f,
                                             const FftColumns<T>& y) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>), elements = L / 2;  // per square
  for (std::int64_t k = 0; k < n; k += elements) {
    if (k == n - 1) return scatter_element(k, scaled(load_row(work, order(k)), f), y);
    simd::Vec<T> v[L];
    const std::int64_t size = n - k < elements ? n - k : elements;
    repeat<elements>([&](auto i) WEFT_INLINE {
      const ComplexVec<T> z = scaled(load_row(work, order(i.value < size ? k + i.value : k)), f);
      v[2 * i.value] = z.re;
      v[2 * i.value + 1] = z.im;
    });
    store_square(y, 2 * k, 2 * size, v);
  }
}

// Loads one complex element of each of `count` neighboring columns.
template <class T>
inline ComplexVec<T> load_complex_part(const T* p, std::int64_t count) noexcept {
  constexpr std::int64_t L = simd::lanes<T>;
  if (count == L) return load_complex(p);
  const simd::Vec<T> a = load_part(p, 2 * count), b = load_part(p + L, 2 * count - L);
  return {simd::even<T>(a, b), simd::odd<T>(a, b)};
}
template <class T>
inline void store_complex_part(T* p, ComplexVec<T> v, std::int64_t count) noexcept {
  constexpr std::int64_t L = simd::lanes<T>;
  if (count == L) return store_complex(p, v);
  store_part(p, simd::zip_lo<T>(v.re, v.im), 2 * count);
  store_part(p + L, simd::zip_hi<T>(v.re, v.im), 2 * count - L);
}

template <class T>
void gather(std::int64_t n, const FftColumns<const T>& x, T* plane) noexcept {
  using namespace simd;
  if (are_neighbors(x, 1)) {
    const T* from = x.data + x.offset[0];
    for (std::int64_t k = 0; k < n; ++k, from += x.step)
      store(plane + k * row_size<T>, x.count == lanes<T> ? load(from) : load_n(from, x.count));
    return;
  }
  if (x.step == 1) return gather_contiguous(n, x, row_size<T>, plane);
  for (std::int64_t k = 0; k < n && x.count < lanes<T>; ++k) store(plane + k * row_size<T>, Vec<T>(T(0)));
  for (std::int64_t first = 0; first < n; first += move_block)
    for (std::int64_t c = 0; c < x.count; ++c)
      for (std::int64_t k = first; k < first + move_block && k < n; ++k)
        plane[k * row_size<T> + c] = x.data[x.offset[c] + k * x.step];
}

template <class T>
void scatter(std::int64_t n, const std::int32_t* row, const T* plane, bool inverse, T factor,
             const FftColumns<T>& y) noexcept {
  using namespace simd;
  const RowOrder order{row, n, inverse};
  const Vec<T> f(factor);
  if (are_neighbors(y, 1)) {
    T* to = y.data + y.offset[0];
    for (std::int64_t k = 0; k < n; ++k, to += y.step) {
      const Vec<T> v = load(plane + order(k) * row_size<T>) * f;
      if (y.count == lanes<T>) store(to, v);
      else store_n(to, v, y.count);
    }
    return;
  }
  if (y.step == 1) return scatter_contiguous(n, order, plane, f, y);
  for (std::int64_t first = 0; first < n; first += move_block)
    for (std::int64_t c = 0; c < y.count; ++c)
      for (std::int64_t k = first; k < first + move_block && k < n; ++k)
        y.data[y.offset[c] + k * y.step] = plane[order(k) * row_size<T> + c] * factor;
}

template <class T>
void scatter_mirrored(std::int64_t n, const std::int32_t* row, const T* plane, const FftColumns<T>& y,
                      const std::int64_t* mirror) noexcept {
  if (y.step == 1 && y.count == simd::lanes<T>) return scatter_mirrored_contiguous(n, row, plane, y, mirror);
  scatter(n, row, plane, false, T(1), y);
  for (std::int64_t c = 0; c < y.count; ++c)
    for (std::int64_t k = 0; k < n && mirror[c] != y.offset[c]; ++k)
      y.data[mirror[c] + (n - k) % n * y.step] = y.data[y.offset[c] + k * y.step];
}

template <class T>
void gather_complex(std::int64_t n, const FftColumns<const T>& x, T* work) noexcept {
  using namespace simd;
  const WorkRows<T> rows{work};
  if (are_neighbors(x, 2)) {
    const T* from = x.data + x.offset[0];
    for (std::int64_t k = 0; k < n; ++k, from += x.step) rows.store(k, load_complex_part(from, x.count));
    return;
  }
  if (x.step == 2) return gather_contiguous(2 * n, x, lanes<T>, work);
  gather(n, x, work);
  gather(n, {x.data + 1, x.step, x.offset, x.count}, work + lanes<T>);
}

template <class T>
void scatter_complex(std::int64_t n, const std::int32_t* row, const T* work, bool inverse, T factor,
                     const FftColumns<T>& y) noexcept {
  using namespace simd;
  const RowOrder order{row, n, inverse};
  const Vec<T> f(factor);
  if (are_neighbors(y, 2)) {
    T* to = y.data + y.offset[0];
    for (std::int64_t k = 0; k < n; ++k, to += y.step)
      store_complex_part(to, scaled(load_row(work, order(k)), f), y.count);
    return;
  }
  if (y.step == 2) return scatter_complex_contiguous(n, order, work, f, y);
  for (std::int64_t first = 0; first < n; first += move_block)
    for (std::int64_t c = 0; c < y.count; ++c)
      for (std::int64_t k = first; k < first + move_block && k < n; ++k) {
        const T* from = work + order(k) * row_size<T> + c;
        T* to = y.data + y.offset[c] + k * y.step;
        to[0] = from[0] * factor;
        to[1] = from[lanes<T>] * factor;
      }
}

}  // namespace weft::detail::WEFT_ISA
