// Comparisons, whose results are masks of dtype i8, and the operation `where`.
#include "pointwise/kernels/comparison.h"

#include <cmath>
#include <complex>

#include "pointwise/broadcast.h"
#include "weft/pointwise.h"

namespace weft {
using namespace detail;

namespace {

// y = 1 where f(a, b), else 0. This op has no gradient: the operands are detached before it runs. F has the name, the
// kernel, and f for integers. If `exchanged` is set, the op computes f(b, a).
template <class F>
struct ComparisonOp : Op {
  const char* name() const noexcept override { return F::name; }
  Shape shape(const Inputs& in) const override {
    check_same_dtype(name(), in[0], in[1]);
    if (!is_floating(in[0].dtype()) && in[0].dtype() != DType::i64)
      fail(name(), "expected bf16, f32, f64 or i64 operands, got " + describe(in[0]));
    return broadcast_shapes(name(), in[0].shape(), in[1].shape());
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    Tensor y = Tensor::empty(shape, DType::i8), a = in[F::exchanged ? 1 : 0], b = in[F::exchanged ? 0 : 1];
    if (y.numel() == 0) return y;
    const Nest<3> nest = broadcast_nest<2>(shape, {&a, &b});
    const std::int64_t sa = nest.strides.back()[0], sb = nest.strides.back()[1];
    auto* to = y.mutable_data<std::int8_t>();
    if (a.dtype() == DType::i64) {
      const auto *pa = a.data<std::int64_t>(), *pb = b.data<std::int64_t>();
      nest.for_rows(task_elements, [=](const auto& at, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) to[at[2] + i] = F::holds(pa[at[0] + i * sa], pb[at[1] + i * sb]);
      });
      return y;
    }
    with_floating(name(), a.dtype(), [&](auto* type) {
      using T = element_of<decltype(type)>;
      const auto kernel = F::kernel(kernels<ComparisonKernels<T>>());
      const T *pa = a.data<T>(), *pb = b.data<T>();
      nest.for_rows(task_elements,
                    [=](const auto& at, std::int64_t n) { kernel(pa + at[0], sa, pb + at[1], sb, to + at[2], n); });
    });
    return y;
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward&) const override {}
};

struct Less {
  static constexpr const char* name = "less";
  static constexpr bool exchanged = false;
  static auto kernel(auto& k) { return k.less; }
  static bool holds(std::int64_t a, std::int64_t b) { return a < b; }
};
struct Greater : Less {
  static constexpr const char* name = "greater";
  static constexpr bool exchanged = true;
};
struct LessEqual {
  static constexpr const char* name = "less_equal";
  static constexpr bool exchanged = false;
  static auto kernel(auto& k) { return k.less_equal; }
  static bool holds(std::int64_t a, std::int64_t b) { return a <= b; }
};
struct GreaterEqual : LessEqual {
  static constexpr const char* name = "greater_equal";
  static constexpr bool exchanged = true;
};
struct Equal {
  static constexpr const char* name = "equal";
  static constexpr bool exchanged = false;
  static auto kernel(auto& k) { return k.equal; }
  static bool holds(std::int64_t a, std::int64_t b) { return a == b; }
};
struct NotEqual {
  static constexpr const char* name = "not_equal";
  static constexpr bool exchanged = false;
  static auto kernel(auto& k) { return k.not_equal; }
  static bool holds(std::int64_t a, std::int64_t b) { return a != b; }
};

template <class F>
Tensor compared(const Tensor& a, const Tensor& b) {
  return apply_op(ComparisonOp<F>(), a.detach(), b.detach());
}
template <class F>
Tensor compared(const Tensor& a, double b) {
  if (a.defined() && is_integer(a.dtype()) && b != std::nearbyint(b))
    fail(F::name, "expected a whole number to compare with " + describe(a) + ", got " + std::to_string(b));
  return compared<F>(a, a.defined() ? Tensor::scalar(b, a.dtype()) : Tensor());
}

// Calls f with a null pointer to the type of the elements that `where` moves.
template <class F>
void with_moved(DType dtype, F f) {
  if (dtype == DType::c64) f(static_cast<std::complex<float>*>(nullptr));
  else if (dtype == DType::c128) f(static_cast<std::complex<double>*>(nullptr));
  else f(static_cast<std::int64_t*>(nullptr));
}

// y = mask ? a : b. da = mask ? dy : 0, db = mask ? 0 : dy
struct WhereOp : Op {
  const char* name() const noexcept override { return "where"; }
  Shape shape(const Inputs& in) const override {
    if (!in[0].defined() || in[0].dtype() != DType::i8)
      fail(name(), "expected a mask of dtype i8, got " + describe(in[0]));
    check_same_dtype(name(), in[1], in[2]);
    if (in[1].dtype() == DType::i8) fail(name(), "expected operands of a dtype other than i8, got " + describe(in[1]));
    return broadcast_shapes(name(), in[0].shape(), broadcast_shapes(name(), in[1].shape(), in[2].shape()));
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    Tensor y = Tensor::empty(shape, in[1].dtype()), mask = in[0], a = in[1], b = in[2];
    if (y.numel() == 0) return y;
    const Nest<4> nest = broadcast_nest<3>(shape, {&mask, &a, &b});
    const auto [sm, sa, sb, sy] = nest.strides.back();
    const std::int8_t* pm = mask.data<std::int8_t>();
    if (is_floating(y.dtype())) {
      with_floating(name(), y.dtype(), [&, sm = sm, sa = sa, sb = sb](auto* type) {
        using T = element_of<decltype(type)>;
        const auto kernel = kernels<ComparisonKernels<T>>().choose;
        const T *pa = a.data<T>(), *pb = b.data<T>();
        T* to = y.mutable_data<T>();
        nest.for_rows(task_elements, [=](const auto& at, std::int64_t n) {
          kernel(pm + at[0], sm, pa + at[1], sa, pb + at[2], sb, to + at[3], n);
        });
      });
      return y;
    }
    with_moved(y.dtype(), [&, sm = sm, sa = sa, sb = sb](auto* type) {
      using T = element_of<decltype(type)>;
      const T *pa = a.data<T>(), *pb = b.data<T>();
      T* to = y.mutable_data<T>();
      nest.for_rows(task_elements, [=](const auto& at, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i)
          to[at[3] + i] = pm[at[0] + i * sm] ? pa[at[1] + i * sa] : pb[at[2] + i * sb];
      });
    });
    return y;
  }
  bool keeps_input(std::size_t i, const std::vector<bool>&) const override { return i == 0; }
  void backward(Backward& b) const override {
    const Tensor mask = b.input(0);
    for (std::size_t i : {1, 2}) {
      if (!b.needs(i)) continue;
      const Shape& shape = b.input_shape(i);
      const DType dtype = gradient_dtype(b.gradient(), shape);
      const Tensor dy = as_dtype(b.gradient(), dtype), zero = Tensor::scalar(0, dtype);
      const Tensor part = i == 1 ? where(mask, dy, zero) : where(mask, zero, dy);
      b.add(i, as_dtype(sum_to(part, shape), b.gradient().dtype()));
    }
  }
};

}  // namespace

