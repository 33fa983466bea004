// Columns between memory and work buffers. Neighbouring columns move as vectors, columns that are contiguous
// themselves through transposed squares, others element by element.
#pragma once
#include "fft_rows.h"

namespace weft::WEFT_ISA {

// The row of element k: row[k], or k. Inverse: elements 1 … n-1 come backwards.
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
bool are_neighbours(const FftColumns<T>& x, std::int64_t apart) noexcept {
  for (std::int64_t c = 1; c < x.count; ++c)
    if (x.offset[c] != x.offset[0] + apart * c) return false;
  return true;
}

constexpr std::int64_t move_block = 16;  // elements of a column that are moved at once, so that the rows stay in L1

// Numbers `from` … from + size - 1 of each column as the vectors v[0] … v[size - 1], size <= lanes.
template <class T>
inline void load_square(const FftColumns<const T>& x, std::int64_t from, std::int64_t size, simd::Vec<T>* v) noexcept {
  using namespace simd;
  for (std::int64_t c = 0; c < lanes<T>; ++c) {
    if (c >= x.count) v[c] = Vec<T>(T(0));
    else if (size == lanes<T>) v[c] = load(x.data + x.offset[c] + from);
    else v[c] = load_n(x.data + x.offset[c] + from, size);
  }
  transpose<T>(v);
}

template <class T>
inline void store_square(const FftColumns<T>& y, std::int64_t from, std::int64_t size, simd::Vec<T>* v) noexcept {
  using namespace simd;
  transpose<T>(v);
  for (std::int64_t c = 0; c < y.count; ++c) {
    if (size == lanes<T>) store(y.data + y.offset[c] + from, v[c]);
    else store_n(y.data + y.offset[c] + from, v[c], size);
  }
}

// n numbers of each column into rows that are `step` apart: a plane's, or the parts of complex elements.
template <class T>
void gather_contiguous(std::int64_t n, const FftColumns<const T>& x, std::int64_t step, T* to) noexcept {
  constexpr std::int64_t L = simd::lanes<T>;
  simd::Vec<T> v[L];
  for (std::int64_t k = 0; k < n; k += L) {
    const std::int64_t size = n - k < L ? n - k : L;
    load_square(x, k, size, v);
    for (std::int64_t i = 0; i < size; ++i) simd::store(to + (k + i) * step, v[i]);
  }
}

template <class T>
void gather(std::int64_t n, const FftColumns<const T>& x, T* plane) noexcept {
  using namespace simd;
  if (are_neighbours(x, 1)) {
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
  if (are_neighbours(y, 1)) {
    T* to = y.data + y.offset[0];
    for (std::int64_t k = 0; k < n; ++k, to += y.step) {
      const Vec<T> v = load(plane + order(k) * row_size<T>) * f;
      if (y.count == lanes<T>) store(to, v);
      else store_n(to, v, y.count);
    }
    return;
  }
  if (y.step == 1) {
    Vec<T> v[lanes<T>];
    for (std::int64_t k = 0; k < n; k += lanes<T>) {
      const std::int64_t size = n - k < lanes<T> ? n - k : lanes<T>;
      for (std::int64_t i = 0; i < lanes<T>; ++i)
        v[i] = i < size ? load(plane + order(k + i) * row_size<T>) * f : Vec<T>(T(0));
      store_square(y, k, size, v);
    }
    return;
  }
  for (std::int64_t first = 0; first < n; first += move_block)
    for (std::int64_t c = 0; c < y.count; ++c)
      for (std::int64_t k = first; k < first + move_block && k < n; ++k)
        y.data[y.offset[c] + k * y.step] = plane[order(k) * row_size<T> + c] * factor;
}

template <class T>
void gather_complex(std::int64_t n, const FftColumns<const T>& x, T* work) noexcept {
  using namespace simd;
  const WorkRows<T> rows{work};
  if (are_neighbours(x, 2)) {
    const T* from = x.data + x.offset[0];
    T padded[row_size<T>] = {};
    for (std::int64_t k = 0; k < n; ++k, from += x.step) {
      for (std::int64_t i = 0; i < 2 * x.count && x.count < lanes<T>; ++i) padded[i] = from[i];
      rows.store(k, load_complex(x.count < lanes<T> ? padded : from));
    }
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
  if (are_neighbours(y, 2)) {
    T* to = y.data + y.offset[0];
    T padded[row_size<T>];
    for (std::int64_t k = 0; k < n; ++k, to += y.step) {
      const bool whole = y.count == lanes<T>;
      store_complex(whole ? to : padded, scaled(load_row(work, order(k)), f));
      for (std::int64_t i = 0; i < 2 * y.count && !whole; ++i) to[i] = padded[i];
    }
    return;
  }
  if (y.step == 2) {
    constexpr std::int64_t elements = lanes<T> / 2;  // of a square
    Vec<T> v[lanes<T>];
    for (std::int64_t k = 0; k < n; k += elements) {
      const std::int64_t size = n - k < elements ? n - k : elements;
      for (std::int64_t i = 0; i < elements; ++i) {
        const T* from = work + order(i < size ? k + i : k) * row_size<T>;
        v[2 * i] = load(from) * f;
        v[2 * i + 1] = load(from + lanes<T>) * f;
      }
      store_square(y, 2 * k, 2 * size, v);
    }
    return;
  }
  for (std::int64_t first = 0; first < n; first += move_block)
    for (std::int64_t c = 0; c < y.count; ++c)
      for (std::int64_t k = first; k < first + move_block && k < n; ++k) {
        const T* from = work + order(k) * row_size<T> + c;
        T* to = y.data + y.offset[c] + k * y.step;
        to[0] = from[0] * factor;
        to[1] = from[lanes<T>] * factor;
      }
}

}  // namespace weft::WEFT_ISA
