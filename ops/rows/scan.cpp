// cumsum and cumprod: cumulative sums and products along an axis.
#include <algorithm>

#include "base/lines.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// y_i = f(y_(i-1), x_i) along `rows` rows of n elements. In a row, each step waits for the previous one. Several rows
// are computed together, because their steps are independent.
template <int rows, class T, class F>
void scan_rows(const T* x, T* y, std::int64_t n, F f) {
  T last[rows];
  for (std::int64_t r = 0; r < rows; ++r) y[r * n] = last[r] = x[r * n];
  for (std::int64_t i = 1; i < n; ++i)
    for (std::int64_t r = 0; r < rows; ++r) y[r * n + i] = last[r] = f(last[r], x[r * n + i]);
}

template <class T, class F>
void scan(const Lines& lines, const T* x, T* y, F f) {
  const std::int64_t n = lines.n, inner = lines.inner;
  if (inner > 1) {
    for_lines(lines, [&](std::int64_t o, std::int64_t k, std::int64_t count) {
      const T* from = x + o * n * inner + k;
      T* to = y + o * n * inner + k;
      std::copy_n(from, count, to);
      for (std::int64_t i = 1; i < n; ++i, to += inner) {
        from += inner;
        for (std::int64_t j = 0; j < count; ++j) to[inner + j] = f(to[j], from[j]);
      }
    });
  } else if (n > 0 && inner == 1) {
    Context::current().parallel_for(lines.outer, rows_per_task(n), [&](std::int64_t r, std::int64_t end) {
      for (; r + 4 <= end; r += 4) scan_rows<4>(x + r * n, y + r * n, n, f);
      for (; r < end; ++r) scan_rows<1>(x + r * n, y + r * n, n, f);
    });
  }
}

// y_i = f(y_(i-1), x_i) along dim. y has x's dtype. For bf16 the computation is in f32.
template <class F>
Tensor scanned(const char* op, const Tensor& x, std::int64_t dim, F f) {
  const Tensor from = raw::contiguous(as_dtype(x, computed_of(x.dtype())));
  Tensor y = Tensor::empty(x.shape(), from.dtype());
  with_real(op, y.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    scan(Lines(y.shape(), checked_dim(op, dim, y.rank())), from.data<T>(), y.mutable_data<T>(), f);
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

  // Let s_i = dy_i + x_(i+1) s_(i+1), which is the sum over k >= i of dy_k Π_(i < j <= k) x_j. Then dx_i = s_i Π_(j <
  // i) x_j. This formula contains no division, so zeros need no special case.
  void backward(Backward& b) const override {
    const Tensor x = raw::contiguous(as_dtype(b.input(0), computed_of(b.input(0).dtype())));
    Tensor dx = Tensor::empty(x.shape(), x.dtype());
    raw::copy(as_dtype(b.gradient(), x.dtype()), dx);
    const Lines lines(x.shape(), checked_dim(name(), dim, x.rank()));
    with_real(name(), x.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const std::int64_t n = lines.n, inner = lines.inner;
      T* all = dx.mutable_data<T>();
      for_lines(lines, [&](std::int64_t o, std::int64_t k, std::int64_t count) {
        const T* from = x.data<T>() + o * n * inner + k;
        T* s = all + o * n * inner + k;
        for (std::int64_t i = n - 2; i >= 0; --i)
          for (std::int64_t j = 0; j < count; ++j)
            s[i * inner + j] += from[(i + 1) * inner + j] * s[(i + 1) * inner + j];
        constexpr std::int64_t columns = 64;
        for (std::int64_t first = 0; first < count; first += columns) {
          const std::int64_t width = std::min(columns, count - first);
          T products[columns];
          std::fill_n(products, width, T(1));
          for (std::int64_t i = 0; i < n; ++i)
            for (std::int64_t j = 0; j < width; ++j) {
              s[i * inner + first + j] *= products[j];
              products[j] *= from[i * inner + first + j];
            }
        }
      });
    });
    b.add(0, as_dtype(dx, b.gradient().dtype()));
  }
};

}  // namespace

Tensor cumsum(const Tensor& x, std::int64_t dim) { return apply_op(CumsumOp(dim), x); }
Tensor cumprod(const Tensor& x, std::int64_t dim) { return apply_op(CumprodOp(dim), x); }

}  // namespace weft
