#include "dense/gemm.h"

#include <algorithm>

#include "dense/gemm_product.h"
#include "weft/tensor.h"

namespace weft::detail {
namespace {

// If the packed panels of an item of a batch have at most this number of elements, each item is a task with its own
// panels. The threads share the work on a larger item. Larger: one thread computes a large item. Smaller: threads share
// small items, with more overhead. bench: bench/operations/einsum_compare; weft-bench
// --benchmark_filter=toeplitz-matrix
constexpr int64_t private_panels = 1 << 18;

// Returns the transposed product, Cᵀ = Bᵀ Aᵀ. The product must not have an epilogue.
template <class T>
GemmProblem<T> transposed(GemmProblem<T> g) {
  std::swap(g.m, g.n);
  std::swap(g.a, g.b);
  std::swap(g.a.row, g.a.column);
  std::swap(g.b.row, g.b.column);
  std::swap(g.c.row, g.c.column);
  for (BatchAxis& axis : g.batch) std::swap(axis.a, axis.b);
  g.packed_b = nullptr;
  return g;
}

// Sets the stride of axes with one element to 1, because kernels are fastest with this stride.
template <class T>
GemmProblem<T> normalized(GemmProblem<T> g) {
  if (g.m == 1) g.a.row = g.c.row = 1;
  if (g.k == 1) g.a.column = g.b.row = 1;
  if (g.n == 1) g.b.column = g.c.column = 1;
  return g;
}

template <class T>
GemmProblem<T> oriented(const GemmProblem<T>& problem) {
  GemmProblem<T> g = normalized(problem);
  if (has_epilogue(g.epilogue) || g.a_triangle != Triangle::none || g.c_lower) return g;
  const bool by_columns = g.c.column != 1 && g.c.row == 1;
  const bool few_columns = g.n < g.m && g.n <= unpacked_rows;
  return by_columns || few_columns ? normalized(transposed(g)) : g;
}

template <class T>
void run_batch(const GemmKernels<T>& kernel, const GemmProblem<T>& g, int64_t count) {
  using In = GemmIn<T>;
  const auto item = [&](int64_t index) {
    Product<T> product{kernel, g, g.a.data, g.b.data, g.c.data};
    for (std::size_t i = g.batch.size(); i-- > 0;) {
      const BatchAxis& axis = g.batch[i];
      const int64_t at = index % axis.size;
      index /= axis.size;
      product.a += at * axis.a;
      product.b += at * axis.b;
      product.c += at * axis.c;
    }
    return product;
  };
  const Product<T> first = item(0);
  const bool few = first.few();
  constexpr int64_t line = 64 / int64_t{sizeof(In)};
  const int64_t a = few ? 0 : rounded_up(first.a_elements(), line), b = few ? 0 : rounded_up(first.b_elements(), line),
                sums = few ? 0 : first.partial_elements();
  const int64_t bytes = (a + b) * int64_t{sizeof(In)} + sums * int64_t{sizeof(GemmSum<T>)};
  const auto run = [&](int64_t begin, int64_t end, void* scratch) {
    In* own = static_cast<In*>(scratch);
    for (int64_t index = begin; index < end; ++index) {
      if (few) item(index).run_few();
      else item(index).run_packed(own, own + a, reinterpret_cast<GemmSum<T>*>(own + a + b));
    }
  };
  const int64_t work = std::max<int64_t>(1, g.m * g.n * std::max<int64_t>(1, g.k));
  const bool is_large = few && work >= 16 * task_work;  // large enough for all threads, and needs no packing
  if (count > 1 && a + b + 2 * sums <= private_panels && !is_large) {
    Context::current().parallel_for(count, std::max<int64_t>(1, task_work / work), static_cast<std::size_t>(bytes),
                                    run);
  } else {
    Tensor scratch = Tensor::empty({bytes / int64_t{sizeof(float)}}, DType::f32);
    run(0, count, scratch.mutable_raw());
  }
}

// The number of products in one part of a sum. The rounding error grows with the length of a chain of additions, so
// longer sums are split into parts.
constexpr int64_t longest_chain = 4096;

template <class T>
bool has_parts(const GemmProblem<T>& g) {
  return g.k > longest_chain && g.m > unpacked_dot_rows && g.batch.empty() && !g.packed_b && !g.one_chain &&
         g.a_triangle == Triangle::none && !has_epilogue(g.epilogue);
}

// Computes C += sums. `sums` (m, n) is contiguous.
template <class T>
void add_to_c(const GemmProblem<T>& g, const GemmOut<T>* sums) {
  const int64_t grain = std::max<int64_t>(1, task_work / 16 / std::max<int64_t>(1, g.n));
  Context::current().parallel_for(g.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t columns = g.c_lower ? std::min(g.n, i + 1) : g.n;
      for (int64_t j = 0; j < columns; ++j) g.c.data[i * g.c.row + j * g.c.column] += sums[i * g.n + j];
    }
  });
}

template <class T>
void run_parts(const GemmKernels<T>& kernel, const GemmProblem<T>& g) {
  Tensor sums = Tensor::empty({g.m, g.n}, dtype_of<GemmOut<T>>::value);
  GemmProblem<T> part = g;
  for (int64_t p = 0; p < g.k; p += longest_chain) {
    part.k = std::min(longest_chain, g.k - p);
    part.a.data = g.a.data + p * g.a.column;
    part.b.data = g.b.data + p * g.b.row;
    run_batch(kernel, part, 1);
    if (p > 0) add_to_c(g, part.c.data);
    part.c = {sums.mutable_data<GemmOut<T>>(), g.n, 1};
    part.accumulate = false;
  }
}

}  // namespace

// B is read in two cases. With k <= 1, each column of B has at most one element, so the columns are also rows. If B has
// few columns, `oriented` may transpose the product. The columns of B then become the rows of the transposed product,
// which reads few rows without packing.
bool reads_b(int64_t k, int64_t n) { return k <= 1 || n <= unpacked_rows; }

template <class T>
void gemm(const GemmProblem<T>& problem) {
  gemm(problem, gemm_kernels<T>());
}

template <class T>
void gemm(const GemmProblem<T>& problem, const GemmKernels<T>& kernel) {
  int64_t count = 1;
  for (const BatchAxis& axis : problem.batch) count *= axis.size;
  if (problem.m == 0 || problem.n == 0 || count == 0) return;
  const GemmProblem<T> g = oriented(problem);
  if constexpr (holds_sums<T>) {
    if (has_parts(g)) return run_parts(kernel, g);
  }
  run_batch(kernel, g, count);
}

#define WEFT_GEMM(T)                         \
  template void gemm(const GemmProblem<T>&); \
  template void gemm(const GemmProblem<T>&, const GemmKernels<T>&);
WEFT_GEMM(float)
WEFT_GEMM(double)
WEFT_GEMM(bfloat16)
WEFT_GEMM(Bf16ToF32)

}  // namespace weft::detail
