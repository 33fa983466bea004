// Toeplitz products by Fourier transforms, with sums over lags modulo a cycle that is long enough for what wraps around
// to fall on elements that nobody reads. T̂, X̂, D̂ are the transforms of t, x and dy, padded with zeros:
//   ŷ = T̂ X̂,  dx̂ = conj(T̂) D̂,  dt̂ = Σ_batch D̂ conj(X̂)
#include <algorithm>
#include <cstring>

#include "common.h"
#include "fft_plan.h"
#include "kernels/kernels.h"
#include "toeplitz.h"
#include "weft/context.h"

namespace weft {
namespace {

using std::int64_t;

constexpr int64_t task_elements = 1 << 14;

template <class T>
struct FftForm {
  const ToeplitzSizes& s;
  int64_t channels;
  const FftKernels<T>& kernel = kernels().fft.of<T>();
  std::shared_ptr<const FftPlan<T>> plan = fft_plan<T>("toeplitz_product", s.cycle);

  int64_t lanes() const { return kernel.lanes; }
  int64_t tiles() const { return (channels + lanes() - 1) / lanes(); }
  int64_t spectrum() const { return s.cycle * 2 * lanes(); }        // elements
  int64_t buffer() const { return plan->rows() * 2 * lanes(); }
  Shape layout() const { return {tiles(), s.cycle, 2, lanes()}; }
  T scale() const { return T(1) / static_cast<T>(s.cycle); }

  // Tile `index` of a batch row.
  template <class U>
  auto tile(const ToeplitzOperand<U>& x, int64_t batch, int64_t index) const {
    return x.tile(batch, index * lanes(), std::min(lanes(), channels - index * lanes()));
  }

  // Calls f(index, scratch) for index < n, with room for so many buffers.
  template <class F>
  void for_tasks(int64_t n, int64_t buffers, F f) const {
    const int64_t grain = std::max<int64_t>(1, task_elements / (s.cycle * lanes()));
    const auto bytes = static_cast<std::size_t>(buffers * buffer()) * sizeof(T);
    Context::current().parallel_for(n, grain, bytes, [&](int64_t begin, int64_t end, void* scratch) {
      for (int64_t index = begin; index < end; ++index) f(index, static_cast<T*>(scratch));
    });
  }

  // The transform of n rows and zeros; it overwrites both buffers and gives the one that holds it.
  T* transformed(const FftColumns<const T>& x, T* work, T* other) const {
    kernel.gather(s.n, x, work);
    for (int64_t k = 0; k < s.n; ++k) std::fill_n(work + (2 * k + 1) * lanes(), lanes(), T(0));
    std::fill(work + s.n * 2 * lanes(), work + spectrum(), T(0));
    return kernel.transform(plan->view(), work, other);
  }

  // The inverse of a spectrum with its planes exchanged: real parts, times the cycle's length.
  const T* real_inverse(T* work, T* other) const { return kernel.transform(plan->view(), work, other) + lanes(); }

  Tensor spectra(const Tensor& t) const {
    Tensor out = Tensor::empty(layout(), t.dtype());
    T* to = out.mutable_data<T>();
    const auto coefficients = toeplitz_input<T>(t);
    const int64_t lags = t.shape()[1];
    for_tasks(tiles(), 2, [&](int64_t index, T* work) {
      const auto from = tile(coefficients, 0, index);
      std::fill_n(work, spectrum(), T(0));
      kernel.gather(lags - s.before, from.up_from(s.before), work);
      kernel.gather(s.before, from.up_from(0), work + (s.cycle - s.before) * 2 * lanes());
      const T* result = kernel.transform(plan->view(), work, work + buffer());
      std::memcpy(to + index * spectrum(), result, static_cast<std::size_t>(spectrum()) * sizeof(T));
    });
    return out;
  }

