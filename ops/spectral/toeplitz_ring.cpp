// Toeplitz products by transforms in the ring of kernels/toeplitz_ring.h. T̂, X̂, D̂ are the transforms of t, x and dy:
//   ŷ = T̂ X̂,  dx̂ = conj(T̂) D̂,  dt̂ = Σ_batch D̂ conj(X̂)
#include <algorithm>

#include "base/common.h"
#include "spectral/fft_derived_plans.h"
#include "spectral/kernels/fft.h"
#include "spectral/kernels/toeplitz_ring.h"
#include "spectral/toeplitz.h"
#include "weft/context.h"

namespace weft::detail {
namespace {

using std::int64_t;

template <class T>
struct RingForm {
  const ToeplitzSizes& s;
  int64_t channels;
  const FftKernels<T>& move = kernels<FftKernels<T>>();
  const ToeplitzRingKernels<T>& kernel = kernels<ToeplitzRingKernels<T>>();
  std::shared_ptr<const RingPlan<T>> plan = ring_plan<T>(s.op, s.n);

  const RingView<T>& ring() const { return plan->view(); }
  int64_t m() const { return plan->rows(); }
  int64_t lanes() const { return move.lanes; }
  int64_t tiles() const { return (channels + lanes() - 1) / lanes(); }
  int64_t spectrum() const { return m() * 2 * lanes(); }  // number of elements, also of a work buffer
  Shape layout() const { return {tiles(), m(), 2, lanes()}; }

  // Returns tile number `index` of a batch row.
  template <class U>
  auto tile(const ToeplitzOperand<U>& x, int64_t batch, int64_t index) const {
    return x.tile(batch, index * lanes(), std::min(lanes(), channels - index * lanes()));
  }

  // Calls f(index, scratch) for index < n, with scratch memory for `buffers` work buffers.
  template <class F>
  void for_tasks(int64_t n, int64_t buffers, F f) const {
    const int64_t grain = std::max<int64_t>(1, task_elements / (m() * lanes()));
    const auto bytes = static_cast<std::size_t>(buffers * spectrum()) * sizeof(T);
    Context::current().parallel_for(n, grain, bytes, [&](int64_t begin, int64_t end, void* scratch) {
      for (int64_t index = begin; index < end; ++index) f(index, static_cast<T*>(scratch));
    });
  }

  // The lags below 0 are the last rows of the imaginary plane.
  T* negative_lags(T* work) const { return work + (m() - s.before) * 2 * lanes() + lanes(); }

  Tensor spectra(const Tensor& t) const {
    Tensor out = Tensor::empty(layout(), t.dtype());
    T* to = out.mutable_data<T>();
    const auto coefficients = toeplitz_input<T>(t);
    const int64_t after = t.shape()[1] - s.before;
    for_tasks(tiles(), 0, [&](int64_t index, T*) {
      const auto from = tile(coefficients, 0, index);
      T* work = to + index * spectrum();
      std::fill_n(work, spectrum(), T(0));
      move.gather(after, from.up_from(s.before), work);
      move.gather(s.before, from.up_from(0), negative_lags(work));
      kernel.coefficients(ring(), work);
    });
    return out;
  }

  // Computes y = T x, or the product with the transpose of T. The batch is the inner loop, because its rows share the
  // spectrum.
  void multiply(const Tensor& x, const Tensor& coefficients, bool transposed, Tensor& y) const {
    const auto in = toeplitz_input<T>(x);
    const auto out = toeplitz_output<T>(y);
    for_tasks((tiles() + 1) / 2 * s.b, 1, [&](int64_t task, T* work) {
      const int64_t first = task / s.b * 2, batch = task % s.b, end = std::min(first + 2, tiles());
      for (int64_t index = first; index < end; ++index) {
        const auto from = tile(in, batch, index);
        const auto to = tile(out, batch, index);
        const auto next = index + 1 < end ? tile(in, batch, index + 1) : tile(in, std::min(batch + 1, s.b - 1), first);
        kernel.multiply(ring(), s.n, from.up_from(0), coefficients.data<T>() + index * spectrum(), transposed,
                        to.up_from(0), next.up_from(0), work);
      }
    });
  }

  // Computes dt. Also computes dx, unless it is undefined. Each tile sums over the batch in order.
  void correlate(const Tensor& x, const Tensor& dy, const Tensor& coefficients, Tensor& dx, Tensor& dt) const {
    const auto in = toeplitz_input<T>(x), cotangent = toeplitz_input<T>(dy);
    const auto lags = toeplitz_output<T>(dt);
    const auto out = dx.defined() ? toeplitz_output<T>(dx) : ToeplitzOperand<T>(nullptr, dy);
    const T* spectra = dx.defined() ? coefficients.data<T>() : nullptr;
    for_tasks(tiles(), 3, [&](int64_t index, T* work) {
      T *sum = work, *x_spectrum = work + spectrum(), *buffer = x_spectrum + spectrum();
      std::fill_n(sum, spectrum(), T(0));
      for (int64_t batch = 0; batch < s.b; ++batch) {
        const auto from = tile(in, batch, index), gradient = tile(cotangent, batch, index);
        const auto next = tile(in, std::min(batch + 1, s.b - 1), index);
        kernel.spectrum(ring(), s.n, from.up_from(0), gradient.up_from(0), x_spectrum);
        if (dx.defined()) {
          const auto to = tile(out, batch, index);
          kernel.correlate(ring(), s.n, x_spectrum, gradient.up_from(0), spectra + index * spectrum(), to.up_from(0),
                           next.up_from(0), sum, buffer);
        } else {
          kernel.correlate(ring(), s.n, x_spectrum, gradient.up_from(0), nullptr, {}, next.up_from(0), sum, buffer);
        }
      }
      kernel.remainder(ring(), sum);
      const auto to = tile(lags, 0, index);
      move.scatter(dt.shape()[1] - s.before, nullptr, sum, false, T(1), to.up_from(s.before));
      move.scatter(s.before, nullptr, negative_lags(sum), false, T(1), to.up_from(0));
    });
  }
};

}  // namespace

bool toeplitz_spectra_fit(const Tensor& spectra, const Tensor& t, const ToeplitzSizes& s) {
  return with_real(s.op, t.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const RingForm<T> form{s, t.shape()[0] * t.shape()[2]};
    return spectra.dtype() == t.dtype() && spectra.shape() == form.layout();
  });
}

Tensor toeplitz_spectra(const Tensor& t, const ToeplitzSizes& s) {
  return with_real(s.op, t.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    return RingForm<T>{s, t.shape()[0] * t.shape()[2]}.spectra(t);
  });
}

Tensor toeplitz_ring(const Tensor& x, const Tensor& spectra, const ToeplitzSizes& s) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  with_real(s.op, x.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    RingForm<T>{s, channels_of(x)}.multiply(x, spectra, false, y);
  });
  return y;
}

ToeplitzGradients toeplitz_ring_backward(const Tensor& x, const Tensor& dy, const Tensor& spectra, const Shape& t_shape,
                                         const ToeplitzSizes& s, bool needs_x, bool needs_t) {
  ToeplitzGradients g;
  if (needs_x) g.x = Tensor::empty(dy.shape(), dy.dtype());
  if (needs_t) g.t = Tensor::empty(t_shape, dy.dtype());
  with_real(s.op, dy.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const RingForm<T> form{s, channels_of(dy)};
    if (needs_t) form.correlate(x, dy, spectra, g.x, g.t);
    else if (needs_x) form.multiply(dy, spectra, true, g.x);
  });
  return g;
}

}  // namespace weft::detail
