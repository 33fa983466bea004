// The order of the elements along an axis: min, argmax, argmin, topk.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"
#include "weft/tape.h"

namespace weft {
using namespace detail;

namespace {

struct Order {
  bool largest;    // the largest elements come first, else the smallest
  bool nan_first;  // NaN comes before all numbers, else behind them

  // Whether a comes before b.
  template <class T>
  bool operator()(T a, T b) const {
    if (std::isnan(a) && std::isnan(b)) return false;
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) == nan_first;
    return largest ? a > b : a < b;
  }
};

// The indices of the first k elements of each row in that order: (…, k) for x (…, n).
Tensor first_of_rows(const char* op, const Tensor& x, std::int64_t k, Order before) {
  const Tensor rows = raw::contiguous(as_dtype(x, computed_of(x.dtype())));
  const std::int64_t n = rows.size(-1);
  Shape shape = rows.shape();
  shape.back() = k;
  Tensor result = Tensor::empty(shape, DType::i64);
  if (result.numel() == 0) return result;
  with_real(op, rows.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    auto* to = result.mutable_data<std::int64_t>();
    Context::current().parallel_for(
        result.numel() / k, std::max<std::int64_t>(1, task_elements / n), [&](std::int64_t begin, std::int64_t end) {
          std::vector<std::int64_t> order(static_cast<std::size_t>(n));
          for (std::int64_t r = begin; r < end; ++r) {
            const T* row = rows.data<T>() + r * n;
            std::iota(order.begin(), order.end(), 0);
            std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t i, std::int64_t j) {
              return before(row[i], row[j]) || (!before(row[j], row[i]) && i < j);
            });
            std::copy_n(order.begin(), k, to + r * k);
          }
        });
  });
  return result;
}

// The indices of the first k elements along dim.
Tensor first_along(const char* op, const Tensor& x, std::int64_t k, std::int64_t dim, Order before) {
  const NoGrad unrecorded;
  return transpose(first_of_rows(op, transpose(x.detach(), dim, -1), k, before), dim, -1);
}

Tensor first_index(const char* op, const Tensor& x, std::int64_t dim, bool keepdim, bool largest) {
  return guard_memory(op, [&] {
    check_floating(op, x);
    const std::size_t d = checked_dim(op, dim, x.rank());
    if (x.shape()[d] == 0)
      fail(op, "there is no element along axis " + std::to_string(dim) + " of shape " + to_string(x.shape()));
    const Tensor index = first_along(op, x, 1, dim, {largest, true});
    return keepdim ? index : squeeze(index, dim);
  });
}

}  // namespace

Tensor min(const Tensor& x, std::int64_t dim, bool keepdim) {
  return guard_memory("min", [&] {
    check_floating("min", x);
    if (x.shape()[checked_dim("min", dim, x.rank())] == 0)
      fail("min", "there is no minimum along axis " + std::to_string(dim) + " of shape " + to_string(x.shape()));
    return neg(max(neg(x), dim, keepdim));
  });
}

Tensor argmax(const Tensor& x, std::int64_t dim, bool keepdim) { return first_index("argmax", x, dim, keepdim, true); }
Tensor argmin(const Tensor& x, std::int64_t dim, bool keepdim) { return first_index("argmin", x, dim, keepdim, false); }

TopK topk(const Tensor& x, std::int64_t k, std::int64_t dim, bool largest) {
  return guard_memory("topk", [&] {
    check_floating("topk", x);
    const std::int64_t n = x.shape()[checked_dim("topk", dim, x.rank())];
    if (k < 0 || k > n)
      fail("topk", "expected 0 to " + std::to_string(n) + " elements of axis " + std::to_string(dim) + " of shape " +
                       to_string(x.shape()) + ", got " + std::to_string(k));
    const Tensor indices = first_along("topk", x, k, dim, {largest, largest});
    return TopK{gather(x, dim, indices), indices};
  });
}

}  // namespace weft
