// Small operations on f64 tensors, implemented with plain loops, for the tests of the engine itself.
#pragma once
#include <cmath>
#include <functional>
#include <stdexcept>
#include <vector>

#include "weft/context.h"
#include "weft/detail/part_op.h"
#include "weft/tape.h"

namespace weft::engine_test {

template <class F>
Tensor each(const Tensor& x, F f) {
  const std::vector<double> v = x.to_vector<double>();
  Tensor y = Tensor::empty(x.shape(), DType::f64);
  double* out = y.mutable_data<double>();
  for (std::size_t i = 0; i < v.size(); ++i) out[i] = f(v[i]);
  return y;
}

template <class F>
Tensor each(const Tensor& a, const Tensor& b, F f) {
  const std::vector<double> v = b.to_vector<double>();
  std::size_t i = 0;
  return each(a, [&](double x) { return f(x, v[i++]); });
}

struct ElementwiseOp : Op {
  Shape shape(const Inputs& in) const override {
    for (const Tensor& x : in)
      if (x.shape() != in[0].shape()) throw Error(std::string("[") + name() + "] shapes differ");
    return in[0].shape();
  }
};

// y = a + b; backward needs neither input.
struct Add : ElementwiseOp {
  const char* name() const noexcept override { return "test add"; }
  Tensor forward(const Inputs& in, const Shape&) override { return each(in[0], in[1], std::plus<double>()); }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    b.add(0, b.gradient());
    b.add(1, b.gradient());
  }
};

// y = a b; backward for one input needs the other.
struct Mul : ElementwiseOp {
  const char* name() const noexcept override { return "test mul"; }
  Tensor forward(const Inputs& in, const Shape&) override { return each(in[0], in[1], std::multiplies<double>()); }
  bool keeps_input(std::size_t i, const std::vector<bool>& needs) const override { return needs[1 - i]; }
  void backward(Backward& b) const override {
    for (std::size_t i : {0, 1})
      if (b.needs(i)) b.add(i, each(b.gradient(), b.input(1 - i), std::multiplies<double>()));
  }
};

// y = x^2, a cheap operation. `runs` counts its forward passes.
struct Square : ElementwiseOp {
  explicit Square(int* counter = nullptr) : runs(counter) {}
  const char* name() const noexcept override { return "test square"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    if (runs) ++*runs;
    return each(in[0], [](double x) { return x * x; });
  }
  bool cheap() const override { return true; }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    b.add(0, each(b.gradient(), b.input(0), [](double g, double x) { return 2 * g * x; }));
  }
  int* runs;
};

// y = e^x; backward needs y.
struct Exp : ElementwiseOp {
  explicit Exp(bool is_cheap = false) : cheap_(is_cheap) {}
  const char* name() const noexcept override { return "test exp"; }
  Tensor forward(const Inputs& in, const Shape&) override {
    return each(in[0], [](double x) { return std::exp(x); });
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  bool keeps_output() const override { return true; }
  bool cheap() const override { return cheap_; }
  void backward(Backward& b) const override { b.add(0, each(b.gradient(), b.output(), std::multiplies<double>())); }
  bool cheap_;
};

// y = -x. The backward pass writes the gradient in place if possible.
struct Negate : ElementwiseOp {
  const char* name() const noexcept override { return "test negate"; }
  Tensor forward(const Inputs& in, const Shape&) override { return each(in[0], std::negate<double>()); }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    Tensor g = b.take_gradient();
    if (!g.unique()) return b.add(0, each(g, std::negate<double>()));
    double* p = g.mutable_data<double>();
    for (std::int64_t i = 0; i < g.numel(); ++i) p[i] = -p[i];
    b.add(0, std::move(g));
  }
};

// y = x[start … stop-1], a view of a vector.
struct Slice : detail::PartOp {
  Slice(std::int64_t from, std::int64_t to) : start(from), stop(to) {}
  const char* name() const noexcept override { return "test slice"; }
  Shape shape(const Inputs&) const override { return {stop - start}; }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    return in[0].view(shape, in[0].strides(), in[0].offset() + start * in[0].strides()[0]);
  }
  Tensor part_of(const Tensor& whole) const override { return range(whole, start, stop); }
  std::optional<std::vector<Tensor>> rest_of(const Tensor& whole) const override {
    std::vector<Tensor> rest;
    if (start > 0) rest.push_back(range(whole, 0, start));
    if (stop < whole.size(0)) rest.push_back(range(whole, stop, whole.size(0)));
    return rest;
  }
  static Tensor range(const Tensor& x, std::int64_t from, std::int64_t to) {
    return x.view({to - from}, x.strides(), x.offset() + from * x.strides()[0]);
  }
  std::int64_t start, stop;
};

// The sum of all elements; backward returns a view of stride 0.
struct Sum : Op {
  const char* name() const noexcept override { return "test sum"; }
  Shape shape(const Inputs&) const override { return {}; }
  Tensor forward(const Inputs& in, const Shape&) override {
    double sum = 0;
    for (double x : in[0].to_vector<double>()) sum += x;
    return Tensor::scalar(sum, DType::f64);
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return false; }
  void backward(Backward& b) const override {
    const Shape& shape = b.input_shape(0);
    b.add(0, b.gradient().view(shape, Strides(shape.size(), 0), b.gradient().offset()));
  }
};

// An operation that fails at the point that `where` selects, in most cases after it has allocated memory.
struct Fail : Op {
  enum class Where { shape, forward, memory, backward, wrong_gradient };
  explicit Fail(Where place) : where(place) {}
  const char* name() const noexcept override { return "test fail"; }
  Shape shape(const Inputs& in) const override {
    if (where == Where::shape) throw Error("[test fail] shape");
    return in[0].shape();
  }
  Tensor forward(const Inputs& in, const Shape& shape) override {
    const Tensor taken = Tensor::zeros({1000});
    if (where == Where::forward) throw Error("[test fail] forward");
    if (where == Where::memory) throw std::bad_alloc();
    return Tensor::zeros(shape, in[0].dtype());
  }
  bool keeps_input(std::size_t, const std::vector<bool>&) const override { return true; }
  void backward(Backward& b) const override {
    const Tensor taken = Tensor::zeros({1000});
    if (where == Where::backward) throw std::runtime_error("backward");
    b.add(0, Tensor::zeros({7}, DType::f64));
  }
  Where where;
};

inline Tensor add(const Tensor& a, const Tensor& b) { return apply_op(Add(), {a, b}); }
inline Tensor mul(const Tensor& a, const Tensor& b) { return apply_op(Mul(), {a, b}); }
inline Tensor square(const Tensor& x, int* runs = nullptr) { return apply_op(Square(runs), {x}); }
inline Tensor exponential(const Tensor& x, bool cheap = false) { return apply_op(Exp(cheap), {x}); }
inline Tensor negate(const Tensor& x) { return apply_op(Negate(), {x}); }
inline Tensor slice(const Tensor& x, std::int64_t start, std::int64_t stop) {
  return apply_op(Slice(start, stop), {x});
}
inline Tensor sum(const Tensor& x) { return apply_op(Sum(), {x}); }

using Values = std::vector<double>;
inline Tensor vector_of(const Values& v) { return Tensor::from(v, {static_cast<std::int64_t>(v.size())}); }
inline std::size_t memory_in_use() { return Context::current().memory().use().current; }

inline void overwrite(const Tensor& x) {
  Tensor writable = x;
  writable.mutable_data<double>()[0] += 1;
}

inline Values values_of(const Tensor& x) { return x.to_vector<double>(); }

}  // namespace weft::engine_test
