// # A custom operation
// A program can add its own operations to those that weft's tape differentiates. Such an operation has a function that
// computes its gradients, and a mistake in this function is easy to make and hard to notice. This page first shows which
// tensors the tape keeps for such functions. It then writes a check of gradients, adds an operation, and shows that the
// check finds a mistake.
// [Gradients](gradients.cpp) explains the tape and the vector-Jacobian products that an operation must compute.
#include <weft/custom_op.h>
#include <weft/ops.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "step.h"

namespace {

using Vector = std::vector<double>;

// The examples are random numbers from a normal distribution.
weft::Tensor numbers(std::uint64_t seed, const weft::Shape& shape) {
  return weft::Random(seed).normal(shape, 0, 1, weft::DType::f64);
}

// ## What a tape keeps
// [Backward by hand](gradients.cpp#the-chain-rule-by-hand) read $r$, $a$, $x$ and $W$, but not $z$. In training, the
// saved tensors often need more memory than the weights. So each operation of the library says which tensors its
// backward reads:
//
// - `keeps_input(i, needs)` says whether it reads input `i`. A sum $a + b$ reads nothing. A product $a b$ reads $b$
//   only if $a$ needs a gradient, because $\bar{a} = \bar{y} b$.
// - `keeps_output()` says whether it reads its result. For $y = e^x$, the slope is $y$ itself.
//
// All other tensors are freed in the middle of the forward pass, as soon as the program drops its own handles. The step
// below computes $e^{(x + c) d}$ with constants $c$ and $d$. The sum is not kept, because only the gradient of $d$
// would need it, and a constant has no gradient. The product is not kept, because $e^{p}$ needs its result and not its
// operand $p$. A `weft::Tensor` is such a handle, and several handles can share one array of elements. `unique()` says
// whether there is only one. In this step, the program holds one handle of each tensor. So if there is another handle,
// the tape holds it.
const char* kept(const weft::Tensor& x) { return x.unique() ? "not kept" : "kept"; }

STEP("What the library's tape keeps and frees") {
  weft::Tape tape;
  const weft::Tensor x = tape.watch(numbers(1, {3})), c = numbers(2, {3}),
                     d = numbers(3, {3});
  const weft::Tensor sum = x + c;
  const weft::Tensor product = sum * d;
  const weft::Tensor power = weft::exp(product);
  print("sum = x + c, with a constant c: c is %s", kept(c));
  print("product = sum d, with a constant d: d is %s, sum is %s", kept(d), kept(sum));
  print("power = exp(product): power is %s, product is %s", kept(power), kept(product));
  expect(
      "the tape keeps d and power, but not c, sum and product",
      !d.unique() && !power.unique() && c.unique() && sum.unique() && product.unique());
  weft::Gradients gradients;
  tape.backward(weft::sum(power), gradients);
  expect("after backward, it keeps none of them", d.unique() && power.unique());
  expect_same("gradient of x, and power d", gradients.of(x), power * d);
}

// Two more rules save memory. First, an operation can be `cheap()`: running it again costs little. Activations are
// cheap. If a later operation needs the result of a cheap one, the tape keeps the cheap operation with its input, and
// backward computes the result again. For $a = \tanh z$ and $y = a \cdot a$, the tape keeps $z$ and not $a$. One tensor
// then serves both operations.
//
// Second, `backward` consumes the tape. As soon as an operation has passed its gradient on, its saved tensors and its
// gradient are released. A second call of `backward` is an error.
STEP("Cheap operations run again, and a tape is consumed") {
  weft::Tape tape;
  const weft::Tensor x = tape.watch(numbers(1, {3}));
  const weft::Tensor z = x + numbers(2, {3});
  const weft::Tensor a = weft::activation(z, weft::Activation::tanh);
  const weft::Tensor y = weft::sum(a * a);
  print("a = tanh(z), y = sum(a a): z is %s, a is %s", kept(z), kept(a));
  expect("the tape keeps z, but not a", !z.unique() && a.unique());
  weft::Gradients gradients;
  tape.backward(y, gradients);
  const weft::Tensor one = weft::Tensor::scalar(1, weft::DType::f64);
  expect_same("gradient of x, and 2 a (1 - a a)", gradients.of(x),
              weft::scale(a * (one - a * a), 2));
  try {
    tape.backward(y, gradients);
    expect("a second backward is an error", false);
  } catch (const weft::Error& error) {
    print("a second backward: %s", error.what());
  }
}

// A saved tensor must not change before backward reads it. Otherwise the gradients would be wrong without any sign of
// it. Each array of elements has a version that increases with every write, and backward compares versions.
STEP("A saved tensor that was written") {
  weft::Tape tape;
  const weft::Tensor x = tape.watch(numbers(1, {3}));
  weft::Tensor factor = numbers(2, {3});
  const weft::Tensor y = weft::sum(x * factor);
  factor.mutable_data<double>()[0] = 7;
  try {
    weft::Gradients gradients;
    tape.backward(y, gradients);
    expect("backward notices the write", false);
  } catch (const weft::Error& error) {
    print("%s", error.what());
  }
}

// ## A gradient check
// We check the gradients of any function of tensors, with any number of inputs and any shape of the output. A
// fixed random cotangent $c$ turns the output into a single number, $\sum_i c_i y_i$. A cotangent of ones would be a
// weak check. For softmax, whose outputs always add up to 1, the number would be constant and all gradients 0.
using Function = std::function<weft::Tensor(const weft::Inputs&)>;

weft::Tensor cotangent_of(const weft::Tensor& y) { return numbers(99, y.shape()); }

double weighted_sum(const Function& f, const weft::Inputs& in) {
  const weft::Tensor y = f(in);
  return weft::sum(y * cotangent_of(y)).item();
}

// The tape computes the gradients of this number with respect to all inputs in one walk.
weft::Inputs gradients_by_tape(const Function& f, const weft::Inputs& in) {
  weft::Tape tape;
  weft::Inputs leaves, of;
  for (const weft::Tensor& x : in) leaves.push_back(tape.watch(x));
  const weft::Tensor y = f(leaves);
  weft::Gradients gradients;
  tape.backward(y, cotangent_of(y), gradients);
  for (const weft::Tensor& leaf : leaves) of.push_back(gradients.of(leaf));
  return of;
}

// The check returns the largest difference between a gradient and its central quotient, over all elements of all
// inputs. Its step $h = 10^{-5}$ is near the best one of
// [this plot](gradients.cpp#is-it-right-the-difference-quotient). If all numbers are of size about 1, a right gradient
// has an error of about $10^{-9}$ or less. A wrong one usually has an error of the size of the gradient itself.
double gradient_error(const Function& f, const weft::Inputs& in) {
  const weft::Inputs gradients = gradients_by_tape(f, in);
  const double h = 1e-5;
  double worst = 0;
  for (std::size_t k = 0; k < in.size(); ++k) {
    const Vector values = in[k].to_vector<double>(),
                 gradient = gradients[k].to_vector<double>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto moved_by = [&](double distance) {
        Vector moved = values;
        moved[i] += distance;
        weft::Inputs all = in;
        all[k] = weft::Tensor::from(moved, in[k].shape());
        return weighted_sum(f, all);
      };
      worst = std::max(worst,
                       std::abs((moved_by(h) - moved_by(-h)) / (2 * h) - gradient[i]));
    }
  }
  return worst;
}

