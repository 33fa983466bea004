// conv1d. It computes depthwise convolutions as sums of products, and all others as matrix products with the windows.
#include <algorithm>

#include "base/common.h"
#include "weft/dense.h"
#include "weft/detail/out_of_memory.h"
#include "weft/pointwise.h"
#include "weft/shape.h"

namespace weft {
using namespace detail;

namespace {

struct Sizes {
  std::int64_t batch, channels, out, kernel, m;  // m: length of the result
};

Sizes checked_sizes(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& o) {
  check_floating("conv1d", x);
  check_same_dtype("conv1d", x, weight);
  if (x.rank() != 3 || weight.rank() != 3)
    fail("conv1d", "expected x (b, channels, n) and a weight (out, channels/groups, k), got " + describe(x) + " and " +
                       describe(weight));
  constexpr std::int64_t most = std::int64_t{1} << 31;
  if (std::min({o.stride, o.dilation, o.groups}) < 1 || o.padding < 0 || (o.causal && o.padding != 0) ||
      std::max({o.stride, o.dilation, o.groups, o.padding}) > most)
    fail("conv1d", "expected stride, dilation and groups from 1 to 2^31, and padding from 0 to 2^31 (0 if causal)");
  const std::int64_t channels = x.size(1), out = weight.size(0), kernel = weight.size(2);
  if (channels % o.groups != 0 || out % o.groups != 0 || weight.size(1) != channels / o.groups || kernel < 1)
    fail("conv1d", "expected a weight (out, " + std::to_string(channels / o.groups) + ", k) with out divisible by " +
                       std::to_string(o.groups) + " groups, for " + std::to_string(channels) + " channels, got " +
                       to_string(weight.shape()));
  if (bias.defined() && bias.shape() != Shape{out})
    fail("conv1d", "expected a bias of shape (" + std::to_string(out) + "), got " + describe(bias));
  const std::int64_t reach = o.dilation * (kernel - 1), n = x.size(2) + (o.causal ? reach : 2 * o.padding);
  if (n <= reach)
    fail("conv1d", "expected at least " + std::to_string(reach + 1) + " elements including the padding, got " +
                       std::to_string(n));
  return {x.size(0), channels, out, kernel, (n - reach - 1) / o.stride + 1};
}

// Returns k tensors (b, channels, m). Tensor number i contains element i of all windows.
std::vector<Tensor> window_elements(const Tensor& x, const Sizes& s, const Conv1dOptions& o) {
  const std::int64_t before = o.causal ? o.dilation * (s.kernel - 1) : o.padding;
  const Tensor padded = pad(x, {{0, 0}, {0, 0}, {before, o.padding}});
  std::vector<Tensor> parts;
  for (std::int64_t t = 0; t < s.kernel; ++t) {
    const std::int64_t start = t * o.dilation;
    parts.push_back(slice(padded, 2, start, start + (s.m - 1) * o.stride + 1, o.stride));
  }
  return parts;
}

Tensor depthwise(const std::vector<Tensor>& elements, const Tensor& weight) {
  Tensor y;
  for (std::size_t t = 0; t < elements.size(); ++t) {
    const auto at = static_cast<std::int64_t>(t);
    const Tensor product = mul(elements[t], slice(reshape(weight, {weight.size(0), weight.size(2)}), 1, at, at + 1));
    y = t == 0 ? product : add(y, product);
  }
  return y;
}

// For each group, multiplies the weight (out/groups, channels/groups · k) by the windows (channels/groups · k, m).
Tensor by_products(const std::vector<Tensor>& elements, const Tensor& weight, const Sizes& s, std::int64_t groups) {
  const std::int64_t depth = s.channels / groups * s.kernel;
  const Tensor columns = reshape(stack(elements, 2), {s.batch, groups, depth, s.m});
  const Tensor matrices = reshape(weight, {groups, s.out / groups, depth});
  return reshape(matmul(matrices, columns), {s.batch, s.out, s.m});
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
  return guard_memory("conv1d", [&] {
    const Sizes s = checked_sizes(x, weight, bias, options);
    if (x.dtype() == DType::bf16) {
      const auto wide = [](const Tensor& part) { return part.defined() ? cast(part, DType::f32) : part; };
      return cast(conv1d(wide(x), wide(weight), wide(bias), options), DType::bf16);
    }
    const std::vector<Tensor> elements = window_elements(x, s, options);
    const bool is_depthwise = options.groups == s.channels && s.out == s.channels;
    const Tensor y = is_depthwise ? depthwise(elements, weight) : by_products(elements, weight, s, options.groups);
    return bias.defined() ? add(y, reshape(bias, {s.out, 1})) : y;
  });
}

}  // namespace weft
