#include "spectral/kernels/fft_four_step.h"

#include "spectral/kernels/fft_descend.h"
#include "spectral/kernels/fft_move.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

// Source: rows of neighboring complex elements. For sign = -1 the elements are conjugated.
template <class T>
struct SignedRows {
  const T* data;
  int64_t step;
  T sign;

  struct Cursor {
    const T* p;
    int64_t row, apart;
    T sign;

    ComplexVec<T> load(int q) const noexcept {
      const ComplexVec<T> v = load_complex(p + q * apart);
      return {v.re, v.im * Vec<T>(sign)};
    }
    void next() noexcept { p += row; }
  };
  Cursor at(int64_t row, int64_t stride) const noexcept { return {data + row * step, step, stride * step, sign}; }
};

// Target: bins times their twiddles, in rows of two planes.
template <class T>
struct TwiddledBins {
  T* data;
  const T* twiddles;
  int64_t n2;

  struct Cursor {
    T* p;
    const T* w;
    int64_t apart, n2;

    void store(int j, ComplexVec<T> v) const noexcept {
      const T* root = w + j * apart;
      const ComplexVec<T> z = product(v, simd::load(root), simd::load(root + n2));
      simd::store(p + j * apart, z.re);
      simd::store(p + j * apart + n2, z.im);
    }
  };
  Cursor at(int64_t bin, int64_t stride) const noexcept {
    return {data + bin * 2 * n2, twiddles + bin * 2 * n2, stride * 2 * n2, n2};
  }
};

// The sources of all sequences. of(s) is the source of sequence s. In the same way, SequencesBins contains the targets
// of all sequences.
template <class T>
struct SequencesRows {
  const FftColumns<const T>& x;
  int64_t from, step;
  T sign;

  SignedRows<T> of(int64_t s) const noexcept { return {x.data + x.offset[s] + from, step, sign}; }
};
template <class T>
struct SequencesBins {
  TwiddledBins<T> first;
  int64_t apart;

  TwiddledBins<T> of(int64_t s) const noexcept { return {first.data + s * apart, first.twiddles, first.n2}; }
};

// Runs the passes of one sequence. The first pass reads from `source`, the last one writes to `target`.
template <class T, class Source, class Target>
void columns(const FftView<T>& plan, Source source, Target target, T* work) noexcept {
  const WorkRows<T> rows{work};
  const int64_t last = plan.passes - 1;
  if (last == 0) read_rows(plan.n, source, rows);
  else run_first_pass(plan.pass[0], source, rows);
  descend<true, false>(plan, 1, last, work, 0, plan.n,
                       [&](int64_t base, int64_t length) noexcept { run_last_pass(plan, base, length, rows, target); });
}

// Runs the passes of all sequences.
template <class T>
void first_step(const FftView<T>& plan, int64_t sequences, SequencesRows<T> sources, SequencesBins<T> targets,
                T* work) noexcept {
  const FftPass<T>& p = plan.pass[0];
  if (plan.passes == 1 &&
      with_fused_radix<T>(p.radix, [&](auto r) noexcept { only_pass<r.value>(p, sequences, sources, targets); }))
    return;
  for (int64_t s = 0; s < sequences; ++s) columns(plan, sources.of(s), targets.of(s), work);
}

// Target: complex elements. Their real and imaginary parts are bins times `re` and `im`.
template <class T>
struct ScaledBins {
  T* data;
  int64_t step;
  T re, im;

  struct Cursor {
    T* p;
    int64_t apart;
    T re, im;

    void store(int j, ComplexVec<T> v) const noexcept {
      store_complex(p + j * apart, ComplexVec<T>{v.re * Vec<T>(re), v.im * Vec<T>(im)});
    }
  };
  Cursor at(int64_t bin, int64_t stride) const noexcept { return {data + bin * step, stride * step, re, im}; }
};

// Transposes rows k1 … k1 + L - 1 of both planes, each with n2 numbers, into the lanes of the work buffer.
template <class T>
WEFT_FLATTEN void turn(const T* rows, int64_t n2, T* work) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>);
  for (int64_t k = 0; k < 2 * n2; k += L) {
    Vec<T> v[L];
    const T* from = rows + k;
    repeat<L>([&](auto c) WEFT_INLINE {
      v[c.value] = simd::load(from);
      from += 2 * n2;
    });
    simd::transpose<T>(v);
    T* to = k < n2 ? work + k * row_size<T> : work + (k - n2) * row_size<T> + L;
    repeat<L>([&](auto i) WEFT_INLINE { simd::store(to + i.value * row_size<T>, v[i.value]); });
  }
}