STEP("A gradient check") {
  const Function layer = [](const weft::Inputs& in) {
    return weft::activation(weft::linear(in[0], in[1], in[2]), weft::Activation::tanh);
  };
  const Function softmax = [](const weft::Inputs& in) {
    return weft::softmax(in[0], -1);
  };
  const double of_layer =
      gradient_error(layer, {numbers(1, {4, 3}), numbers(2, {5, 3}), numbers(3, {5})});
  const double of_softmax = gradient_error(softmax, {numbers(4, {4, 7})});
  print("error for the layer: %.1e, for softmax: %.1e", of_layer, of_softmax);
  expect("both are below 1e-8", of_layer < 1e-8 && of_softmax < 1e-8);
}

// ## The operation
// Our example scales each row of a matrix to length 1:
//
// $$y = \frac{x}{\|x\|}, \qquad \|x\| = \sqrt{x_1^2 + \dots + x_d^2}$$
//
// It can be composed of four operations of the library: `square`, `sum`, `sqrt` and a division. The tape differentiates
// the composition, and this is our reference.
weft::Tensor unit_rows_composed(const weft::Tensor& x) {
  return x / weft::sqrt(weft::sum(weft::square(x), {-1}, true));
}

// A single operation makes one record instead of four. We derive its backward by hand. The length changes by
// $\partial \|x\| / \partial x_j = x_j / \|x\| = y_j$, so by the quotient rule the Jacobian of a row is
//
// $$J_{ij} = \frac{\delta_{ij}}{\|x\|} - \frac{x_i y_j}{\|x\|^2} = \frac{\delta_{ij} - y_i y_j}{\|x\|}$$
//
// where $\delta_{ij}$ is 1 for $i = j$, and 0 otherwise. The product of a cotangent with this matrix is
//
// $$\bar{x} = \frac{\bar{y} - (\bar{y} \cdot y) \, y}{\|x\|}$$
//
// The formula has a geometric meaning. Moving $x$ along its own direction changes its length, but not $y$. So backward
// removes the part of $\bar{y}$ along $y$, and $\bar{x}$ is always perpendicular to $x$. It reads $y$ and the length,
// but not $x$.
//
// These are the loops for one row of $d$ elements.
double unit_row(const double* x, double* y, std::size_t d) {
  double squares = 0;
  for (std::size_t j = 0; j < d; ++j) squares += x[j] * x[j];
  const double length = std::sqrt(squares);
  for (std::size_t j = 0; j < d; ++j) y[j] = x[j] / length;
  return length;
}

