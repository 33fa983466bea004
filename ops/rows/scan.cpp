// Sums and products of all elements up to each: cumsum, cumprod.
#include <algorithm>

#include "base/common.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// A contiguous tensor as lines along an axis: element i of line (o, k) is at (o n + i) inner + k.
struct Lines {
  std::int64_t outer = 1, n = 1, inner = 1;

  Lines(const Shape& shape, std::size_t dim) : n(shape[dim]) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (i != dim) (i < dim ? outer : inner) *= shape[i];
  }
};

// Calls f(first, count) for the adjacent lines whose first elements lie at first … first + count - 1.
template <class F>
void for_lines(const Lines& lines, F f) {
  if (lines.n == 0 || lines.outer * lines.inner == 0) return;
  const std::int64_t grain = std::max<std::int64_t>(1, task_elements / lines.n);
  Context::current().parallel_for(lines.outer * lines.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t o = begin / lines.inner, k = begin % lines.inner;
      const std::int64_t count = std::min(end - begin, lines.inner - k);
      f(o * lines.n * lines.inner + k, count);
      begin += count;
    }
  });
}

// x in the dtype of computation, as a tensor of its own.
Tensor own_copy(const Tensor& x) {
  Tensor y = Tensor::empty(x.shape(), computed_of(x.dtype()));
  raw::copy(as_dtype(x, y.dtype()), y);
  return y;
}

// y_i = f(y_(i-1), x_i) along dim, in x's dtype.
template <class F>
Tensor scanned(const char* op, const Tensor& x, std::int64_t dim, F f) {
  Tensor y = own_copy(x);
  const Lines lines(y.shape(), checked_dim(op, dim, y.rank()));
  with_real(op, y.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    T* all = y.mutable_data<T>();
    for_lines(lines, [&](std::int64_t first, std::int64_t count) {
      T* before = all + first;
      for (std::int64_t i = 1; i < lines.n; ++i, before += lines.inner)
        for (std::int64_t k = 0; k < count; ++k) before[lines.inner + k] = f(before[k], before[lines.inner + k]);
    });
  });
  return as_dtype(y, x.dtype());
}

struct ScanOp : Op {
  std::int64_t dim;
  explicit ScanOp(std::int64_t axis) : dim(axis) {}
  Shape shape(const Inputs& in) const override {
    check_floating(name(), in[0]);
    (void)checked_dim(name(), dim, in[0].rank());
    return in[0].shape();
  }
};

// y_i = x_0 + … + x_i. dx_i = dy_i + … + dy_(n-1)
struct CumsumOp : ScanOp {
  using ScanOp::ScanOp;
  const char* name() const noexcept override { return "cumsum"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return scanned(name(), in[0], dim, [](auto sum, auto x) { return sum + x; });
  }
  void backward(Backward& b) const override { b.add(0, flip(cumsum(flip(b.gradient(), dim), dim), dim)); }
};

// y_i = x_0 · … · x_i. dx_i = Σ_(k >= i) dy_k Π_(j <= k, j ≠ i) x_j
struct CumprodOp : ScanOp {
  using ScanOp::ScanOp;
  const char* name() const noexcept override { return "cumprod"; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return scanned(name(), in[0], dim, [](auto product, auto x) { return product * x; });
  }

  // With s_i = dy_i + x_(i+1) s_(i+1), the sum over k >= i of dy_k Π_(i < j <= k) x_j, dx_i = s_i Π_(j < i) x_j. This
  // divides by nothing, so that zeros need no care.
  void backward(Backward& b) const override {
    const Tensor x = raw::contiguous(as_dtype(b.input(0), computed_of(b.input(0).dtype())));
    Tensor s = own_copy(b.gradient());
    const Lines lines(x.shape(), checked_dim(name(), dim, x.rank()));
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* sums = s.mutable_data<T>();
      for_lines(lines, [&](std::int64_t first, std::int64_t count) {
        const T* from = x.data<T>();
        for (std::int64_t i = lines.n - 2; i >= 0; --i)
          for (std::int64_t k = first; k < first + count; ++k)
            sums[i * lines.inner + k] += from[(i + 1) * lines.inner + k] * sums[(i + 1) * lines.inner + k];
        for (std::int64_t k = first; k < first + count; ++k) {
          T product = 1;
          for (std::int64_t i = 0; i < lines.n; ++i) {
            sums[i * lines.inner + k] *= product;
            product *= from[i * lines.inner + k];
          }
        }
      });
    });
    b.add(0, as_dtype(s, b.gradient().dtype()));
  }
};

}  // namespace

Tensor cumsum(const Tensor& x, std::int64_t dim) { return apply_op(CumsumOp(dim), x); }
Tensor cumprod(const Tensor& x, std::int64_t dim) { return apply_op(CumprodOp(dim), x); }

}  // namespace weft