Tensor less(const Tensor& a, const Tensor& b) { return compared<Less>(a, b); }
Tensor less(const Tensor& a, double b) { return compared<Less>(a, b); }
Tensor less_equal(const Tensor& a, const Tensor& b) { return compared<LessEqual>(a, b); }
Tensor less_equal(const Tensor& a, double b) { return compared<LessEqual>(a, b); }
Tensor greater(const Tensor& a, const Tensor& b) { return compared<Greater>(a, b); }
Tensor greater(const Tensor& a, double b) { return compared<Greater>(a, b); }
Tensor greater_equal(const Tensor& a, const Tensor& b) { return compared<GreaterEqual>(a, b); }
Tensor greater_equal(const Tensor& a, double b) { return compared<GreaterEqual>(a, b); }
Tensor equal(const Tensor& a, const Tensor& b) { return compared<Equal>(a, b); }
Tensor equal(const Tensor& a, double b) { return compared<Equal>(a, b); }
Tensor not_equal(const Tensor& a, const Tensor& b) { return compared<NotEqual>(a, b); }
Tensor not_equal(const Tensor& a, double b) { return compared<NotEqual>(a, b); }

Tensor where(const Tensor& mask, const Tensor& a, const Tensor& b) { return apply_op(WhereOp(), mask, a, b); }
Tensor where(const Tensor& mask, const Tensor& a, double b) {
  return where(mask, a, a.defined() ? Tensor::scalar(b, a.dtype()) : Tensor());
}
Tensor where(const Tensor& mask, double a, const Tensor& b) {
  return where(mask, b.defined() ? Tensor::scalar(a, b.dtype()) : Tensor(), b);
}

}  // namespace weft