void unit_row_backward(const double* y, double length, const double* gradient,
                       double* dx, std::size_t d) {
  double along = 0;
  for (std::size_t j = 0; j < d; ++j) along += gradient[j] * y[j];
  for (std::size_t j = 0; j < d; ++j) dx[j] = (gradient[j] - along * y[j]) / length;
}

// An operation derives from `weft::Op` and overrides these members:
//
// - `shape` checks the inputs and returns the shape of the output, before anything is allocated.
// - `forward` computes the output.
// - `keeps_input` and `keeps_output` tell the tape what to keep. Here it keeps only the output. The lengths are not a
//   tensor of the tape, so the operation itself keeps them.
// - `backward` receives its record as a `weft::Backward` and adds to the gradients of the inputs.
struct UnitRows : weft::Op {
  const char* name() const noexcept override { return "unit_rows"; }
  weft::Shape shape(const weft::Inputs& in) const override {
    if (in.size() != 1 || in[0].rank() != 2 || in[0].dtype() != weft::DType::f64)
      weft::fail(name(), "expected one f64 matrix");
    return in[0].shape();
  }
  weft::Tensor forward(const weft::Inputs& in, const weft::Shape& shape) override;
  bool keeps_input(std::size_t, const std::vector<bool>&) const override {
    return false;
  }
  bool keeps_output() const override { return true; }
  void backward(weft::Backward& b) const override;

  Vector lengths;
};

// An input may have any strides, for example after a transposition. `raw::contiguous` copies such an input into
// row-major order. The member `recording` is true if a tape will record the operation. Only then are the lengths kept.
weft::Tensor UnitRows::forward(const weft::Inputs& in, const weft::Shape& shape) {
  const weft::Tensor x = weft::raw::contiguous(in[0]);
  weft::Tensor y = weft::Tensor::empty(shape, x.dtype());
  const auto rows = static_cast<std::size_t>(shape[0]),
             d = static_cast<std::size_t>(shape[1]);
  const double* from = x.data<double>();
  double* to = y.mutable_data<double>();
  for (std::size_t i = 0; i < rows; ++i) {
    const double length = unit_row(from + i * d, to + i * d, d);
    if (recording) lengths.push_back(length);
  }
  return y;
}

// `b.output()` is the saved output, and `b.gradient()` is its gradient. `b.add(0, dx)` adds `dx` to the gradient of
// input 0. This is the library's `+=`: other operations that use $x$ add theirs. An operation with several inputs would
// first ask `b.needs(i)`, so that it computes no gradient that nobody needs.
void UnitRows::backward(weft::Backward& b) const {
  const weft::Tensor y = b.output(), gradient = weft::raw::contiguous(b.gradient());
  weft::Tensor dx = weft::Tensor::empty(y.shape(), y.dtype());
  const double *of_y = y.data<double>(), *of_gradient = gradient.data<double>();
  double* to = dx.mutable_data<double>();
  const auto d = static_cast<std::size_t>(y.size(1));
  for (std::size_t i = 0; i < lengths.size(); ++i)
    unit_row_backward(of_y + i * d, lengths[i], of_gradient + i * d, to + i * d, d);
  b.add(0, dx);
}

// `apply_op` runs an operation, and records it if an input is on the current tape.
weft::Tensor unit_rows(const weft::Tensor& x) {
  return weft::apply_op(UnitRows(), {x});
}

// The library's `rms_norm` divides a row of $d$ elements by $\|x\| / \sqrt{d} + \epsilon$. With $\epsilon = 0$ and a
// factor of $1 / \sqrt{d}$ it is the same function, so the step compares with it, too.
STEP("A custom operation") {
  const weft::Tensor x = weft::transpose(numbers(1, {7, 5}), 0,
                                         1);  // a view that is not in row-major order
  const Function custom = [](const weft::Inputs& in) { return unit_rows(in[0]); };
  const Function composed = [](const weft::Inputs& in) {
    return unit_rows_composed(in[0]);
  };
  const Function library = [](const weft::Inputs& in) {
    return weft::scale(weft::rms_norm(in[0], {}, 0), 1 / std::sqrt(7));
  };
  expect_same("unit rows, custom and composed", custom({x}), composed({x}));
  expect_same("unit rows, custom and by rms_norm", custom({x}), library({x}));
  const weft::Tensor gradient = gradients_by_tape(custom, {x})[0];
  expect_same("their gradients, custom and composed", gradient,
              gradients_by_tape(composed, {x})[0]);
  expect_same("their gradients, custom and by rms_norm", gradient,
              gradients_by_tape(library, {x})[0]);
  expect_same("the products of each gradient with its row, and 0",
              weft::sum(gradient * x, {-1}),
              weft::Tensor::zeros({5}, weft::DType::f64));
}

