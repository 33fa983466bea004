// fourier_mix.
#include <algorithm>

#include "common.h"
#include "fft_columns.h"
#include "weft/context.h"

namespace weft {
namespace {

constexpr std::int64_t grain = 1 << 14;  // elements a task

// y[…, k, …, d-l, …] = y[…, (n-k) mod n, …, l, …] for the hidden elements d-l that `half` (0 … d/2) doesn't hold.
template <class T>
void mirror(const Tensor& half, std::size_t sequence, std::size_t hidden, Tensor& y) {
  const std::int64_t n = y.shape()[sequence], d = y.shape()[hidden], bins = d / 2 + 1;
  const Strides &from = half.strides(), &to = y.strides();
  const T* x = half.data<T>();
  T* out = y.mutable_data<T>();
  const std::int64_t rows_a_task = std::max<std::int64_t>(1, grain / d);
  Context::current().parallel_for(y.numel() / d, rows_a_task, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      std::int64_t rest = row, a = 0, b = 0, c = 0;  // offsets in half, in half at (n-k) mod n, in y
      for (std::size_t i = y.shape().size(); i-- > 0;) {
        if (i == hidden) continue;
        const std::int64_t at = rest % y.shape()[i];
        rest /= y.shape()[i];
        a += at * from[i];
        b += (i == sequence ? (n - at) % n : at) * from[i];
        c += at * to[i];
      }
      for (std::int64_t l = 0; l < bins; ++l) out[c + l * to[hidden]] = x[a + l * from[hidden]];
      for (std::int64_t l = bins; l < d; ++l) out[c + l * to[hidden]] = x[b + (d - l) * from[hidden]];
    }
  });
}

// y_kl = Re Σ_s Σ_h x_sh exp(-2πi (sk/n + hl/d)). With z_sl = Σ_h x_sh exp(-2πi hl/d), l <= d/2, the real transform
// along hidden: y_kl = Re Σ_s z_sl exp(-2πi sk/n), and the other half is y_k(d-l) = y_(-k)l, as x is real.
// The operation is symmetric in (s,h) and (k,l): its backward is itself.
struct FourierMixOp : Op {
  std::int64_t sequence_dim, hidden_dim;

  FourierMixOp(std::int64_t sequence, std::int64_t hidden) : sequence_dim(sequence), hidden_dim(hidden) {}
  const char* name() const noexcept override { return "fourier_mix"; }

  Shape shape(const Inputs& in) const override {
    const Tensor& x = in[0];
    check_real(name(), x);
    const std::size_t sequence = checked_dim(name(), sequence_dim, x.rank());
    const std::size_t hidden = checked_dim(name(), hidden_dim, x.rank());
    if (sequence == hidden) fail(name(), "sequence and hidden are the same axis of " + describe(x));
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
    Tensor y = Tensor::empty(x.shape(), x.dtype());
    if (y.numel() == 0) return y;
    Transform t{x.shape()[hidden], hidden, false, 1};
    t.half_out = 1;
    const Tensor z = transform(name(), x, t);
    t = {x.shape()[sequence], sequence, false, 1};
    t.real_out = true;
    const Tensor half = transform(name(), z, t);
    with_real(name(), x.dtype(), [&](auto* type) { mirror<element_of<decltype(type)>>(half, sequence, hidden, y); });
    return y;
  }
};

}  // namespace

Tensor fourier_mix(const Tensor& x, std::int64_t sequence_dim, std::int64_t hidden_dim) {
  return apply(FourierMixOp(sequence_dim, hidden_dim), {x});
}

}  // namespace weft
