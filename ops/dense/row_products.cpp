// The products of many rows with one vector. Memory limits their speed, so every row is read only once.
#include "base/common.h"
#include "dense/gemm.h"
#include "dense/gemm_product.h"
#include "weft/context.h"
#include "weft/dense.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

Tensor row_products(const Tensor& rows, const Tensor& x) {
  constexpr const char* name = "row_products";
  return guard_memory(name, [&] {
    check_floating(name, rows);
    if (!x.defined() || rows.rank() != 2 || x.rank() != 1 || rows.dtype() != x.dtype() || rows.size(1) != x.size(0))
      fail(name, "expected rows (n, k) and a vector (k) of their dtype, got " + describe(rows) + " and " + describe(x));
    const Tensor matrix = raw::contiguous(rows), vector = raw::contiguous(x);
    const std::int64_t n = rows.size(0), k = rows.size(1);
    return with_floating(name, rows.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      Tensor y = Tensor::empty({n}, dtype_of<GemmSum<T>>::value);
      const GemmKernels<T> kernel = gemm_kernels<T>();
      const T *a = vector.data<T>(), *b = matrix.data<T>();
      GemmSum<T>* out = y.mutable_data<GemmSum<T>>();
      // If each thread has enough rows, the tasks are so large that the kernel streams them (streamed_bytes).
      constexpr std::int64_t streamed_work = (8 << 20) / sizeof(T), tasks_per_thread = 8;
      const std::int64_t threads = Context::current().threads();
      const std::int64_t work = n * k > tasks_per_thread * threads * streamed_work ? streamed_work : task_work;
      const std::int64_t grain = std::max<std::int64_t>(1, work / std::max<std::int64_t>(1, k));
      Context::current().parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
        kernel.dot(1, end - begin, k, a, k, b + begin * k, k, out + begin, 1, 1, false);
      });
      return y;
    });
  });
}

}  // namespace weft