// Whether the second step continues in registers with the transposed rows. AVX-512 has enough registers for this. In
// f64 this method is one sixth faster, and in f32 one twentieth slower.
// bench: weft-bench --benchmark_filter='c2c(-f64)?/64x(256|512|1024)'
template <class T>
inline constexpr bool has_turned_pass = WEFT_HAS_AVX512 && sizeof(T) == 8;

// Does the work of turn and the second step, for n2 = max_lanes.
template <class T>
[[gnu::noinline]] WEFT_FLATTEN void turned_pass(const T* rows, ScaledBins<T> bins) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>), N = static_cast<int>(max_lanes);
  Vec<T> re[N], im[N];
  const auto plane = [&](const T* from, Vec<T>* v) WEFT_INLINE {
    repeat<L>([&](auto c) WEFT_INLINE { v[c.value] = simd::load(from + c.value * 2 * N); });
    simd::transpose<T>(v);
  };
  repeat<N / L>([&](auto square) WEFT_INLINE {
    plane(rows + square.value * L, re + square.value * L);
    plane(rows + N + square.value * L, im + square.value * L);
  });
  ComplexVec<T> a[N];
  repeat<N>([&](auto k) WEFT_INLINE { a[k.value] = {re[k.value], im[k.value]}; });
  Butterfly<T, N>::run(a, nullptr);
  const auto to = bins.at(0, 1);
  repeat<N>([&](auto k) WEFT_INLINE { to.store(k.value, a[k.value]); });
}

// Copies all bins of as many sequences as fill the lanes, starting with sequence s. Row k2 of complex numbers contains,
// for each of these sequences in turn, bins N1 k2 … N1 k2 + N1 - 1.
template <int N1, class T>
void split(const T* row, int64_t n2, const FftColumns<T>& y, int64_t s) noexcept {
  for (int64_t end = s + simd::lanes<T> / N1; s < end && s < y.count; ++s, row += 2 * N1) {
    T* to = y.data + y.offset[s];
    for (int64_t k = 0; k < n2; ++k) __builtin_memcpy(to + 2 * N1 * k, row + row_size<T> * k, 2 * N1 * sizeof(T));
  }
}

// Prefetches lines of the next sequences while the current ones are computed.
template <class T>
void fetch(const T* next, int64_t size) noexcept {
  constexpr int64_t line = 64 / sizeof(T);
  for (int64_t i = 0; i < size; i += line) __builtin_prefetch(next + i, 0);
}

// Transforms all given sequences. The lanes of the second step are rows k1: neighboring rows of one sequence or, for n1
// < lanes, of several sequences.
template <class T>
void together(const FourStepView<T>& plan, const FftColumns<const T>& x, T sign, T factor, const FftColumns<T>& y,
              const T* next, T* middle, T* work) noexcept {
  constexpr int64_t L = simd::lanes<T>;
  const int64_t n1 = plan.first->n, n2 = plan.second->n, step = 2 * n2;
  for (int64_t j = 0; j < n2; j += L)
    first_step(*plan.first, x.count, SequencesRows<T>{x, 2 * j, step, sign},
               SequencesBins<T>{{middle + j, plan.twiddles + j, n2}, n1 * step}, work);
  const bool whole = n1 % L == 0;
  for (int64_t k = 0; k < x.count * n1; k += L) {
    const bool at_once = has_turned_pass<T> && n2 == max_lanes;
    if (!at_once) turn(middle + k * step, n2, work);
    if (next) fetch(next + k * step, L * step);
    T* to = whole ? y.data + y.offset[k / n1] + 2 * (k % n1) : work;
    const ScaledBins<T> bins{to, 2 * (whole ? n1 : L), factor, sign * factor};
    if (at_once) turned_pass(middle + k * step, bins);
    else if (n2 == max_lanes) dense_pass<max_lanes>(plan.second->pass[0], 0, 1, WorkRows<T>{work}, bins);
    else columns(*plan.second, WorkRows<T>{work}, bins, work);
    if (!whole && n1 == 4) split<4>(work, n2, y, k / n1);
    if (!whole && n1 == 8) split<8>(work, n2, y, k / n1);
  }
}

