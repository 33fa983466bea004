// toeplitz_product and circulant_product.
#include "spectral/toeplitz.h"

#include <array>
#include <mutex>
#include <new>

#include "base/common.h"
#include "spectral/border.h"
#include "spectral/fft_plan.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/spectral.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;

// Modeled times of a channel's products, in the units of fft_cost. term_cost is the time of a term of the naive form.
// spectrum_cost is the time of an element of a product of spectra, including the copies. They determine the minimum
// length for the ring form. The naive form costs n² terms. The ring form has only O(log n) passes but costs more for
// each element. Larger term_cost, or smaller spectrum_cost: the ring form is used for shorter lengths.
// bench: weft-bench --benchmark_filter='toeplitz(-naive)?/8x(16|64|256|512)x'
constexpr double term_cost = 0.15;
constexpr double spectrum_cost = 1.0;

// A cache of fft_fast_length for the most recent lengths, because its search takes as long as a small product. It is
// thread-safe. 64 entries take 1 KiB, and no program alternates between more lengths.
class FastLengths {
 public:
  int64_t of(int64_t n) {
    const std::lock_guard<std::mutex> lock(mutex_);
    Entry& entry = entries_[static_cast<std::size_t>(n) % entries_.size()];
    if (entry.n != n) entry = {n, fft_fast_length(n)};
    return entry.fast;
  }

 private:
  struct Entry {
    int64_t n = 0, fast = 0;
  };
  std::mutex mutex_;
  std::array<Entry, 64> entries_;
};

void check_coefficients(const char* op, const Tensor& x, const Tensor& t) {
  if (x.dtype() == DType::bf16 && t.dtype() != DType::f32)
    fail(op, "expected coefficients of dtype f32 for a bf16 x, got " + describe(t));
}

// Returns x (b, n, d) as (b, 1, n, d), or c (n, d) as (1, n, d).
Tensor with_head(const Tensor& x) {
  const auto at = static_cast<std::ptrdiff_t>(x.rank() - 2);
  Shape shape = x.shape();
  Strides strides = x.strides();
  shape.insert(shape.begin() + at, 1);
  strides.insert(strides.begin() + at, 0);
  return x.view(shape, strides, x.offset());
}

// Does the inverse of with_head for a contiguous result.
Tensor without_head(const Tensor& y, const Shape& shape) {
  return y.view(shape, contiguous_strides(shape), y.offset());
}

// y_i = Σ_j t_(i-j) x_j over j < n, or over j <= i if causal.
// dx_j = Σ_i t_(i-j) dy_i,  dt_l = Σ_batch Σ_j dy_(j+l) x_j. The matrix form computes dt by the definition.
struct ToeplitzOp : Op {
  bool causal;
  ToeplitzForm form;
  Tensor spectra;  // given by the caller, or saved for backward

  ToeplitzOp(bool c, ToeplitzForm f, const Tensor& given) : causal(c), form(f), spectra(given) {}
  const char* name() const noexcept override { return "toeplitz_product"; }

