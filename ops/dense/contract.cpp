// The product c of two labeled tensors, a and b, is split into dense products. Each label belongs to one of four
// groups, depending on which tensors have it: batch (a, b and c), m (a and c), n (b and c), k (a and b). Neighboring
// axes of a group are merged if the strides of all tensors allow it. If k still has several axes, one or both operands
// are copied so that k becomes one axis. gemm then multiplies the largest axes of m, n and k as a matrix product, with
// the other axes as its batch. If the matrices are small and the innermost batch axis is contiguous, the kernel
// batched_dot computes the products instead. It packs nothing.
#include "dense/contract.h"

#include <algorithm>
#include <array>
#include <type_traits>

#include "dense/gemm.h"
#include "dense/kernels/gemm.h"
#include "weft/context.h"
#include "weft/pointwise.h"
#include "weft/rows.h"

namespace weft::detail {
namespace {

using std::int64_t;

// The number of multiply-adds per task of batched_dot. Larger: threads are idle at the end. Smaller: more overhead per
// task.
// bench: bench/operations/einsum_compare
constexpr int64_t contraction_work = 1 << 16;
// The number of elements of y that batched_dot computes at the same time. Larger: y leaves L1 while the terms of k's
// outer axes are added to it. Smaller: shorter runs of contiguous memory.
// bench: bench/operations/einsum_compare
constexpr int64_t batched_dot_piece = 128;
// The minimum length of a batch for batched_dot, which fills vectors with the batch. Larger: short batches are packed
// and multiplied as matrices. Smaller: vectors are mostly empty.
// bench: bench/operations/einsum_compare
constexpr int64_t shortest_batch = 4;
// The minimum number of multiply-adds per element of the three matrices for which packing pays off. Larger: batched_dot
// reads A and B more often. Smaller: packing costs more than it saves.
// bench: bench/operations/einsum_compare
constexpr int64_t packing_gain = 128;

bool contains(const Labels& labels, int label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

std::size_t position(const Labels& labels, int label) {
  return static_cast<std::size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}

// Returns the size of x's axis with that label, or 1 if there is none.
int64_t size_of(const Labeled& x, int label) {
  const std::size_t i = position(x.labels, label);
  return i < x.labels.size() ? x.x.shape()[i] : 1;
}

// Returns the stride of x's axis with that label, or 0 if there is none.
int64_t stride_of(const Labeled& x, int label) {
  const std::size_t i = position(x.labels, label);
  return i < x.labels.size() ? x.x.strides()[i] : 0;
}

// Returns x with its axes in the order of `labels`. Missing axes have size 1.
Tensor arranged(const Labeled& x, const Labels& labels) {
  Shape shape;
  Strides strides;
  for (int label : labels) {
    shape.push_back(size_of(x, label));
    strides.push_back(stride_of(x, label));
  }
  return x.x.view(shape, strides, x.x.offset());
}

// Returns x without its axes of size 1.
Labeled squeezed(const Labeled& x) {
  Labels labels;
  for (int label : x.labels)
    if (size_of(x, label) != 1) labels.push_back(label);
  return {arranged(x, labels), labels};
}

// Returns x summed over the labels that are neither in `other` nor in `out`.
Labeled without_own_labels(const Labeled& x, const Labels& other, const Labels& out) {
  Labels kept;
  for (int label : x.labels)
    if (contains(other, label) || contains(out, label)) kept.push_back(label);
  return {sum_to_labels(x, kept), kept};
}

// The labels of a product, grouped by the tensors that have them, with the strides of the three tensors along each
// label. The groups are batch (a, b and c), m (a and c), n (b and c), and k (a and b).
struct AxisGroups {
  std::vector<BatchAxis> batch, m, n, k;
};

// Merges neighboring axes if the strides of every tensor allow it. The outermost axis comes first.
void fuse(std::vector<BatchAxis>& axes) {
  const auto outer = [](const BatchAxis& p, const BatchAxis& q) {
    return std::array{p.c, p.a, p.b} > std::array{q.c, q.a, q.b};
  };
  std::stable_sort(axes.begin(), axes.end(), outer);
  std::vector<BatchAxis> fused;
  for (const BatchAxis& axis : axes) {
    BatchAxis* last = fused.empty() ? nullptr : &fused.back();
    if (last && last->a == axis.a * axis.size && last->b == axis.b * axis.size && last->c == axis.c * axis.size)
      *last = {last->size * axis.size, axis.a, axis.b, axis.c};
    else fused.push_back(axis);
  }
  axes = std::move(fused);
}

AxisGroups groups_of(const Labeled& a, const Labeled& b, const Labeled& c) {
  AxisGroups groups;
  const auto add = [&](std::vector<BatchAxis>& axes, int label) {
    axes.push_back({std::max(size_of(a, label), size_of(b, label)), stride_of(a, label), stride_of(b, label),
                    stride_of(c, label)});
  };
  for (int label : a.labels) {
    const bool in_b = contains(b.labels, label), in_c = contains(c.labels, label);
    add(in_b ? (in_c ? groups.batch : groups.k) : groups.m, label);
  }
  for (int label : b.labels)
    if (!contains(a.labels, label)) add(groups.n, label);
  for (auto* axes : {&groups.batch, &groups.m, &groups.n, &groups.k}) fuse(*axes);
  return groups;
}

int64_t total(const std::vector<BatchAxis>& axes) {
  int64_t count = 1;
  for (const BatchAxis& axis : axes) count *= axis.size;
  return count;
}

// Removes the largest axis from `axes` and returns it, or an axis of size 1 if `axes` is empty. The size of an axis
// along which C is contiguous counts four times, because without such an axis a product stores C one element at a time.
BatchAxis take_largest(std::vector<BatchAxis>& axes) {
  if (axes.empty()) return {1, 0, 0, 0};
  const auto weight = [](const BatchAxis& axis) { return axis.c == 1 ? 4 * axis.size : axis.size; };
  const auto largest = std::max_element(axes.begin(), axes.end(),
                                        [&](const BatchAxis& p, const BatchAxis& q) { return weight(p) < weight(q); });
  const BatchAxis axis = *largest;
  axes.erase(largest);
  return axis;
}

// Returns the offsets of the three tensors for the index-th combination of indices along the axes. The last index
// changes fastest.
BatchAxis offsets(const std::vector<BatchAxis>& axes, int64_t index) {
  BatchAxis at{0, 0, 0, 0};
  for (std::size_t i = axes.size(); i-- > 0;) {
    const int64_t step = index % axes[i].size;
    index /= axes[i].size;
    at.a += step * axes[i].a;
    at.b += step * axes[i].b;
    at.c += step * axes[i].c;
  }
  return at;
}

// Whether the matrices are too small for packing. The elements of one matrix are not adjacent in memory, because the
// batch is the innermost axis. Packing therefore touches a cache line for each element of A and B. `batched_dot` reads
// A and B once for each column or row of C.
bool has_small_matrices(const AxisGroups& groups) {
  const int64_t m = total(groups.m), n = total(groups.n), k = total(groups.k);
  return m * n * k < packing_gain * (m * k + k * n + m * n);
}

// Whether the innermost batch axis is contiguous in all three tensors, as `batched_dot` requires.
bool has_contiguous_batch(const AxisGroups& groups) {
  if (groups.batch.empty()) return false;
  const BatchAxis& last = groups.batch.back();
  return last.size >= shortest_batch && last.a == 1 && last.b == 1 && last.c == 1;
}

template <class T>
void run_batched_dot(AxisGroups groups, const T* a, const T* b, T* c) {
  const BatchAxis width = groups.batch.back(), inner = take_largest(groups.k);
  groups.batch.pop_back();
  const int64_t pieces = (width.size - 1) / batched_dot_piece + 1, terms = total(groups.k), columns = total(groups.n);
  std::vector<BatchAxis> outer = groups.batch;
  outer.insert(outer.end(), groups.m.begin(), groups.m.end());
  outer.push_back({pieces, batched_dot_piece, batched_dot_piece, batched_dot_piece});
  outer.insert(outer.end(), groups.n.begin(), groups.n.end());
  const auto kernel = kernels<GemmKernels<T>>().batched_dot;
  const int64_t work = std::min(width.size, batched_dot_piece) * inner.size * terms;
  const int64_t grain = std::max<int64_t>(1, contraction_work / work);
  Context::current().parallel_for(total(outer), grain, [&](int64_t begin, int64_t end) {
    for (int64_t task = begin; task < end; ++task) {
      const BatchAxis at = offsets(outer, task);
      const int64_t first = task / columns % pieces * batched_dot_piece;
      const int64_t count = std::min(batched_dot_piece, width.size - first);
      for (int64_t term = 0; term < terms; ++term) {
        const BatchAxis on = offsets(groups.k, term);
        kernel(count, inner.size, a + at.a + on.a, inner.a, b + at.b + on.b, inner.b, c + at.c, term > 0);
      }
    }
  });
}

// Returns the product as a problem for gemm. k must be a single axis. Axes of m and n that were not merged become part
// of the batch.
template <class T>
GemmProblem<T> problem_of(AxisGroups groups, const T* a, const T* b, T* c) {
  const BatchAxis m = take_largest(groups.m), n = take_largest(groups.n), k = take_largest(groups.k);
  GemmProblem<T> g{m.size, n.size, k.size, {a, m.a, k.a}, {b, k.b, n.b}, {c, m.c, n.c}};
  g.batch = groups.batch;
  g.batch.insert(g.batch.end(), groups.m.begin(), groups.m.end());
  g.batch.insert(g.batch.end(), groups.n.begin(), groups.n.end());
  return g;
}

void double_strides(std::vector<BatchAxis>& axes) {
  for (BatchAxis& axis : axes) axis = {axis.size, 2 * axis.a, 2 * axis.b, 2 * axis.c};
}

// Re c = Re a Re b - Im a Im b, Im c = Re a Im b + Im a Re b. Runs four real products. Each operand consists of the
// real parts or the imaginary parts, which are every other number in memory.
template <class R>
void run_complex(AxisGroups groups, const R* a, const R* b, R* c) {
  for (auto* axes : {&groups.batch, &groups.m, &groups.n, &groups.k}) double_strides(*axes);
  for (int part : {0, 1}) {
    GemmProblem<R> g = problem_of(groups, a, b + part, c + part);
    gemm(g);
    g = problem_of(groups, a + 1, b + 1 - part, c + part);
    g.accumulate = true;
    g.sign = part == 0 ? R(-1) : R(1);
    gemm(g);
  }
}

// Returns a contiguous copy of x. In the copy, the labels of k come last, in the order of `k`, so that they can be
// merged.
Labeled gathered(const Labeled& x, const Labels& k) {
  Labels order;
  for (int label : x.labels)
    if (!contains(k, label)) order.push_back(label);
  order.insert(order.end(), k.begin(), k.end());
  return {raw::contiguous(arranged(x, order)), order};
}

// Copies one operand or both so that the labels of k become one axis.
AxisGroups with_one_k(Labeled& a, Labeled& b, const Labeled& c) {
  Labels k;
  for (int label : a.labels)
    if (contains(b.labels, label) && !contains(c.labels, label)) k.push_back(label);
  const auto fuses = [&](const Labeled& x) {
    std::vector<BatchAxis> axes;
    for (int label : k) axes.push_back({size_of(x, label), stride_of(x, label), 0, 0});
    fuse(axes);
    return axes.size() <= 1;
  };
  const bool a_fuses = fuses(a), b_fuses = fuses(b);
  const Labeled& guide = a_fuses || !b_fuses ? a : b;
  std::stable_sort(k.begin(), k.end(), [&](int p, int q) { return stride_of(guide, p) > stride_of(guide, q); });
  if (a_fuses || !b_fuses) b = gathered(b, k);
  if (!a_fuses) a = gathered(a, k);
  return groups_of(a, b, c);
}

// If c's innermost axis is a batch axis that is contiguous in the larger operand but not in the smaller one, copies the
// smaller operand so that the axis is contiguous in both.
AxisGroups with_contiguous_batch(Labeled& a, Labeled& b, const Labeled& c) {
  Labeled& smaller = a.x.numel() < b.x.numel() ? a : b;
  const Labeled& larger = &smaller == &a ? b : a;
  const int inner = c.labels.empty() ? -1 : c.labels.back();
  const bool is_batch = contains(smaller.labels, inner) && size_of(smaller, inner) >= shortest_batch;
  if (is_batch && stride_of(larger, inner) == 1 && stride_of(smaller, inner) != 1) smaller = gathered(smaller, {inner});
  return groups_of(a, b, c);
}

// Returns a contiguous tensor in c's memory whose axes have another order: first the batch axes, then the axes of m in
// a's order, then the axes of n in b's order.
Labeled in_own_order(const Labeled& a, const Labeled& b, const Labeled& c) {
  Labels order;
  for (int label : c.labels)
    if (contains(a.labels, label) && contains(b.labels, label)) order.push_back(label);
  for (const Labeled* x : {&a, &b})
    for (int label : x->labels)
      if (contains(c.labels, label) && !contains(order, label)) order.push_back(label);
  const Shape shape = arranged(c, order).shape();
  return {c.x.view(shape, contiguous_strides(shape), c.x.offset()), order};
}

Labeled in_f32(const Labeled& x) { return {as_dtype(x.x, DType::f32), x.labels}; }

// Multiplies operands that have no axes of size 1. Each label of an operand also occurs in the other operand or in c. c
// is contiguous.
void multiply(Labeled a, Labeled b, Labeled& c) {
  AxisGroups groups = groups_of(a, b, c);
  const DType dtype = c.x.dtype();
  const bool is_small = is_floating(dtype) && has_small_matrices(groups);
  if (is_small && !has_contiguous_batch(groups)) groups = with_contiguous_batch(a, b, c);
  const bool batched = is_small && has_contiguous_batch(groups);
  if (batched && dtype == DType::bf16) {  // batched_dot would add to a c that is already rounded
    Labeled wide{Tensor::empty(c.x.shape(), DType::f32), c.labels};
    multiply(in_f32(a), in_f32(b), wide);
    c.x = as_dtype(wide.x, dtype);
    return;
  }
  if (!batched && groups.k.size() > 1) groups = with_one_k(a, b, c);
  // Computes one product and a copy instead of many small products.
  if (!batched && (groups.m.size() > 1 || groups.n.size() > 1)) {
    Labeled other = in_own_order(a, b, c);
    const AxisGroups fused = groups_of(a, b, other);
    if (fused.m.size() <= 1 && fused.n.size() <= 1) {
      other.x = Tensor::empty(other.x.shape(), dtype);
      multiply(a, b, other);
      raw::copy(arranged(other, c.labels), c.x);
      return;
    }
  }
  with_floating("contract", real_of(dtype), [&](auto* type) {
    using T = element_of<decltype(type)>;
    const T *pa = static_cast<const T*>(a.x.raw()), *pb = static_cast<const T*>(b.x.raw());
    T* pc = static_cast<T*>(c.x.mutable_raw());
    if constexpr (!std::is_same_v<T, bfloat16>) {
      if (is_complex(dtype)) return run_complex<T>(groups, pa, pb, pc);
      if (batched) return run_batched_dot<T>(groups, pa, pb, pc);
    }
    gemm(problem_of<T>(groups, pa, pb, pc));
  });
}

}  // namespace

Tensor sum_to_labels(const Labeled& x, const Labels& out) {
  std::vector<int64_t> summed;
  Labels kept;
  for (std::size_t i = 0; i < x.labels.size(); ++i) {
    if (contains(out, x.labels[i])) kept.push_back(x.labels[i]);
    else summed.push_back(static_cast<int64_t>(i));
  }
  return arranged({summed.empty() ? x.x.detach() : sum(x.x, summed), kept}, out);
}

Tensor contract(const Labeled& a, const Labeled& b, const Labels& out) {
  Shape shape;
  for (int label : out) shape.push_back(size_of(a, label) != 1 ? size_of(a, label) : size_of(b, label));
  if (numel(shape) == 0 || a.x.numel() == 0 || b.x.numel() == 0) return Tensor::zeros(shape, a.x.dtype());
  Labels dense;
  for (std::size_t i = 0; i < out.size(); ++i)
    if (shape[i] != 1) dense.push_back(out[i]);
  const Labeled whole_a = squeezed(a), whole_b = squeezed(b);
  const auto needs_sum = [&](const Labeled& x, const Labeled& other) {
    return std::any_of(x.labels.begin(), x.labels.end(),
                       [&](int label) { return !contains(other.labels, label) && !contains(dense, label); });
  };
  if (a.x.dtype() == DType::bf16 && (needs_sum(whole_a, whole_b) || needs_sum(whole_b, whole_a)))
    // Rounds only once, at the end: the partial sums are not rounded.
    return as_dtype(contract(in_f32(a), in_f32(b), out), DType::bf16);
  const Labeled left = without_own_labels(whole_a, whole_b.labels, dense);
  const Labeled right = without_own_labels(whole_b, whole_a.labels, dense);
  const bool sums =
      std::any_of(left.labels.begin(), left.labels.end(), [&](int label) { return !contains(dense, label); });
  Labeled y{{}, dense};
  if (!sums) {
    y.x = mul(arranged(left, dense), arranged(right, dense));
  } else {
    Shape sizes;
    for (int label : dense) sizes.push_back(std::max(size_of(left, label), size_of(right, label)));
    y.x = Tensor::empty(sizes, a.x.dtype());
    multiply(left, right, y);
  }
  return arranged(y, out);
}

Tensor spread(const Labeled& g, const Labels& labels, const Shape& shape) {
  Strides strides;
  for (std::size_t i = 0; i < labels.size(); ++i)
    strides.push_back(size_of(g, labels[i]) == shape[i] ? stride_of(g, labels[i]) : 0);
  return g.x.view(shape, strides, g.x.offset());
}

Tensor contract_gradient(const Labeled& dy, const Labeled& b, const Labels& a, const Shape& shape) {
  const Labeled other{is_complex(b.x.dtype()) ? conj(b.x) : b.x, b.labels};
  Labels reached;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (shape[i] != 1 && (size_of(dy, a[i]) == shape[i] || size_of(other, a[i]) == shape[i])) reached.push_back(a[i]);
  return spread({contract(dy, other, reached), reached}, a, shape);
}

}  // namespace weft::detail
