#include "fft_four_step.h"

#include "family.h"
#include "fft_descend.h"
#include "fft_move.h"

namespace weft::WEFT_ISA {
namespace {

using simd::Vec;
using std::int64_t;

// The first pass from `source`, the last one to `target`.
template <class T, class Source, class Target>
void columns(const FftView<T>& plan, Source source, Target target, T* work) noexcept {
  const WorkRows<T> rows{work};
  const int64_t last = plan.passes - 1;
  run_first_pass(plan.pass[0], source, rows);
  descend<true, false>(plan, 1, last, work, 0, plan.n, [&](int64_t base, int64_t length) noexcept {
    run_last_pass(plan, base, length, rows, target);
  });
}

// Complex rows with their parts exchanged for inverse transforms.
template <class T>
struct ExchangeableRows {
  ComplexRows<T> rows;
  bool exchange;

  struct Cursor {
    typename ComplexRows<T>::Cursor at;
    bool exchange;

    ComplexVec<T> load(int q) const noexcept {
      const ComplexVec<T> v = at.load(q);
      return exchange ? exchanged(v) : v;
    }
    void next() noexcept { at.next(); }
  };
  Cursor at(int64_t row, int64_t stride) const noexcept { return {rows.at(row, stride), exchange}; }
};

// Bins times their twiddles into rows of two planes.
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

// Bins, scaled and perhaps exchanged, to complex elements.
template <class T>
struct ScaledBins {
  T* data;
  int64_t step;
  bool exchange;
  T factor;

  struct Cursor {
    T* p;
    int64_t apart;
    bool exchange;
    T factor;

    void store(int j, ComplexVec<T> v) const noexcept {
      const ComplexVec<T> z = scaled(v, Vec<T>(factor));
      store_complex(p + j * apart, exchange ? exchanged(z) : z);
    }
  };
  Cursor at(int64_t bin, int64_t stride) const noexcept { return {data + bin * step, stride * step, exchange, factor}; }
};

template <class T>
void transform(const FourStepView<T>& plan, const T* x, bool inverse, T factor, T* y, T* middle, T* work) noexcept {
  constexpr int64_t L = simd::lanes<T>;
  const int64_t n1 = plan.first->n, n2 = plan.second->n;
  for (int64_t j = 0; j < n2; j += L)
    columns(*plan.first, ExchangeableRows<T>{{x + 2 * j, 2 * n2}, inverse},
            TwiddledBins<T>{middle + j, plan.twiddles + j, n2}, work);
  int64_t offset[L];
  for (int64_t k = 0; k < n1; k += L) {
    for (int64_t c = 0; c < L; ++c) offset[c] = (k + c) * 2 * n2;
    gather_contiguous<T>(n2, {middle, 1, offset, L}, row_size<T>, work);
    gather_contiguous<T>(n2, {middle + n2, 1, offset, L}, row_size<T>, work + L);
    columns(*plan.second, WorkRows<T>{work}, ScaledBins<T>{y + 2 * k, 2 * n1, inverse, factor}, work);
  }
}

// Bins k … k + L - 1 at `low` with m - k - L + 1 … m - k at `high`; w points to the twiddle of bin k.
template <class T>
void unpack_pairs(T* low, T* high, const T* w, Vec<T> half) noexcept {
  const ComplexVec<T> a = load_complex(low), backwards = load_complex(high), twiddle = load_complex(w);
  const ComplexVec<T> b{simd::reversed(backwards.re), -simd::reversed(backwards.im)};
  const ComplexVec<T> e = scaled(a + b, half), o = times_minus_i(scaled(a - b, half));
  const ComplexVec<T> wo = product(o, twiddle.re, twiddle.im), d = e - wo;
  store_complex(high, ComplexVec<T>{simd::reversed(d.re), -simd::reversed(d.im)});
  store_complex(low, e + wo);
}

template <class T>
void unpack(int64_t m, const T* w, T weight, T* y) noexcept {
  constexpr int64_t L = simd::lanes<T>;
  const T re = y[0], im = y[1];
  y[0] = re + im;
  y[1] = 0;
  y[2 * m] = re - im;
  y[2 * m + 1] = 0;
  y[m] = y[m] * weight;
  y[m + 1] = -y[m + 1] * weight;
  int64_t k = 1;
  for (; k + L <= m / 2; k += L) unpack_pairs(y + 2 * k, y + 2 * (m - k - L + 1), w + 2 * k, Vec<T>(weight / 2));
  // The rest of the pairs, in vectors of copies.
  T low[2 * L] = {}, high[2 * L] = {}, roots[2 * L] = {};
  const int64_t rest = m / 2 - k;
  for (int64_t i = 0; i < 2 * rest; ++i) {
    low[i] = y[2 * k + i];
    roots[i] = w[2 * k + i];
    high[2 * (L - rest) + i] = y[2 * (m - k - rest + 1) + i];
  }
  unpack_pairs(low, high, roots, Vec<T>(weight / 2));
  for (int64_t i = 0; i < 2 * rest; ++i) {
    y[2 * k + i] = low[i];
    y[2 * (m - k - rest + 1) + i] = high[2 * (L - rest) + i];
  }
}

template <class T>
constexpr FourStepKernels<T> table() {
  return {transform<T>, unpack<T>};
}

}  // namespace

extern const KernelFamily<FourStepKernels> four_step;
constexpr KernelFamily<FourStepKernels> four_step = {table<float>(), table<double>()};

}  // namespace weft::WEFT_ISA