  Shape shape(const Inputs& in) const override {
    const Tensor &x = in[0], &t = in[1];
    check_same_dtype(name(), x, t);
    check_real(name(), x);
    if (form < ToeplitzForm::automatic || form > ToeplitzForm::ring)
      fail(name(), "expected a value of ToeplitzForm, got " + std::to_string(static_cast<int>(form)));
    const bool fits = x.rank() == 4 && x.shape()[2] >= 1 &&
                      t.shape() == Shape{x.shape()[1], causal ? x.shape()[2] : 2 * x.shape()[2] - 1, x.shape()[3]};
    if (!fits)
      fail(name(), std::string("expected x of shape (b, h, n, d) with n >= 1 and t of shape (h, ") +
                       (causal ? "n" : "2n-1") + ", d), got " + describe(x) + " and " + describe(t));
    return x.shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    const ToeplitzSizes s = sizes(shape);
    if (numel(shape) == 0) return Tensor::empty(shape, in[0].dtype());
    if (form == ToeplitzForm::automatic) form = toeplitz_form(s.b, shape[1], s.n, shape[3], causal);
    if (form == ToeplitzForm::naive) return toeplitz_naive(in[0], in[1], s);
    if (form == ToeplitzForm::matrix) return toeplitz_matrix(in[0], in[1], s, false);
    const Tensor made = spectra_of(in[1], s);
    spectra = recording ? made : Tensor();
    return toeplitz_ring(in[0], made, s);
  }

  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return needs[1 - i]; }

  void backward(Backward& b) const override {
    const Tensor x = b.needs(1) ? b.input(0) : Tensor(), t = b.needs(0) ? b.input(1) : Tensor();
    const ToeplitzGradients g = gradients(x, t, b.gradient(), b.input_shape(1), b.needs(0), b.needs(1));
    if (b.needs(0)) b.add(0, g.x);
    if (b.needs(1)) b.add(1, g.t);
  }

  // x may be undefined unless needs_t is true, and t unless needs_x is true. `form` is not `automatic`, unless there
  // are no elements.
  ToeplitzGradients gradients(const Tensor& x, const Tensor& t, const Tensor& dy, const Shape& t_shape, bool needs_x,
                              bool needs_t) const {
    ToeplitzGradients g;
    if (dy.numel() == 0) {
      if (needs_x) g.x = Tensor::empty(dy.shape(), dy.dtype());
      if (needs_t) g.t = Tensor::zeros(t_shape, dy.dtype());
      return g;
    }
    const ToeplitzSizes s = sizes(dy.shape());
    if (form == ToeplitzForm::ring)
      return toeplitz_ring_backward(x, dy, needs_x ? spectra_of(t, s) : Tensor(), t_shape, s, needs_x, needs_t);
    const bool naive = form == ToeplitzForm::naive;
    g = toeplitz_naive_backward(x, dy, t, t_shape, s, naive && needs_x, needs_t);
    if (!naive && needs_x) g.x = toeplitz_matrix(dy, t, s, true);
    return g;
  }

 private:
  ToeplitzSizes sizes(const Shape& x) const {
    const int64_t n = x[2];
    return {name(), x[0], n, causal ? 0 : n - 1, causal};
  }
  Tensor spectra_of(const Tensor& t, const ToeplitzSizes& s) const {
    return spectra.defined() && toeplitz_spectra_fit(spectra, t, s) ? spectra : toeplitz_spectra(t, s);
  }
};

// y_i = Σ_j c_((i-j) mod n) x_j. This is the Toeplitz product with t_l = c_(l mod n), l = -(n-1) … n-1. dc_k = dt_k +
// dt_(k-n)
struct CirculantOp : Op {
  const char* name() const noexcept override { return "circulant_product"; }

  Shape shape(const Inputs& in) const override {
    const Tensor &x = in[0], &c = in[1];
    check_same_dtype(name(), x, c);
    check_real(name(), x);
    if (x.rank() != 3 || x.shape()[1] < 1 || c.shape() != Shape{x.shape()[1], x.shape()[2]})
      fail(name(), "expected x of shape (b, n, d) with n >= 1 and c of shape (n, d), got " + describe(x) + " and " +
                       describe(c));
    return x.shape();
  }

  Tensor forward(const Inputs& in, const Shape& shape) override {
    if (numel(shape) == 0) return Tensor::empty(shape, in[0].dtype());
    const ToeplitzSizes s = sizes(shape);
    return without_head(toeplitz_ring(with_head(in[0]), toeplitz_spectra(all_lags(in[1]), s), s), shape);
  }

  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return needs[1 - i]; }

  void backward(Backward& b) const override {
    const Tensor& dy = b.gradient();
    const Shape &x_shape = b.input_shape(0), &c_shape = b.input_shape(1);
    if (dy.numel() == 0) {
      if (b.needs(0)) b.add(0, Tensor::empty(x_shape, dy.dtype()));
      if (b.needs(1)) b.add(1, Tensor::zeros(c_shape, dy.dtype()));
      return;
    }
    const ToeplitzSizes s = sizes(x_shape);
    const Tensor made = b.needs(0) ? toeplitz_spectra(all_lags(b.input(1)), s) : Tensor();
    const Tensor x = b.needs(1) ? with_head(b.input(0)) : Tensor();
    const ToeplitzGradients g =
        toeplitz_ring_backward(x, with_head(dy), made, {1, 2 * s.n - 1, c_shape[1]}, s, b.needs(0), b.needs(1));
    if (b.needs(0)) b.add(0, without_head(g.x, x_shape));
    if (b.needs(1)) b.add(1, folded(g.t, c_shape));
  }

 private:
  ToeplitzSizes sizes(const Shape& x) const { return {name(), x[0], x[1], x[1] - 1, false}; }

  // Returns c_1 … c_(n-1) c_0 … c_(n-1), as (1, 2n-1, d).
  static Tensor all_lags(const Tensor& c) {
    const int64_t n = c.shape()[0], d = c.shape()[1];
    Tensor t = Tensor::empty({1, 2 * n - 1, d}, c.dtype());
    Tensor lower = t.view({n - 1, d}, {d, 1}, 0), upper = t.view({n, d}, {d, 1}, (n - 1) * d);
    raw::copy(c.view({n - 1, d}, c.strides(), c.offset() + c.strides()[0]), lower);
    raw::copy(c, upper);
    return t;
  }

  static Tensor folded(const Tensor& dt, const Shape& shape) {
    const int64_t n = shape[0], d = shape[1];
    Tensor dc = Tensor::empty(shape, dt.dtype());
    raw::copy(dt.view(shape, {d, 1}, (n - 1) * d), dc);
    Tensor upper = dc.view({n - 1, d}, {d, 1}, n > 1 ? d : 0);
    raw::accumulate(upper, dt.view({n - 1, d}, {d, 1}, 0));
    return dc;
  }
};

}  // namespace