template <class T>
void transform(const FourStepView<T>& plan, const FftColumns<const T>& x, bool inverse, T factor,
               const FftColumns<T>& y, T* middle, T* work) noexcept {
  const T sign = inverse ? T(-1) : T(1);
  for (int64_t s = 0; s < x.count; s += plan.together) {
    const int64_t end = s + plan.together, count = x.count < end ? x.count - s : plan.together;
    const T* next = end < x.count && plan.together == 1 ? x.data + x.offset[end] : nullptr;
    together<T>(plan, {x.data, x.step, x.offset + s, count}, sign, factor, {y.data, y.step, y.offset + s, count}, next,
                middle, work);
  }
}

template <int L>
struct EvenBackwards {
  static constexpr int at(int i) { return 2 * (L - 1 - i); }
};
template <int L>
struct OddBackwards {
  static constexpr int at(int i) { return 2 * (L - 1 - i) + 1; }
};
template <int L>
struct LowZipBackwards {
  static constexpr int at(int i) { return L - 1 - i / 2 + i % 2 * L; }
};
template <int L>
struct HighZipBackwards {
  static constexpr int at(int i) { return L / 2 - 1 - i / 2 + i % 2 * L; }
};

// Loads complex elements in reverse order.
template <class T>
ComplexVec<T> load_backwards(const T* p) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>);
  const Vec<T> a = simd::load(p), b = simd::load(p + L);
  return {simd::shuffled<EvenBackwards<L>>(a, b), simd::shuffled<OddBackwards<L>>(a, b)};
}
template <class T>
void store_backwards(T* p, ComplexVec<T> v) noexcept {
  constexpr int L = static_cast<int>(simd::lanes<T>);
  simd::store(p, simd::shuffled<LowZipBackwards<L>>(v.re, v.im));
  simd::store(p + L, simd::shuffled<HighZipBackwards<L>>(v.re, v.im));
}

// Bins k … k + L - 1 (low) and, in reverse order, bins m - k … m - k - L + 1 (high). w points to the twiddle of bin k.
template <class T>
struct BinPairs {
  ComplexVec<T> low, high;

  static BinPairs unpacked(const T* low, const T* high, const T* w, Vec<T> half) noexcept {
    const ComplexVec<T> a = load_complex(low), backwards = load_backwards(high), twiddle = load_complex(w);
    const ComplexVec<T> b{backwards.re, -backwards.im};
    const ComplexVec<T> e = scaled(a + b, half), o = times_minus_i(scaled(a - b, half));
    const ComplexVec<T> wo = product(o, twiddle.re, twiddle.im), d = e - wo;
    return {e + wo, {d.re, -d.im}};
  }
  void store(T* to_low, T* to_high) const noexcept {
    store_backwards(to_high, high);
    store_complex(to_low, low);
  }
};

// Computes the last pairs first, before any of their values are overwritten, but stores them last. The last pairs may
// overlap the pairs before them. In the overlap, both have the same values, so the order of the stores does not matter.
template <class T>
void unpack(int64_t m, const T* w, T weight, T* y) noexcept {
  constexpr int64_t L = simd::lanes<T>;
  const Vec<T> half(weight / 2);
  const auto pairs = [=](int64_t k) noexcept {
    return BinPairs<T>::unpacked(y + 2 * k, y + 2 * (m - k - L + 1), w + 2 * k, half);
  };
  const auto store = [=](int64_t k, const BinPairs<T>& p) noexcept { p.store(y + 2 * k, y + 2 * (m - k - L + 1)); };
  const T re = y[0], im = y[1];
  y[0] = re + im;
  y[1] = 0;
  y[m] = y[m] * weight;
  y[m + 1] = -y[m + 1] * weight;
  const int64_t last = m / 2 - L;
  const BinPairs<T> at_end = pairs(last);
  for (int64_t k = 1; k < last; k += L) store(k, pairs(k));
  store(last, at_end);
  y[2 * m] = re - im;
  y[2 * m + 1] = 0;
}

template <class T>
constexpr FourStepKernels<T> table() {
  return {.transform = transform<T>, .unpack = unpack<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(FourStepKernels)
