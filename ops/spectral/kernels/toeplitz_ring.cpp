#include "spectral/kernels/toeplitz_ring.h"

#include "spectral/kernels/fft_descend.h"
#include "spectral/kernels/fft_move.h"

namespace weft::detail::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

// Source: n real elements, followed by zeros (Padded), times ω^k.
template <bool Padded, class T>
struct TwistedRows {
  const T* data;
  int64_t step, n;
  const T* twist;

  struct Cursor {
    const T *p, *w;
    int64_t row, step, stride, left;

    ComplexVec<T> load(int q) const noexcept {
      const Vec<T> x = !Padded || q * stride < left ? simd::load(p + q * step) : Vec<T>(T(0));
      const T* root = w + 2 * q * stride;
      return {x * Vec<T>(root[0]), x * Vec<T>(root[1])};
    }
    void next() noexcept {
      p += row;
      w += 2;
      --left;
    }
  };
  Cursor at(int64_t row, int64_t stride) const noexcept {
    return {data + row * step, twist + 2 * row, step, stride * step, stride, n - row};
  }
};

// Target: n real elements, Re(z ω^-k) / m, of rows whose real and imaginary parts are exchanged. n is the number of
// rows unless Padded.
template <bool Padded, class T>
struct UntwistedRows {
  T* data;
  int64_t step, n;
  const T* untwist;

  struct Cursor {
    T* p;
    const T* w;
    int64_t row, step, stride, left;

    void store(int q, ComplexVec<T> z) const noexcept {
      if (Padded && q * stride >= left) return;
      const T* root = w + 2 * q * stride;
      simd::store(p + q * step, simd::fnma(z.re, Vec<T>(root[1]), z.im * Vec<T>(root[0])));
    }
    void next() noexcept {
      p += row;
      w += 2;
      --left;
    }
  };
  Cursor at(int64_t row, int64_t stride) const noexcept {
    return {data + row * step, untwist + 2 * row, step, stride * step, stride, n - row};
  }
};

// Source: (a - ib) ω^k, where the rows are a + ib.
template <class T>
struct TwistedConjugates {
  WorkRows<T> rows;
  const T* twist;

  struct Cursor {
    typename WorkRows<T>::Cursor at;
    const T* w;
    int64_t stride;

    ComplexVec<T> load(int q) const noexcept {
      const ComplexVec<T> v = at.load(q);
      const T* root = w + 2 * q * stride;
      return product(ComplexVec<T>{v.re, -v.im}, Vec<T>(root[0]), Vec<T>(root[1]));
    }
    void next() noexcept {
      at.next();
      w += 2;
    }
  };
  Cursor at(int64_t row, int64_t stride) const noexcept { return {rows.at(row, stride), twist + 2 * row, stride}; }
};

// Target: the conjugates of z ω^-k / m, of rows whose real and imaginary parts are exchanged.
template <class T>
struct UntwistedConjugates {
  WorkRows<T> rows;
  const T* untwist;

  struct Cursor {
    typename WorkRows<T>::Cursor at;
    const T* w;
    int64_t stride;

    void store(int q, ComplexVec<T> v) const noexcept {
      const T* root = w + 2 * q * stride;
      const ComplexVec<T> z = product(exchanged(v), Vec<T>(root[0]), Vec<T>(root[1]));
      at.store(q, {z.re, -z.im});
    }
    void next() noexcept {
      at.next();
      w += 2;
    }
  };
  Cursor at(int64_t row, int64_t stride) const noexcept { return {rows.at(row, stride), untwist + 2 * row, stride}; }
};

template <class T>
bool are_whole_neighbors(const FftColumns<T>& x) noexcept {
  return x.count == simd::lanes<std::remove_const_t<T>> && are_neighbors(x, 1);
}

// Returns `rows` with prefetching of the columns that are used after them. It prefetches for reading even if the
// columns will be written, because another copy of the passes would cost more than it gains.
template <class T, class U, class Rows>
auto ahead_of(const FftColumns<U>& later, Rows rows) noexcept {
  return fetching<false, simd::lanes<T>>(rows, static_cast<const T*>(later.data + later.offset[0]), later.step);
}

// Runs the first pass of x's transform. Neighboring columns are read in place, others from the real plane of the work
// buffer. `later` are the columns that are read or written after this pass.
template <class T, class U>
void begin(const RingView<T>& ring, int64_t n, const FftColumns<const T>& x, const FftColumns<U>& later,
           T* work) noexcept {
  const bool whole = are_whole_neighbors(x);
  if (!whole) gather(n, x, work);
  const T* data = whole ? x.data + x.offset[0] : work;
  const int64_t step = whole ? x.step : row_size<T>;
  const FftPass<T>& pass = ring.plan->pass[0];
  const WorkRows<T> rows{work};
  if (n == ring.plan->n)
    run_first_pass(pass, ahead_of<T>(later, TwistedRows<false, T>{data, step, n, ring.twist}), rows);
  else run_first_pass(pass, ahead_of<T>(later, TwistedRows<true, T>{data, step, n, ring.twist}), rows);
}