ToeplitzForm toeplitz_form(int64_t b, int64_t h, int64_t n, int64_t d, bool causal) {
  if (b < 0 || h < 0 || n < 1 || d < 0)
    fail("toeplitz_form", "expected b, h, d >= 0 and n >= 1, got " + to_string({b, h, n, d}));
  const auto rows = static_cast<double>(b), terms = static_cast<double>(n) * static_cast<double>(n) / (causal ? 2 : 1);
  if (n > (int64_t{1} << 30)) return ToeplitzForm::ring;
  const int64_t m = Context::current().slot<FastLengths>().of(n);
  const double transforms = (2 * rows + 1) * fft_cost(m) + rows * spectrum_cost * static_cast<double>(m);
  return rows * terms * term_cost <= transforms ? ToeplitzForm::naive : ToeplitzForm::ring;
}

Tensor toeplitz_product(const Tensor& x, const Tensor& t, bool causal, ToeplitzForm form) {
  check_coefficients("toeplitz_product", x, t);
  return in_f32(x, [&](const Tensor& given) { return apply_op(ToeplitzOp(causal, form, {}), given, t); });
}

ToeplitzGradients toeplitz_gradients(const Tensor& x, const Tensor& t, const Tensor& gradient, bool causal,
                                     bool needs_x, bool needs_t, ToeplitzForm form) {
  constexpr const char* name = "toeplitz_gradients";
  check_coefficients(name, x, t);
  if (!gradient.defined() || gradient.shape() != x.shape() || gradient.dtype() != x.dtype())
    fail(name, "expected gradient to be " + describe(x) + ", like x, got " + describe(gradient));
  return guard_memory(name, [&] {
    const DType dtype = computed_of(x.dtype());
    const Tensor a = raw::convert(x, dtype), dy = raw::convert(gradient, dtype);
    ToeplitzOp op(causal, form, {});
    const Shape shape = op.shape({a, t});
    if (form == ToeplitzForm::automatic && numel(shape) > 0)
      op.form = toeplitz_form(shape[0], shape[1], shape[2], shape[3], causal);
    ToeplitzGradients g = op.gradients(a, t, dy, t.shape(), needs_x, needs_t);
    if (needs_x) g.x = raw::convert(g.x, x.dtype());
    return g;
  });
}

ToeplitzCoefficients::ToeplitzCoefficients(const Tensor& t, bool causal, int64_t b, ToeplitzForm form)
    : t_(t), causal_(causal), form_(form) {
  constexpr const char* op = "toeplitz_coefficients";
  check_real(op, t);
  if (t.rank() != 3 || t.shape()[1] < 1 || (!causal && t.shape()[1] % 2 == 0))
    fail(op,
         std::string("expected t of shape (h, ") + (causal ? "n" : "2n-1") + ", d) with n >= 1, got " + describe(t));
  const int64_t h = t.shape()[0], n = causal ? t.shape()[1] : t.shape()[1] / 2 + 1, d = t.shape()[2];
  if (form_ == ToeplitzForm::automatic) form_ = toeplitz_form(b, h, n, d, causal);
  if (form_ == ToeplitzForm::ring && t.numel() > 0)
    spectra_ = guard_memory(op, [&] { return toeplitz_spectra(t, {op, b, n, causal ? 0 : n - 1, causal}); });
  version_ = t.version();
}

Tensor toeplitz_product(const Tensor& x, const ToeplitzCoefficients& c) {
  if (c.t_.version() != c.version_)
    fail("toeplitz_product", "the coefficients were written after their spectra were computed");
  check_coefficients("toeplitz_product", x, c.t_);
  return in_f32(x,
                [&](const Tensor& given) { return apply_op(ToeplitzOp(c.causal_, c.form_, c.spectra_), given, c.t_); });
}

Tensor circulant_product(const Tensor& x, const Tensor& c) {
  check_coefficients("circulant_product", x, c);
  return in_f32(x, [&](const Tensor& given) { return apply_op(CirculantOp(), given, c); });
}

}  // namespace weft