// In a larger function, the input of the operation is used elsewhere, too, and other operations come after it. One of
// them is a transposition, so the incoming gradient is not in row-major order. The gradients still agree.
STEP("The custom operation inside a larger function") {
  const auto larger = [](weft::Tensor (*rows)(const weft::Tensor&)) -> Function {
    return [rows](const weft::Inputs& in) {
      const weft::Tensor p = in[0] * in[1];
      return weft::transpose(rows(p), 0, 1) * weft::transpose(p, 0, 1);
    };
  };
  const weft::Inputs in{numbers(1, {5, 3}), numbers(2, {5, 3})};
  const weft::Inputs custom = gradients_by_tape(larger(unit_rows), in);
  const weft::Inputs composed = gradients_by_tape(larger(unit_rows_composed), in);
  expect_same("gradient of the first input, custom and composed", custom[0],
              composed[0]);
  expect_same("gradient of the second input, custom and composed", custom[1],
              composed[1]);
}

// ## The check catches a mistake
// The easiest mistake in this backward is to treat the length as a constant: $\bar{x} = \bar{y} / \|x\|$. The result
// has the right shape and a plausible size. A network might even learn with it, only badly. The gradient check tells
// the right backward from the wrong one without any doubt.
struct ForgetfulUnitRows : UnitRows {
  void backward(weft::Backward& b) const override {
    const weft::Tensor length =
        weft::Tensor::from(lengths, {static_cast<std::int64_t>(lengths.size()), 1});
    b.add(0, b.gradient() / length);
  }
};

STEP("The gradient check catches a wrong backward") {
  const Function right = [](const weft::Inputs& in) { return unit_rows(in[0]); };
  const Function wrong = [](const weft::Inputs& in) {
    return weft::apply_op(ForgetfulUnitRows(), {in[0]});
  };
  const weft::Tensor x = numbers(1, {5, 3});
  print("error of the right backward: %.1e", gradient_error(right, {x}));
  print("error of the wrong backward: %.2f", gradient_error(wrong, {x}));
  expect("the right one is below 1e-8", gradient_error(right, {x}) < 1e-8);
  expect("the wrong one is above 0.1", gradient_error(wrong, {x}) > 0.1);
}

// ## A backward that needs nothing
// `UnitRows` keeps its result, because its backward reads it. A linear operation needs no kept tensor: its backward is
// the product with the same matrix from the other side. An example is the Fourier transform, on which [a page of its
// own](fourier.cpp) goes into detail, $y_k = \sum_j x_j \, e^{-2 \pi i jk / n}$. Let $x$ be real, and let $v$ and $w$
// be the gradients of a loss with respect to the real and the imaginary part of $y$. The parts of the factor are
// $\cos(2 \pi jk / n)$ and $-\sin(2 \pi jk / n)$, so
//
// $$\bar{x}_j = \sum_k \left( v_k \cos \frac{2 \pi jk}{n} - w_k \sin \frac{2 \pi jk}{n} \right)$$
//
// This is the real part of a single complex sum:
//
// $$\bar{x}_j = \mathrm{Re} \sum_k (v_k + i w_k) \, e^{2 \pi i jk / n}$$
//
// The sum is the inverse transform of $v + iw$, without its division by $n$. So backward is a transform, too, and costs
// as much as forward.
STEP("The gradient of a transform") {
  for (const std::int64_t n : {8, 15}) {
    const weft::Tensor v = numbers(2, {n}), w = numbers(3, {n});
    weft::Tape tape;
    const weft::Tensor x = tape.watch(numbers(1, {n})), y = weft::fft(x);
    weft::Gradients gradients;
    tape.backward(weft::sum(v * weft::real(y) + w * weft::imag(y)), gradients);
    const weft::Tensor inverse = weft::real(weft::ifft(weft::complex(v, w)));
    print("n = %d", static_cast<int>(n));
    expect_same("the gradient by the tape, and the inverse transform times n",
                gradients.of(x), weft::scale(inverse, static_cast<double>(n)));
  }
}

// ## Exercises
// 1. Write the operation $y = \ln \cosh x$, whose slope is $\tanh x$. Which tensor should it keep? Compare it with a
//    composition of `exp`, `log`, `scale` and `+`, at $x = 1$ and at $x = 1000$.
// 2. Check the gradients of `ForgetfulUnitRows` with a cotangent of ones instead of a random one. How large is the
//    error now?

}  // namespace
