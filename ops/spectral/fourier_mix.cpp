// fourier_mix: the real part of Fourier transforms along the sequence axis and the hidden axis.
#include <algorithm>

#include "base/common.h"
#include "spectral/border.h"
#include "spectral/fft_derived_plans.h"
#include "spectral/fft_driver.h"
#include "spectral/kernels/fft.h"
#include "weft/context.h"
#include "weft/spectral.h"

namespace weft {
using namespace detail;

namespace {

using std::int64_t;

// Transforms z (…, n/2 + 1, …, d), which contains the spectra along the sequence:
//   y[…, k, …, l] = Re Σ_h z[…, k, …, h] exp(-2πi hl/d),  y[…, n-k, …, d-l] = y[…, k, …, l]  (indices modulo n and d)
template <class T>
void hidden_transform(const FftPlan<T>& plan, const Tensor& z, std::size_t sequence, std::size_t hidden, Tensor& y) {
  const FftKernels<T>& kernel = kernels<FftKernels<T>>();
  const int64_t n = y.shape()[sequence], d = y.shape()[hidden], lanes = kernel.lanes;
  const Columns from(z, hidden);
  const Columns to(y.view(z.shape(), y.strides(), y.offset()), hidden);
  const int64_t row_step = y.strides()[sequence];
  const T* x = static_cast<const T*>(z.raw());
  T* out = y.mutable_data<T>();
  const int64_t tiles = (from.count() - 1) / lanes + 1;
  const auto bytes = static_cast<std::size_t>(plan.rows() * 2 * lanes) * sizeof(T);
  Context::current().parallel_for(
      tiles, std::max<int64_t>(1, task_elements / (d * lanes)), bytes, [&](int64_t begin, int64_t end, void* scratch) {
        T* work = static_cast<T*>(scratch);
        for (int64_t tile = begin; tile < end; ++tile) {
          const int64_t first = tile * lanes, count = std::min(lanes, from.count() - first);
          int64_t offset[max_lanes], mirror[max_lanes];
          from.offsets(first, count, offset);
          kernel.gather_complex(d, {x, from.step(), offset, count}, work);
          kernel.forward(plan.view(), work);
          to.offsets(first, count, offset);
          for (int64_t c = 0; c < count; ++c) {
            const int64_t k = from.index_along(first + c, sequence);
            mirror[c] = offset[c] + ((n - k) % n - k) * row_step;
          }
          kernel.scatter_mirrored(d, plan.view().row_of_bin, work, {out, to.step(), offset, count}, mirror);
        }
      });
}

void mix(const char* op, const Tensor& x, std::size_t sequence, std::size_t hidden, Tensor& y) {
  AxisTransform t{x.shape()[sequence], sequence, false, 1};
  t.wanted_weight = 1;
  with_real(op, x.dtype(), [&](auto* type) {
    // The plan is made first, so that its errors occur before z is allocated.
    const auto plan = fft_plan<element_of<decltype(type)>>(op, x.shape()[hidden]);
    hidden_transform(*plan, transform_axis(op, x, t), sequence, hidden, y);
  });
}

// Returns element i along the axis, as a view.
Tensor sample(const Tensor& x, std::size_t axis, int64_t i) {
  Shape shape = x.shape();
  shape[axis] = 1;
  return x.view(shape, x.strides(), x.offset() + i * x.strides()[axis]);
}

// If there are enough samples for all threads, one thread mixes each sample, so that z stays in the thread's cache. The
// bits of the results do not depend on this choice: even a single sample has enough columns to be transformed side by
// side, like all samples together.
static_assert(task_elements / (2 * longest_side_by_side) >= max_lanes);
void mix_samples(const char* op, const Tensor& x, std::size_t sequence, std::size_t hidden, Tensor& y) {
  int64_t samples = 2 * Context::current().threads();
  std::size_t batch = x.shape().size();
  if (x.shape()[sequence] * x.shape()[hidden] < task_elements) return mix(op, x, sequence, hidden, y);
  for (std::size_t i = 0; i < x.shape().size(); ++i)
    if (i != sequence && i != hidden && x.shape()[i] >= samples) samples = x.shape()[batch = i];
  if (batch == x.shape().size()) return mix(op, x, sequence, hidden, y);
  Context::current().parallel_for(x.shape()[batch], 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Tensor part = sample(y, batch, i);
      mix_samples(op, sample(x, batch, i), sequence, hidden, part);
    }
  });
}

// y_kl = Re Σ_s Σ_h x_sh exp(-2πi (sk/n + hl/d)). The half of y with k <= n/2 comes from the real transform along the
// sequence. The other half follows by symmetry, because x is real. The operation is symmetric in (s,h) and (k,l), so it
// is its own backward.
struct FourierMixOp : Op {
  std::int64_t sequence_dim, hidden_dim;

  FourierMixOp(std::int64_t sequence, std::int64_t hidden) : sequence_dim(sequence), hidden_dim(hidden) {}
  const char* name() const noexcept override { return "fourier_mix"; }

  Shape shape(const Inputs& in) const override {
    const Tensor& x = in[0];
    check_real(name(), x);
    const std::size_t sequence = checked_dim(name(), sequence_dim, x.rank());
    const std::size_t hidden = checked_dim(name(), hidden_dim, x.rank());
    if (sequence == hidden)
      fail(name(), "expected different axes for sequence and hidden, got the same axis of " + describe(x));
    if (x.shape()[sequence] < 1 || x.shape()[hidden] < 1)
      fail(name(), "expected sequence and hidden axes of at least 1, got " + describe(x));
    return x.shape();
  }

  Tensor forward(const Inputs& in, const Shape&) override { return mixed(in[0]); }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override { b.add(0, mixed(b.gradient())); }

 private:
  Tensor mixed(const Tensor& x) const {
    const std::size_t sequence = checked_dim(name(), sequence_dim, x.rank());
    const std::size_t hidden = checked_dim(name(), hidden_dim, x.rank());
    make_plans(x, sequence, hidden);
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    if (y.numel() > 0) mix_samples(name(), x, sequence, hidden, y);
    return y;
  }

  // Makes the plans before the threads need them. If a length is too long, this throws an Error before anything is
  // computed.
  void make_plans(const Tensor& x, std::size_t sequence, std::size_t hidden) const {
    const int64_t n = x.shape()[sequence];
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      (void)fft_plan<T>(name(), x.shape()[hidden]);
      const bool four_steps =
          real_rows_in_four_steps(n, x.strides()[sequence], sequence + 1 == x.shape().size() ? 2 : 0);
      if (four_steps) (void)real_four_step_plan<T>(name(), n);
      if (n % 2 != 0) (void)fft_plan<T>(name(), n);
      else if (!four_steps || n / 2 <= longest_side_by_side) (void)real_fft_plan<T>(name(), n);
    });
  }
};

}  // namespace

Tensor fourier_mix(const Tensor& x, std::int64_t sequence_dim, std::int64_t hidden_dim) {
  return in_f32(x, [&](const Tensor& given) { return apply_op(FourierMixOp(sequence_dim, hidden_dim), given); });
}

}  // namespace weft
