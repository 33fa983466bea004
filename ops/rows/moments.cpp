// norm and var, composed of sums, maxima and pointwise operations.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/common.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/rows.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Returns the maximum over several axes, or over all axes if dims is empty.
Tensor max_over(const Tensor& x, const std::vector<std::int64_t>& dims, bool keepdim) {
  std::vector<bool> reduced(x.shape().size(), dims.empty());
  for (const std::int64_t dim : dims) reduced[checked_dim("norm", dim, x.rank())] = true;
  Tensor y = x;
  for (std::size_t d = reduced.size(); d-- > 0;)
    if (reduced[d]) y = max(y, static_cast<std::int64_t>(d), keepdim);
  return y;
}

// √s with the gradient 0 at 0.
Tensor root(const Tensor& s) {
  const Tensor is_zero = equal(s, 0.0);
  return where(is_zero, 0.0, sqrt(where(is_zero, 1.0, s)));
}

}  // namespace

Tensor norm(const Tensor& x, double p, const std::vector<std::int64_t>& dims, bool keepdim) {
  return guard_memory("norm", [&] {
    check_floating("norm", x);
    if (p != 1 && p != 2 && p != infinity) fail("norm", "expected p = 1, 2 or infinity, got " + std::to_string(p));
    if (p == infinity) return max_over(abs(x), dims, keepdim);
    return rounded_once(x, [&](const Tensor& wide) {
      return p == 1 ? sum(abs(wide), dims, keepdim) : root(sum(square(wide), dims, keepdim));
    });
  });
}

Tensor var(const Tensor& x, const std::vector<std::int64_t>& dims, std::int64_t correction, bool keepdim) {
  return guard_memory("var", [&] {
    check_floating("var", x);
    return rounded_once(x, [&](const Tensor& wide) {
      const Tensor squares = sum(square(sub(wide, mean(wide, dims, true))), dims, keepdim);
      const double n = static_cast<double>(x.numel()) / static_cast<double>(std::max<std::int64_t>(1, squares.numel()));
      return squares / std::max(0.0, n - static_cast<double>(correction));
    });
  });
}

}  // namespace weft
