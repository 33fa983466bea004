#include "weft/detail/recurrence.h"

#include <algorithm>

#include "base/common.h"
#include "spectral/kernels/recurrence.h"
#include "weft/context.h"

namespace weft::detail {

Tensor run_recurrence(const Tensor& v, const Tensor& factors, Tensor& state) {
  const std::int64_t n = v.size(0), d = v.size(1), terms = factors.size(0);
  Tensor y = Tensor::empty(v.shape(), v.dtype()), after = Tensor::empty(state.shape(), v.dtype());
  // Channels of a task, a multiple of 64, so that tasks do not write to the same cache lines of aligned rows.
  const std::int64_t grain =
      (std::max<std::int64_t>(1, task_elements / std::max<std::int64_t>(1, n * terms)) + 63) / 64 * 64;
  with_real("recurrence", v.dtype(), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const T *from = state.data<T>(), *with = factors.data<T>(), *in = v.data<T>();
    T *to = after.mutable_data<T>(), *out = y.mutable_data<T>();
    const auto& kernel = kernels<RecurrenceKernels<T>>();
    Context::current().parallel_for(d, grain, [&](std::int64_t c, std::int64_t end) {
      kernel.run(n, terms, end - c, d, with + c, from + c, in + c, to + c, out + c);
    });
  });
  state = after;
  return y;
}

}  // namespace weft::detail
