// topk: the largest or smallest elements along an axis.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// NaN is larger than all numbers.
template <class T>
bool is_less(T a, T b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

// The indices of the k largest, or smallest, elements of each row, in order: (…, k) for x (…, n).
Tensor first_of_rows(const Tensor& x, std::int64_t k, bool largest) {
  const Tensor rows = raw::contiguous(as_dtype(x, computed_of(x.dtype())));
  const std::int64_t n = rows.size(-1);
  Shape shape = rows.shape();
  shape.back() = k;
  Tensor result = Tensor::empty(shape, DType::i64);
  if (result.numel() == 0) return result;
  with_real("topk", rows.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    auto* to = result.mutable_data<std::int64_t>();
    Context::current().parallel_for(
        result.numel() / k, std::max<std::int64_t>(1, task_elements / n), [&](std::int64_t begin, std::int64_t end) {
          std::vector<std::int64_t> order(static_cast<std::size_t>(n));
          for (std::int64_t r = begin; r < end; ++r) {
            const T* row = rows.data<T>() + r * n;
            std::iota(order.begin(), order.end(), 0);
            std::partial_sort(order.begin(), order.begin() + k, order.end(), [&](std::int64_t i, std::int64_t j) {
              const T a = largest ? row[j] : row[i], b = largest ? row[i] : row[j];
              return is_less(a, b) || (!is_less(b, a) && i < j);
            });
            std::copy_n(order.begin(), k, to + r * k);
          }
        });
  });
  return result;
}

}  // namespace

TopK topk(const Tensor& x, std::int64_t k, std::int64_t dim, bool largest) {
  return guard_memory("topk", [&] {
    check_floating("topk", x);
    const std::int64_t n = x.shape()[checked_dim("topk", dim, x.rank())];
    if (k < 0 || k > n)
      fail("topk", "expected 0 to " + std::to_string(n) + " elements of axis " + std::to_string(dim) + " of shape " +
                       to_string(x.shape()) + ", got " + std::to_string(k));
    const Tensor indices = transpose(first_of_rows(transpose(x.detach(), dim, -1), k, largest), dim, -1);
    return TopK{gather(x, dim, indices), indices};
  });
}

}  // namespace weft
