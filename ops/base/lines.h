// The lines of a tensor along one of its axes.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/common.h"

namespace weft::detail {

// The lines along an axis of n elements. Line (o, k), 0 <= o < outer, 0 <= k < inner, has the coordinates o on the axes
// before that axis and k on the axes after it. In a contiguous tensor, element i of the line is at (o n + i) inner + k.
struct Lines {
  std::int64_t outer = 1, n = 1, inner = 1;

  Lines(const Shape& shape, std::size_t dim) : n(shape[dim]) {
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (i != dim) (i < dim ? outer : inner) *= shape[i];
  }
};

// Divides the lines into groups of adjacent lines (o, k) … (o, k + count - 1), and calls f(o, k, count) for each group,
// in parallel. Groups are not narrower than 16 lines, so that threads rarely share a cache line.
template <class F>
void for_lines(const Lines& lines, F f) {
  if (lines.n == 0) return;
  constexpr std::int64_t least_lines = 16;
  const std::int64_t grain = std::max(task_elements / lines.n, std::clamp<std::int64_t>(lines.inner, 1, least_lines));
  Context::current().parallel_for(lines.outer * lines.inner, grain, [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t o = begin / lines.inner, k = begin % lines.inner;
      const std::int64_t count = std::min(end - begin, lines.inner - k);
      f(o, k, count);
      begin += count;
    }
  });
}

}  // namespace weft::detail
