// Toeplitz products by their definition and by matrices.
#include <algorithm>

#include "base/common.h"
#include "dense/gemm.h"
#include "spectral/kernels/fft.h"
#include "spectral/kernels/toeplitz_naive.h"
#include "spectral/toeplitz.h"
#include "weft/context.h"

namespace weft::detail {
namespace {

using std::int64_t;

// Multiply-adds per task. Larger: threads are idle at the end. Smaller: more overhead per task.
// bench: weft-bench --benchmark_filter=toeplitz-naive
constexpr int64_t task_work = 1 << 16;

template <class T>
struct NaiveForm {
  const ToeplitzSizes& s;
  int64_t channels;
  const ToeplitzNaiveKernels<T>& kernel = kernels<ToeplitzNaiveKernels<T>>();
  const FftKernels<T>& move = kernels<FftKernels<T>>();

  int64_t lanes() const { return move.lanes; }
  int64_t tiles() const { return (channels + lanes() - 1) / lanes(); }
  int64_t row() const { return 2 * lanes(); }
  int64_t lags() const { return s.before + s.n; }

  template <class U>
  auto tile(const ToeplitzOperand<U>& x, int64_t batch, int64_t index) const {
    return x.tile(batch, index * lanes(), std::min(lanes(), channels - index * lanes()));
  }

  // Calls f(index, scratch) for index < n, with scratch memory for `rows` rows of two planes.
  template <class F>
  void for_tasks(int64_t n, int64_t rows, F f) const {
    const int64_t side = std::min<int64_t>(s.n, task_work);  // limited, so that its square does not overflow
    const int64_t grain = std::max<int64_t>(1, task_work / (side * side * lanes()));
    const auto bytes = static_cast<std::size_t>(rows * row()) * sizeof(T);
    Context::current().parallel_for(n, grain, bytes, [&](int64_t begin, int64_t end, void* scratch) {
      for (int64_t index = begin; index < end; ++index) f(index, static_cast<T*>(scratch));
    });
  }

  // y = T x. If transposed, both x and y are in reverse order: y_(n-1-i) = Σ_j t_(i-j) x_(n-1-j).
  void multiply(const Tensor& x, const Tensor& t, bool transposed, Tensor& y) const {
    const auto in = toeplitz_input<T>(x), coefficients = toeplitz_input<T>(t);
    const auto out = toeplitz_output<T>(y);
    for_tasks(tiles() * s.b, lags() + s.n, [&](int64_t task, T* work) {
      const int64_t index = task / s.b, batch = task % s.b;
      T *from = work + lags() * row(), *to = from + lanes();
      const auto source = tile(in, batch, index);
      const auto target = tile(out, batch, index);
      move.gather(lags(), tile(coefficients, 0, index).up_from(0), work);
      move.gather(s.n, transposed ? source.down_from(s.n - 1) : source.up_from(0), from);
      kernel.multiply(s.n, work + s.before * row(), from, s.causal, false, to);
      move.scatter(s.n, nullptr, to, false, T(1), transposed ? target.down_from(s.n - 1) : target.up_from(0));
    });
  }

  // dt_l = Σ_batch Σ_j dy_(j+l) x_j, computed as causal products with lags in reverse order:
  //   l = n-1-i: Σ_(j<=i) dy_(n-1-(i-j)) x_j,   l = i-(n-1): Σ_(j<=i) x_(n-1-(i-j)) dy_j
  void correlate(const Tensor& x, const Tensor& dy, Tensor& dt) const {
    const auto in = toeplitz_input<T>(x), cotangent = toeplitz_input<T>(dy);
    const auto out = toeplitz_output<T>(dt);
    for_tasks(tiles(), 3 * s.n, [&](int64_t index, T* work) {
      const int64_t next = s.n * row();
      T *a = work, *a_back = a + lanes(), *d = work + next, *d_back = d + lanes();
      T *right = work + 2 * next, *left = right + lanes();
      for (int64_t batch = 0; batch < s.b; ++batch) {
        const auto source = tile(in, batch, index), gradient = tile(cotangent, batch, index);
        move.gather(s.n, source.up_from(0), a);
        move.gather(s.n, gradient.down_from(s.n - 1), d_back);
        kernel.multiply(s.n, d_back, a, true, batch > 0, right);
        if (s.causal) continue;
        move.gather(s.n, source.down_from(s.n - 1), a_back);
        move.gather(s.n, gradient.up_from(0), d);
        kernel.multiply(s.n, a_back, d, true, batch > 0, left);
      }
      const auto to = tile(out, 0, index);
      move.scatter(s.n, nullptr, right, false, T(1), to.down_from(s.before + s.n - 1));
      if (!s.causal) move.scatter(s.before, nullptr, left, false, T(1), to.up_from(0));
    });
  }
};

// Returns t with zeros for the lags below 0.
Tensor with_all_lags(const Tensor& t, const ToeplitzSizes& s) {
  if (!s.causal) return t;
  const int64_t h = t.shape()[0], d = t.shape()[2];
  Tensor all = Tensor::zeros({h, 2 * s.n - 1, d}, t.dtype());
  Tensor upper = all.view(t.shape(), all.strides(), (s.n - 1) * d);
  raw::copy(t, upper);
  return all;
}

}  // namespace

Tensor toeplitz_naive(const Tensor& x, const Tensor& t, const ToeplitzSizes& s) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  with_real(s.op, x.dtype(), [&](auto* type) {
    NaiveForm<element_of<decltype(type)>>{s, channels_of(x)}.multiply(x, t, false, y);
  });
  return y;
}

ToeplitzGradients toeplitz_naive_backward(const Tensor& x, const Tensor& dy, const Tensor& t, const Shape& t_shape,
                                          const ToeplitzSizes& s, bool needs_x, bool needs_t) {
  ToeplitzGradients g;
  if (needs_x) g.x = Tensor::empty(dy.shape(), dy.dtype());
  if (needs_t) g.t = Tensor::empty(t_shape, dy.dtype());
  with_real(s.op, dy.dtype(), [&](auto* type) {
    const NaiveForm<element_of<decltype(type)>> form{s, channels_of(dy)};
    if (needs_x) form.multiply(dy, t, true, g.x);
    if (needs_t) form.correlate(x, dy, g.t);
  });
  return g;
}

// For each channel, y (n, b) = T (n, n) x (n, b), where T is a view of t.
Tensor toeplitz_matrix(const Tensor& x, const Tensor& t, const ToeplitzSizes& s, bool transposed) {
  Tensor y = Tensor::empty(x.shape(), x.dtype());
  const Tensor lags = with_all_lags(t, s);
  const Strides &a = lags.strides(), &b = x.strides(), &c = y.strides();
  with_real(s.op, x.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const int64_t lag = transposed ? -a[1] : a[1];
    GemmProblem<T> g{s.n,
                     s.b,
                     s.n,
                     {lags.data<T>() + (s.n - 1) * a[1], lag, -lag},
                     {x.data<T>(), b[2], b[0]},
                     {y.mutable_data<T>(), c[2], c[0]}};
    g.batch = {{x.shape()[1], a[0], b[1], c[1]}, {x.shape()[3], a[2], b[3], c[3]}};
    gemm(g);
  });
  return y;
}

}  // namespace weft::detail