  // y = T x, or its transpose's product.
  void multiply(const Tensor& x, const Tensor& coefficients, bool transposed, Tensor& y) const {
    const auto product = transposed ? kernel.multiply_conj : kernel.multiply;
    const auto in = toeplitz_input<T>(x);
    const auto out = toeplitz_output<T>(y);
    for_tasks(tiles() * s.b, 2, [&](int64_t task, T* work) {
      const int64_t index = task / s.b, batch = task % s.b;
      T* z = transformed(tile(in, batch, index).up_from(0), work, work + buffer());
      T* other = z == work ? work + buffer() : work;
      product(s.cycle, z, coefficients.data<T>() + index * spectrum(), z);
      kernel.scatter(s.n, real_inverse(z, other), scale(), tile(out, batch, index).up_from(0));
    });
  }

  // dt. A tile sums over the batch in its order. `each(index, batch, d̂, work, work)` may use dy's transforms, too.
  template <class F>
  void correlate(const Tensor& x, const Tensor& dy, Tensor& dt, F each) const {
    const auto in = toeplitz_input<T>(x), cotangent = toeplitz_input<T>(dy);
    const auto out = toeplitz_output<T>(dt);
    const int64_t after = dt.shape()[1] - s.before;
    for_tasks(tiles(), 4, [&](int64_t index, T* work) {
      T *sum = work, *a = work + buffer(), *b = a + buffer(), *c = b + buffer();
      std::fill_n(sum, spectrum(), T(0));
      for (int64_t batch = 0; batch < s.b; ++batch) {
        const T* d = transformed(tile(cotangent, batch, index).up_from(0), a, b);
        T* other = d == a ? b : a;
        each(index, batch, d, other, c);
        kernel.accumulate_conj(s.cycle, d, transformed(tile(in, batch, index).up_from(0), other, c), sum);
      }
      const T* lags = real_inverse(sum, a);
      const auto to = tile(out, 0, index);
      kernel.scatter(after, lags, scale(), to.up_from(s.before));
      kernel.scatter(s.before, lags + (s.cycle - s.before) * 2 * lanes(), scale(), to.up_from(0));
    });
  }

  void correlate_both(const Tensor& x, const Tensor& dy, const Tensor& coefficients, Tensor& dx, Tensor& dt) const {
    const auto out = toeplitz_output<T>(dx);
    correlate(x, dy, dt, [&](int64_t index, int64_t batch, const T* d, T* work, T* other) {
      kernel.multiply_conj(s.cycle, d, coefficients.data<T>() + index * spectrum(), work);
      kernel.scatter(s.n, real_inverse(work, other), scale(), tile(out, batch, index).up_from(0));
    });
  }
};

int64_t channels_of(const Tensor& x) { return x.shape()[1] * x.shape()[3]; }

}  // namespace

bool toeplitz_spectra_fit(const Tensor& spectra, const Tensor& t, const ToeplitzSizes& s) {
  return with_real("toeplitz_product", t.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const FftForm<T> form{s, t.shape()[0] * t.shape()[2]};
    return spectra.dtype() == t.dtype() && spectra.shape() == form.layout();
  });
}

Tensor toeplitz_spectra(const Tensor& t, const ToeplitzSizes& s) {
  return with_real("toeplitz_product", t.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    return FftForm<T>{s, t.shape()[0] * t.shape()[2]}.spectra(t);
  });
}

Tensor toeplitz_fft(const Tensor& x, const Tensor& spectra, const ToeplitzSizes& s) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  with_real("toeplitz_product", x.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    FftForm<T>{s, channels_of(x)}.multiply(x, spectra, false, y);
  });
  return y;
}

ToeplitzGradients toeplitz_fft_backward(const Tensor& x, const Tensor& dy, const Tensor& spectra, const Shape& t_shape,
                                        const ToeplitzSizes& s, bool needs_x, bool needs_t) {
  ToeplitzGradients g;
  if (needs_x) g.x = Tensor::empty(dy.shape(), dy.dtype());
  if (needs_t) g.t = Tensor::empty(t_shape, dy.dtype());
  with_real("toeplitz_product", dy.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const FftForm<T> form{s, channels_of(dy)};
    if (needs_x && needs_t) form.correlate_both(x, dy, spectra, g.x, g.t);
    else if (needs_t) form.correlate(x, dy, g.t, [](auto...) {});
    else if (needs_x) form.multiply(dy, spectra, true, g.x);
  });
  return g;
}

}  // namespace weft
