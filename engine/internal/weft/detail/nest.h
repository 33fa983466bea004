// Nest: nested loops over strided operands of the same shape.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "weft/context.h"
#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft::detail {

// The loop nest that N operands of the same shape share. Axes of size 1 are dropped. Neighboring axes are merged if the
// strides of all operands allow it. The nest has at least one axis.
template <std::size_t N>
struct Nest {
  using Offsets = std::array<std::int64_t, N>;  // one for each operand, in elements

  Shape shape;
  std::vector<Offsets> strides;  // for each axis, the strides of all operands

  Nest(const Shape& sizes, const std::array<const Strides*, N>& operands) {
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 1) continue;
      Offsets step{};
      for (std::size_t k = 0; k < N; ++k) step[k] = (*operands[k])[i];
      if (!shape.empty() && continues(strides.back(), step, sizes[i])) {
        shape.back() *= sizes[i];
        strides.back() = step;
      } else {
        shape.push_back(sizes[i]);
        strides.push_back(step);
      }
    }
    if (!shape.empty()) return;
    shape.push_back(1);
    strides.push_back({});
    strides.back().fill(1);
  }

  // Divides each innermost row into pieces of at most `grain` elements. Calls row(offsets, n) for each piece, where
  // `offsets` are the positions of the piece in the operands and n is its length. No size may be 0.
  template <class Row>
  void for_rows(std::int64_t grain, Row row) const {
    const std::size_t last = shape.size() - 1;
    const std::int64_t n = shape[last], rows = numel(shape) / n;
    const std::int64_t piece = std::min(n, grain), pieces = (n - 1) / piece + 1;
    Context::current().parallel_for(rows * pieces, std::max<std::int64_t>(1, grain / piece), [&](auto begin, auto end) {
      for (std::int64_t task = begin; task < end; ++task) {
        const std::int64_t first = task % pieces * piece;
        row(offsets_of(task / pieces, first), std::min(piece, n - first));
      }
    });
  }

 private:
  // Whether an axis of this size with strides `inner` can be merged into the axis around it, which has strides `outer`.
  static bool continues(const Offsets& outer, const Offsets& inner, std::int64_t size) {
    for (std::size_t k = 0; k < N; ++k)
      if (outer[k] != inner[k] * size) return false;
    return true;
  }

  Offsets offsets_of(std::int64_t row, std::int64_t first) const {
    Offsets at{};
    for (std::size_t k = 0; k < N; ++k) at[k] = first * strides.back()[k];
    for (std::size_t i = shape.size() - 1; i-- > 0;) {
      for (std::size_t k = 0; k < N; ++k) at[k] += row % shape[i] * strides[i][k];
      row /= shape[i];
    }
    return at;
  }
};

}  // namespace weft::detail
WEFT_PUBLIC_END
