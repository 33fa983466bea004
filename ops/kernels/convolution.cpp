#include "convolution.h"

#include "family.h"
#include "fft_move.h"
#include "fft_passes.h"

namespace weft::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

// n real elements and zeros, times ω^k.
template <class T>
struct TwistedRows {
  const T* data;
  int64_t step, n;
  const T* twist;

  ComplexVec<T> load(int64_t k) const noexcept {
    const Vec<T> x = k < n ? simd::load(data + k * step) : Vec<T>(T(0));
    return {x * Vec<T>(twist[2 * k]), x * Vec<T>(twist[2 * k + 1])};
  }
};

// Re(z ω^-k) / m of exchanged rows into n real elements.
template <class T>
struct UntwistedRows {
  T* data;
  int64_t step, n;
  const T* untwist;

  void store(int64_t k, ComplexVec<T> z) const noexcept {
    if (k >= n) return;
    simd::store(data + k * step,
                simd::fnma(z.re, Vec<T>(untwist[2 * k + 1]), z.im * Vec<T>(untwist[2 * k])));
  }
};

// Rows times a table.
template <class T>
void twist_rows(int64_t m, const T* table, const WorkRows<T>& rows) noexcept {
  for (int64_t k = 0; k < m; ++k) rows.store(k, product(rows.load(k), Vec<T>(table[2 * k]), Vec<T>(table[2 * k + 1])));
}

template <class T>
bool are_whole_neighbours(const FftColumns<T>& x) noexcept {
  return x.count == simd::lanes<std::remove_const_t<T>> && are_neighbours(x, 1);
}

// Neighbouring columns are read where they are, others from the work buffer's real plane.
template <class T>
TwistedRows<T> twisted(const RingView<T>& ring, int64_t n, const FftColumns<const T>& x, T* work) noexcept {
  if (are_whole_neighbours(x)) return {x.data + x.offset[0], x.step, n, ring.twist};
  gather(n, x, work);
  return {work, row_size<T>, n, ring.twist};
}

// x's transform; leaf(base, length) is called for rows that have theirs, and then (Up) the inverse but its first pass.
template <bool Up, class T, class Leaf>
void transformed(const RingView<T>& ring, const TwistedRows<T>& x, T* work, const Leaf& leaf) noexcept {
  const FftView<T>& plan = *ring.plan;
  run_frequency_pass(plan.pass[0], 0, 1, x, WorkRows<T>{work});
  descend<true, Up>(plan, 1, plan.passes, work, 0, plan.n, leaf);
}

// The last pass of an inverse of exchanged rows, to y.
template <class T>
void finish(const RingView<T>& ring, int64_t n, const FftColumns<T>& y, T* work) noexcept {
  const bool direct = are_whole_neighbours(y);
  const UntwistedRows<T> to{direct ? y.data + y.offset[0] : work, direct ? y.step : row_size<T>, n, ring.untwist};
  run_time_pass(ring.plan->pass[0], 0, 1, WorkRows<T>{work}, to);
  if (!direct) scatter<T>(n, nullptr, work, false, T(1), y);
}

template <class T>
void spectrum(const RingView<T>& ring, int64_t n, const FftColumns<const T>& x, T* work) noexcept {
  transformed<false>(ring, twisted(ring, n, x, work), work, [](int64_t, int64_t) noexcept {});
}

template <class T>
void coefficients(const RingView<T>& ring, T* work) noexcept {
  const FftView<T>& plan = *ring.plan;
  twist_rows(plan.n, ring.twist, WorkRows<T>{work});
  descend<true, false>(plan, 0, plan.passes, work, 0, plan.n, [](int64_t, int64_t) noexcept {});
}

template <class T>
void remainder(const RingView<T>& ring, T* work) noexcept {
  const FftView<T>& plan = *ring.plan;
  const WorkRows<T> rows{work};
  for (int64_t k = 0; k < plan.n; ++k) rows.store(k, exchanged(rows.load(k)));
  descend<false, true>(plan, 0, plan.passes, work, 0, plan.n, [](int64_t, int64_t) noexcept {});
  for (int64_t k = 0; k < plan.n; ++k) rows.store(k, exchanged(rows.load(k)));
  twist_rows(plan.n, ring.untwist, rows);
}

// Rows become products with c's, or with their conjugates, exchanged for the inverse.
template <bool Conjugate, class T>
void multiply_rows(int64_t base, int64_t length, const T* c, const WorkRows<T>& rows) noexcept {
  for (int64_t k = base; k < base + length; ++k) {
    const ComplexVec<T> f = load_row(c, k), x = rows.load(k);
    rows.store(k, exchanged(Conjugate ? product_conj(x, f.re, f.im) : product(x, f.re, f.im)));
  }
}

template <class T>
void multiply(const RingView<T>& ring, int64_t n, const FftColumns<const T>& x, const T* c, bool transposed,
              const FftColumns<T>& y, T* work) noexcept {
  const WorkRows<T> rows{work};
  const TwistedRows<T> from = twisted(ring, n, x, work);
  if (transposed)
    transformed<true>(ring, from, work, [&](int64_t base, int64_t length) noexcept {
      multiply_rows<true>(base, length, c, rows);
    });
  else
    transformed<true>(ring, from, work, [&](int64_t base, int64_t length) noexcept {
      multiply_rows<false>(base, length, c, rows);
    });
  finish(ring, n, y, work);
}

template <class T>
void correlate(const RingView<T>& ring, int64_t n, const T* x_spectrum, const FftColumns<const T>& dy, const T* c,
               const FftColumns<T>& dx, T* sum, T* work) noexcept {
  const WorkRows<T> rows{work}, sums{sum};
  const auto add = [&](int64_t base, int64_t length) noexcept {
    for (int64_t k = base; k < base + length; ++k) {
      const ComplexVec<T> d = rows.load(k), x = load_row(x_spectrum, k), s = sums.load(k);
      sums.store(k, {simd::fma(d.re, x.re, simd::fma(d.im, x.im, s.re)),
                     simd::fnma(d.re, x.im, simd::fma(d.im, x.re, s.im))});
    }
  };
  const TwistedRows<T> from = twisted(ring, n, dy, work);
  if (!c) return transformed<false>(ring, from, work, add);
  transformed<true>(ring, from, work, [&](int64_t base, int64_t length) noexcept {
    add(base, length);
    multiply_rows<true>(base, length, c, rows);
  });
  finish(ring, n, dx, work);
}

template <class T>
constexpr ConvolutionKernels<T> table() {
  return {spectrum<T>, coefficients<T>, multiply<T>, correlate<T>, remainder<T>};
}

}  // namespace

extern const KernelFamily<ConvolutionKernels> convolution;
constexpr KernelFamily<ConvolutionKernels> convolution = {table<float>(), table<double>()};

}  // namespace weft::WEFT_ISA