// Runs the last pass of an inverse transform of rows with exchanged parts, and writes to y. `next` are the columns that
// are read afterwards.
template <class T>
void finish(const RingView<T>& ring, int64_t n, const FftColumns<T>& y, const FftColumns<const T>& next,
            T* work) noexcept {
  const bool whole = are_whole_neighbors(y);
  T* data = whole ? y.data + y.offset[0] : work;
  const int64_t step = whole ? y.step : row_size<T>;
  const FftPass<T>& pass = ring.plan->pass[0];
  const WorkRows<T> rows{work};
  if (n == ring.plan->n)
    run_final_pass(pass, rows, ahead_of<T>(next, UntwistedRows<false, T>{data, step, n, ring.untwist}));
  else run_final_pass(pass, rows, ahead_of<T>(next, UntwistedRows<true, T>{data, step, n, ring.untwist}));
  if (!whole) scatter<T>(n, nullptr, work, false, T(1), y);
}

// Runs the passes between begin and finish, with value(row, v) for each bin v.
template <class T, class Value>
void turn(const FftView<T>& plan, T* work, const Value& value) noexcept {
  const WorkRows<T> rows{work};
  const int64_t last = plan.passes - 1;
  if (last == 0) {
    for (int64_t k = 0; k < plan.n; ++k) rows.store(k, value(k, rows.load(k)));
    return;
  }
  const auto pass = [&](int64_t base, int64_t length) noexcept { run_turn_pass(plan, base, length, rows, value); };
  descend<true, true>(plan, 1, last, work, 0, plan.n, pass);
}

constexpr auto no_leaf = [](int64_t, int64_t) noexcept {};

template <class T>
void spectrum(const RingView<T>& ring, int64_t n, const FftColumns<const T>& x, const FftColumns<const T>& next,
              T* work) noexcept {
  const FftView<T>& plan = *ring.plan;
  begin(ring, n, x, next, work);
  descend<true, false>(plan, 1, plan.passes, work, 0, plan.n, no_leaf);
}

template <class T>
void coefficients(const RingView<T>& ring, T* work) noexcept {
  const FftView<T>& plan = *ring.plan;
  const WorkRows<T> rows{work};
  read_rows(plan.n, TwistedConjugates<T>{rows, ring.twist}, rows);
  descend<true, false>(plan, 0, plan.passes, work, 0, plan.n, no_leaf);
}

template <class T>
void remainder(const RingView<T>& ring, T* work) noexcept {
  const FftView<T>& plan = *ring.plan;
  const WorkRows<T> rows{work};
  descend<false, true>(plan, 0, plan.passes, work, 0, plan.n, no_leaf);
  write_rows(plan.n, rows, UntwistedConjugates<T>{rows, ring.untwist});
}

// Returns v times row k of c, or of its conjugate. The parts of the result are exchanged for the inverse transform.
template <bool Conjugate, class T>
ComplexVec<T> exchanged_product(ComplexVec<T> v, const T* c, int64_t k) noexcept {
  const ComplexVec<T> f = load_row(c, k);
  return exchanged(Conjugate ? product_conj(v, f.re, f.im) : product(v, f.re, f.im));
}

template <class T>
void multiply(const RingView<T>& ring, int64_t n, const FftColumns<const T>& x, const T* c, bool transposed,
              const FftColumns<T>& y, const FftColumns<const T>& next, T* work) noexcept {
  const FftView<T>& plan = *ring.plan;
  begin(ring, n, x, y, work);
  if (transposed)
    turn(plan, work, [=](int64_t k, ComplexVec<T> v) noexcept { return exchanged_product<true>(v, c, k); });
  else turn(plan, work, [=](int64_t k, ComplexVec<T> v) noexcept { return exchanged_product<false>(v, c, k); });
  finish(ring, n, y, next, work);
}

template <class T>
void correlate(const RingView<T>& ring, int64_t n, const T* x_spectrum, const FftColumns<const T>& dy, const T* c,
               const FftColumns<T>& dx, const FftColumns<const T>& next, T* sum, T* work) noexcept {
  const FftView<T>& plan = *ring.plan;
  const auto add = [=](int64_t k, ComplexVec<T> d) noexcept {
    const WorkRows<T> sums{sum};
    const ComplexVec<T> x = load_row(x_spectrum, k), s = sums.load(k);
    sums.store(
        k, {simd::fnma(d.re, x.im, simd::fma(d.im, x.re, s.re)), simd::fma(d.re, x.re, simd::fma(d.im, x.im, s.im))});
  };
  if (c) {
    begin(ring, n, dy, dx, work);
    turn(plan, work, [=](int64_t k, ComplexVec<T> d) noexcept {
      add(k, d);
      return exchanged_product<true>(d, c, k);
    });
    return finish(ring, n, dx, next, work);
  }
  begin(ring, n, dy, next, work);
  descend<true, false>(plan, 1, plan.passes, work, 0, plan.n, [=](int64_t base, int64_t length) noexcept {
    for (int64_t k = base; k < base + length; ++k) add(k, load_row(work, k));
  });
}

template <class T>
constexpr ToeplitzRingKernels<T> table() {
  return {.spectrum = spectrum<T>,
          .coefficients = coefficients<T>,
          .multiply = multiply<T>,
          .correlate = correlate<T>,
          .remainder = remainder<T>};
}

}  // namespace
}  // namespace weft::detail::WEFT_ISA

WEFT_KERNEL_TABLES(ToeplitzRingKernels)
