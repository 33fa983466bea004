// Loops over one contiguous row that read or write several arrays, and sums along a row. The tail runs the same vector
// code on a padded copy.
#pragma once
#include "simd/simd.h"

namespace weft::detail::WEFT_ISA::simd {

// A full vector of each array, starting at index i. The arrays may have different stored types, but all have the same
// type for computing.
struct Whole {
  std::int64_t i;
  template <class T>
  Vec<T> load(const T* p, Computed<T> = 0) const noexcept {
    return simd::load(p + i);
  }
  template <class T>
  void store(T* p, Vec<T> v) const noexcept {
    simd::store(p + i, v);
  }
  template <class T>
  void prefetch(const T* p) const noexcept {
    __builtin_prefetch(p + i);
  }
  template <class T>
  void prefetch_to_write(T* p) const noexcept {
    __builtin_prefetch(p + i, 1);
  }
};

// The last n < lanes elements of each array, starting at index i. The other lanes are `fill`.
struct Rest {
  std::int64_t i, n;
  template <class T>
  Vec<T> load(const T* p, Computed<T> fill = 0) const noexcept {
    return simd::load_n(p + i, n, fill);
  }
  template <class T>
  void store(T* p, Vec<T> v) const noexcept {
    simd::store_n(p + i, v, n);
  }
  template <class T>
  void prefetch(const T* p) const noexcept {
    __builtin_prefetch(p + i);
  }
  template <class T>
  void prefetch_to_write(T* p) const noexcept {
    __builtin_prefetch(p + i, 1);
  }
};

// Calls f(at) for each vector of a row of n elements of type T or stored as T. f reads with at.load(array) and writes
// with at.store(array, value). The loop is unrolled `Unroll` times.
template <class T, int Unroll = 1, class F>
inline void for_vectors(std::int64_t n, F f) noexcept {
  std::int64_t i = 0;
  if constexpr (Unroll > 1)
    for (; i + Unroll * lanes<T> <= n; i += Unroll * lanes<T>)
      repeat<Unroll>([&](auto u) WEFT_INLINE { f(Whole{i + u.value * lanes<T>}); });
  for (; i + lanes<T> <= n; i += lanes<T>) f(Whole{i});
  if (i < n) f(Rest{i, n - i});
}

// Calls f(n, y, x) for arrays y[k] and x[k] twice: first with the n elements that fill whole vectors, then with a
// padded copy of the rest. A long f is therefore compiled only once. Arrays may be null.
template <class T, int Outs, int Ins, class F>
inline void in_whole_vectors(std::int64_t n, T* const (&y)[Outs], const T* const (&x)[Ins], F f) noexcept {
  const std::int64_t whole = n / lanes<T> * lanes<T>, rest = n - whole;
  if (whole > 0) f(whole, y, x);
  if (rest == 0) return;
  T in[Ins][lanes<T>] = {}, out[Outs][lanes<T>];
  const T* from[Ins];
  T* to[Outs];
  for (int k = 0; k < Ins; ++k) {
    for (std::int64_t i = 0; i < rest && x[k]; ++i) in[k][i] = x[k][whole + i];
    from[k] = x[k] ? in[k] : nullptr;
  }
  for (int k = 0; k < Outs; ++k) to[k] = y[k] ? out[k] : nullptr;
  f(lanes<T>, to, from);
  for (int k = 0; k < Outs; ++k)
    for (std::int64_t i = 0; i < rest && y[k]; ++i) y[k][whole + i] = out[k][i];
}

// K sums along a row of n elements. f(at, a) adds a vector of terms to each a[k]. Padding must add 0. Element i is added
// to partial sum i mod `partial_sums`, and these are added halves to halves. The order is the same on all instruction
// sets. Larger: more accumulators on those with short vectors. Smaller: additions wait for each other.
// bench: weft-bench --benchmark_filter='norm|softmax'
template <class T>
inline constexpr std::int64_t partial_sums = 128 / std::int64_t{sizeof(Computed<T>)};

template <class T, int K>
struct Sums {
  Computed<T> of[K];
};

// Adds the second half of `count` elements of v to the first half, then continues with the first half, until one is left.
template <int count, int K, class V>
WEFT_INLINE inline void add_halves(V (*v)[K]) noexcept {
  if constexpr (count > 1) {
    repeat<count / 2 * K>([&](auto s)
                              WEFT_INLINE { v[s.value / K][s.value % K] += v[count / 2 + s.value / K][s.value % K]; });
    add_halves<count / 2, K>(v);
  }
}

template <class T, int K, class F>
inline Sums<T, K> sums(std::int64_t n, F f) noexcept {
  constexpr std::int64_t step = lanes<T>;
  constexpr int vectors = static_cast<int>(partial_sums<T> / step);
  Vec<T> a[vectors][K];
  repeat<vectors * K>([&](auto s) WEFT_INLINE { a[s.value / K][s.value % K] = Vec<T>(0); });
  std::int64_t i = 0;
  for (; i + vectors * step <= n; i += vectors * step)
    repeat<vectors>([&](auto v) WEFT_INLINE { f(Whole{i + v.value * step}, a[v.value]); });
  if (i < n)
    for (int v = 0; v < vectors; ++v, i += step) {  // each accumulator is in the first place once
      if (i + step <= n) f(Whole{i}, a[0]);
      else if (i < n) f(Rest{i, n - i}, a[0]);
      repeat<K>([&](auto k) WEFT_INLINE {
        const Vec<T> first = a[0][k.value];
        repeat<vectors - 1>([&](auto w) WEFT_INLINE { a[w.value][k.value] = a[w.value + 1][k.value]; });
        a[vectors - 1][k.value] = first;
      });
    }
  Sums<T, K> result;
  add_halves<vectors, K>(a);
  repeat<K>([&](auto k) WEFT_INLINE { result.of[k.value] = simd::sum(a[0][k.value]); });
  return result;
}

}  // namespace weft::detail::WEFT_ISA::simd
