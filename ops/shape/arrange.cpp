// Operations that are composed of the views and copies in shape.cpp, and the creation of tensors by arange and one_hot.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/common.h"
#include "base/indices.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

// Returns x with zeros at all rows i and columns j for which is_inside(i, j) is false.
template <class F>
Tensor triangle(const char* op, const Tensor& x, F is_inside) {
  return guard_memory(op, [&] {
    check_defined(op, x);
    if (x.rank() < 2) fail(op, "expected matrices (…, rows, columns), got shape " + to_string(x.shape()));
    const std::int64_t rows = x.size(-2), columns = x.size(-1);
    Tensor mask = Tensor::empty({rows, columns}, DType::i8);
    auto* inside = mask.mutable_data<std::int8_t>();
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < columns; ++j) *inside++ = is_inside(i, j) ? 1 : 0;
    return where(mask, x, 0.0);
  });
}

}  // namespace

Tensor squeeze(const Tensor& x, std::int64_t dim) {
  return guard_memory("squeeze", [&] {
    check_defined("squeeze", x);
    Shape shape = x.shape();
    const std::size_t d = checked_dim("squeeze", dim, x.rank());
    if (shape[d] != 1)
      fail("squeeze", "expected size 1 for axis " + std::to_string(dim) + " of shape " + to_string(shape));
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(d));
    return reshape(x, shape);
  });
}

Tensor unsqueeze(const Tensor& x, std::int64_t dim) {
  return guard_memory("unsqueeze", [&] {
    check_defined("unsqueeze", x);
    Shape shape = x.shape();
    shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(checked_dim("unsqueeze", dim, x.rank() + 1)), 1);
    return reshape(x, shape);
  });
}

Tensor stack(const std::vector<Tensor>& parts, std::int64_t dim) {
  return guard_memory("stack", [&] {
    if (parts.empty()) fail("stack", "expected at least one tensor");
    check_defined("stack", parts[0]);
    (void)checked_dim("stack", dim, parts[0].rank() + 1);
    std::vector<Tensor> with_axis;
    for (const Tensor& part : parts) {
      check_same_dtype("stack", parts[0], part);
      if (part.shape() != parts[0].shape())
        fail("stack",
             "expected tensors of one shape, got " + to_string(parts[0].shape()) + " and " + to_string(part.shape()));
      with_axis.push_back(unsqueeze(part, dim));
    }
    return concat(with_axis, dim);
  });
}

std::vector<Tensor> split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t dim) {
  return guard_memory("split", [&] {
    check_defined("split", x);
    const std::int64_t n = x.shape()[checked_dim("split", dim, x.rank())];
    const bool fit = std::all_of(sizes.begin(), sizes.end(), [&](auto size) { return 0 <= size && size <= n; });
    if (!fit || std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}) != n)
      fail("split", "expected sizes that add up to " + std::to_string(n) + ", the size of axis " + std::to_string(dim) +
                        " of shape " + to_string(x.shape()) + ", got " + to_string(sizes));
    std::vector<Tensor> parts;
    std::int64_t at = 0;
    for (const std::int64_t size : sizes) {
      parts.push_back(slice(x, dim, at, at + size));
      at += size;
    }
    return parts;
  });
}

Tensor roll(const Tensor& x, std::int64_t shift, std::int64_t dim) {
  return guard_memory("roll", [&] {
    check_defined("roll", x);
    const std::int64_t n = x.shape()[checked_dim("roll", dim, x.rank())];
    const std::int64_t moved = n > 0 ? (shift % n + n) % n : 0;
    return concat({slice(x, dim, n - moved, n), slice(x, dim, 0, n - moved)}, dim);
  });
}

Tensor pad(const Tensor& x, const std::vector<std::pair<std::int64_t, std::int64_t>>& widths, double value) {
  return guard_memory("pad", [&] {
    check_defined("pad", x);
    if (static_cast<std::int64_t>(widths.size()) != x.rank())
      fail("pad", "expected a pair of widths for each axis of shape " + to_string(x.shape()) + ", got " +
                      std::to_string(widths.size()) + " pairs");
    Tensor y = x;
    for (std::size_t d = 0; d < widths.size(); ++d) {
      const auto& [before, after] = widths[d];
      if (before < 0 || after < 0)
        fail("pad", "expected widths of at least 0, got " + std::to_string(before) + " and " + std::to_string(after));
      if (before == 0 && after == 0) continue;
      Shape first = y.shape(), last = y.shape();
      first[d] = before;
      last[d] = after;
      y = concat({Tensor::full(first, value, x.dtype()), y, Tensor::full(last, value, x.dtype())},
                 static_cast<std::int64_t>(d));
    }
    return y;
  });
}

Tensor tril(const Tensor& x, std::int64_t diagonal) {
  return triangle("tril", x, [&](std::int64_t i, std::int64_t j) { return j - i <= diagonal; });
}
Tensor triu(const Tensor& x, std::int64_t diagonal) {
  return triangle("triu", x, [&](std::int64_t i, std::int64_t j) { return j - i >= diagonal; });
}

Tensor arange(double start, double stop, double step, DType dtype) {
  return guard_memory("arange", [&] {
    if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
      fail("arange", "expected finite numbers and a step that is not 0, got " + std::to_string(start) + ", " +
                         std::to_string(stop) + " and " + std::to_string(step));
    const double count = std::max(0.0, std::ceil((stop - start) / step));
    if (count > 0x1p40) fail("arange", "expected at most 2^40 numbers, got " + std::to_string(count));
    const auto n = static_cast<std::int64_t>(count);
    Tensor y = Tensor::empty({n}, dtype);
    if (dtype == DType::i64) {
      const auto is_index = [](double x) { return std::trunc(x) == x && std::abs(x) <= 0x1p53; };
      if (!is_index(start) || !is_index(step) || std::abs(stop) > 0x1p53)
        fail("arange", "expected whole numbers up to 2^53 for dtype i64, got the start " + std::to_string(start) +
                           " and the step " + std::to_string(step));
      auto* to = y.mutable_data<std::int64_t>();
      for (std::int64_t i = 0; i < n; ++i)
        to[i] = static_cast<std::int64_t>(start) + i * static_cast<std::int64_t>(step);
      return y;
    }
    with_real("arange", dtype, [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* to = y.mutable_data<T>();
      for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(start + static_cast<double>(i) * step);
    });
    return y;
  });
}

Tensor one_hot(const Tensor& indices, std::int64_t classes, DType dtype) {
  return guard_memory("one_hot", [&] {
    check_indices_dtype("one_hot", indices);
    if (classes < 0) fail("one_hot", "expected at least 0 classes, got " + std::to_string(classes));
    const Tensor dense = raw::contiguous(indices);
    const auto* index = dense.data<std::int64_t>();
    check_range("one_hot", index, dense.numel(), classes);
    Shape shape = indices.shape();
    shape.push_back(classes);
    Tensor y = Tensor::zeros(shape, dtype);
    with_floating("one_hot", dtype, [&](auto* type) {
      using T = element_of<decltype(type)>;
      T* row = y.mutable_data<T>();
      for (std::int64_t i = 0; i < dense.numel(); ++i, row += classes) row[index[i]] = T(1);
    });
    return y;
  });
}

}  // namespace weft
