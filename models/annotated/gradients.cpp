// # Gradients
// Training a network needs the derivatives of one number, the loss, with respect to millions of numbers, the weights.
// Reverse-mode differentiation computes all of these derivatives in about the time of a few forward passes. This page
// builds it three times: by hand with the chain rule, with a tape of scalars in 60 lines, and with weft's tape of
// tensors. [The next page](custom_operation.cpp) adds an operation with its own gradient.
//
// The method is described in section 3.2 of *Automatic differentiation in machine learning: a survey*
// ([Baydin et al., arXiv 1502.05767](https://arxiv.org/abs/1502.05767)). Two well-known pages explain it in Python:
// [micrograd](https://github.com/karpathy/micrograd), and the
// [notes on backpropagation of CS231n](https://cs231n.github.io/optimization-2/).
#include <weft/ops.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "step.h"

namespace {

using Vector = std::vector<double>;

// ## The function
// Everything below differentiates the same small function. It is a network of one layer, followed by a squared loss:
//
// $$z = W x + b, \qquad a = \tanh z, \qquad r = a - t, \qquad L = \tfrac{1}{2} \sum_i r_i^2$$
//
// The input $x$ has 3 elements, and $z$, $a$ and $r$ have 2. So $W$ is a $2 \times 3$ matrix, stored row by row, and
// $L$ is a single number. The target $t$ is a constant. The other 11 numbers are the variables: 3 of $x$, 6 of $W$ and
// 2 of $b$. The type `Variables` holds them.
constexpr std::size_t inputs = 3, outputs = 2;

struct Variables {
  Vector x, w, b;
};

const Variables point{{0.5, -1.2, 2.0}, {0.3, -0.4, 0.2, -0.7, 0.1, 0.6}, {0.1, -0.3}};
const Vector target{0.9, -0.5};

// The forward pass computes the values in the order of the formula. It returns the intermediate values, too, because
// the backward pass will need some of them.
struct Values {
  Vector z, a, r;
  double loss;
};

Values forward(const Variables& v) {
  Values y{v.b, Vector(outputs), Vector(outputs), 0};
  for (std::size_t i = 0; i < outputs; ++i) {
    for (std::size_t j = 0; j < inputs; ++j) y.z[i] += v.w[i * inputs + j] * v.x[j];
    y.a[i] = std::tanh(y.z[i]);
    y.r[i] = y.a[i] - target[i];
    y.loss += 0.5 * y.r[i] * y.r[i];
  }
  return y;
}

// The library's operations compute the same function. `linear` is $W x + b$. All tensors on this page are f64, like a
// `double`.
weft::Tensor loss_of(const weft::Tensor& x, const weft::Tensor& w,
                     const weft::Tensor& b) {
  const weft::Tensor a =
      weft::activation(weft::linear(x, w, b), weft::Activation::tanh);
  const weft::Tensor r = a - weft::Tensor::from(target, {outputs});
  return weft::scale(weft::sum(r * r), 0.5);
}

const weft::Tensor x0 = weft::Tensor::from(point.x, {inputs});
const weft::Tensor w0 = weft::Tensor::from(point.w, {outputs, inputs});
const weft::Tensor b0 = weft::Tensor::from(point.b, {outputs});

STEP("The function by loops") {
  const Values y = forward(point);
  print("a = (%.4f, %.4f), t = (%.4f, %.4f), L = %.4f", y.a[0], y.a[1], target[0],
        target[1], y.loss);
  expect_same("L by loops and by the library's operations", y.loss,
              loss_of(x0, w0, b0).item());
}

// ## The chain rule, by hand
// For each value $v$ of the computation, write $\bar{v}$ for $\partial L / \partial v$: how much $L$ changes for each
// unit that $v$ changes. The goal is $\bar{x}$, $\bar{W}$ and $\bar{b}$.
//
// ![The computation graph: values flow forward, gradients flow backward](drawings/computation_graph.svg)
//
// We begin at the end, where $\bar{L} = 1$, and walk to the beginning. Each step multiplies the gradient of an
// operation's result by the derivative of this one operation:
//
// - $L = \tfrac{1}{2} \sum_i r_i^2$ gives $\bar{r}_i = r_i$.
// - $r = a - t$ gives $\bar{a}_i = \bar{r}_i$.
// - $a_i = \tanh z_i$ gives $\bar{z}_i = (1 - a_i^2) \bar{a}_i$, because the derivative of $\tanh$ is $1 - \tanh^2$.
// - $z_i = \sum_j W_{ij} x_j + b_i$ gives $\bar{b}_i = \bar{z}_i$ and $\bar{W}_{ij} = \bar{z}_i x_j$. The input $x_j$
//   occurs in every $z_i$. A change of $x_j$ reaches $L$ through all of them, and the effects add:
//   $\bar{x}_j = \sum_i W_{ij} \bar{z}_i$.
//
// The result has the type of the point: a gradient has one number for each variable. The code reads $r$, $a$, $x$ and
// $W$ again, but not $z$. It will matter for memory which values backward reads.
Variables backward(const Variables& v, const Values& y) {
  Variables g{Vector(inputs), Vector(inputs * outputs), Vector(outputs)};
  for (std::size_t i = 0; i < outputs; ++i) {
    const double gradient_of_z = (1 - y.a[i] * y.a[i]) * y.r[i];
    g.b[i] = gradient_of_z;
    for (std::size_t j = 0; j < inputs; ++j) {
      g.w[i * inputs + j] = gradient_of_z * v.x[j];
      g.x[j] += v.w[i * inputs + j] * gradient_of_z;
    }
  }
  return g;
}

// ## Is it right? The difference quotient
// A mistake in a backward pass does not crash. The network just learns badly. So every backward pass needs a check that
// does not use the chain rule: move one variable by $\pm h$, run forward twice, and divide the difference of the losses
// by the distance. This is the *central difference quotient*:
//
// $$\frac{\partial L}{\partial v} \approx \frac{L(v + h) - L(v - h)}{2h}$$
//
// The code moves one number at a time, and restores it afterwards.
template <class F>
Variables central_quotient(const F& loss, Variables v, double h) {
  Variables g = v;
  for (Vector Variables::*part : {&Variables::x, &Variables::w, &Variables::b})
    for (std::size_t i = 0; i < (v.*part).size(); ++i) {
      const double value = (v.*part)[i];
      (v.*part)[i] = value + h;
      const double above = loss(v);
      (v.*part)[i] = value - h;
      const double below = loss(v);
      (v.*part)[i] = value;
      (g.*part)[i] = (above - below) / (2 * h);
    }
  return g;
}

// The quotient is not the derivative. Its error has two sources that pull in opposite directions. The *truncation
// error* follows from Taylor's formula. In $L(v + h) - L(v - h)$ the terms with even powers of $h$ cancel, and the
// quotient is $L^{(1)} + \tfrac{h^2}{6} L^{(3)} + \dots$, where $L^{(k)}$ is the derivative number $k$. So this error
// shrinks with $h^2$. The *rounding error* grows as $h$ shrinks: the two losses are known only up to about
// $\varepsilon L$, with $\varepsilon \approx 2 \cdot 10^{-16}$, and the division by $2h$ enlarges this to about
// $\varepsilon L / h$.
//
// The sum $h^2 + \varepsilon / h$ is smallest where both terms have about the same size. This is the case at
// $h \approx \varepsilon^{1/3} \approx 6 \cdot 10^{-6}$, where the error is near $\varepsilon^{2/3}$. The one-sided
// quotient $(L(v + h) - L(v)) / h$ has a truncation error of about $\tfrac{h}{2} L^{(2)}$. Its best step is near
// $\varepsilon^{1/2} \approx 10^{-8}$, with an error of the same size. So even the better quotient finds only about two
// thirds of the digits of a double, and it needs two forward passes for each variable. It is a check, not a method.
template <class F>
Variables one_sided_quotient(const F& loss, Variables v, double h) {
  Variables g = v;
  const double here = loss(v);
  for (Vector Variables::*part : {&Variables::x, &Variables::w, &Variables::b})
    for (std::size_t i = 0; i < (v.*part).size(); ++i) {
      const double value = (v.*part)[i];
      (v.*part)[i] = value + h;
      (g.*part)[i] = (loss(v) - here) / h;
      (v.*part)[i] = value;
    }
  return g;
}

// The plot shows the largest error of the 11 derivatives over $h$. Both axes are logarithmic, so a power of $h$ is a
// straight line. Read it from right to left: as $h$ shrinks, the truncation errors fall with slopes 2 and 1. Further
// left, both curves rise again. There they are ragged, because rounding is irregular.
double largest_error(const Variables& a, const Variables& b) {
  return std::max({annotated::difference(a.x, b.x), annotated::difference(a.w, b.w),
                   annotated::difference(a.b, b.b)});
}

STEP("Backward by hand, and the difference quotient") {
  const Variables exact = backward(point, forward(point));
  print("gradient of x = (%.6f, %.6f, %.6f)", exact.x[0], exact.x[1], exact.x[2]);
  const auto loss = [](const Variables& v) { return forward(v).loss; };
  expect("the error of the central quotient with h = 1e-5 is below 1e-9",
         largest_error(exact, central_quotient(loss, point, 1e-5)) < 1e-9);
  expect("the error of the one-sided quotient with h = 1e-8 is below 1e-6",
         largest_error(exact, one_sided_quotient(loss, point, 1e-8)) < 1e-6);
  print(
      "plot: Error of the difference quotient | h log | largest error of the 11 "
      "derivatives log");
  print("h, one-sided, central");
  for (int digits = 1; digits <= 12; ++digits) {
    const double h = std::pow(10, -digits);
    print("%.0e, %.2e, %.2e", h,
          largest_error(exact, one_sided_quotient(loss, point, h)),
          largest_error(exact, central_quotient(loss, point, h)));
  }
}

// ## Why from the end?
// Each operation is locally linear: its derivative is a matrix, the *Jacobian*, with a row for each output and a column
// for each input. The chain rule multiplies the Jacobians of a chain of operations. With a loss at the end, the last
// factor is a single row $v$:
//
// $$\frac{\partial L}{\partial x} = v \, J_3 \, J_2 \, J_1$$
//
// Matrix products are associative, so any order gives the same row. But the orders differ in cost. Let the three
// Jacobians be $n \times n$. *Forward mode* starts at the input: $v (J_3 (J_2 J_1))$. It multiplies two pairs of
// matrices, with $n^3$ multiplications each, and then a row by a matrix. *Reverse mode* starts at the loss:
// $((v J_3) J_2) J_1$. It multiplies a row by a matrix three times, with only $n^2$ multiplications each.
//
// `product` counts its multiplications.
struct Matrix {
  std::size_t rows, columns;
  Vector values;
};

std::size_t multiplications = 0;

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{a.rows, b.columns, Vector(a.rows * b.columns)};
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j, ++multiplications)
        c.values[i * b.columns + j] +=
            a.values[i * a.columns + k] * b.values[k * b.columns + j];
  return c;
}

// The network above is such a chain, with $v = \bar{a} = r$, a diagonal Jacobian of $1 - a_i^2$ for $\tanh$, and the
// Jacobian $W$ for the step from $x$ to $z$. The backward pass by hand multiplied them from the left.
//
// Reverse mode wins because there is one loss and there are many variables. For one variable and many outputs, it is
// the other way around: the factor at the input is a single column, and forward mode is the cheap one. Training always
// has one loss and many variables.
STEP("Two orders of one product") {
  const std::size_t n = 16;
  const auto random = [](std::uint64_t seed, std::size_t rows) {
    const auto size = static_cast<std::int64_t>(rows * n);
    return Matrix{rows, n,
                  weft::Random(seed)
                      .normal({size}, 0, 0.25, weft::DType::f64)
                      .to_vector<double>()};
  };
  const Matrix v = random(1, 1), j3 = random(2, n), j2 = random(3, n),
               j1 = random(4, n);
  multiplications = 0;
  const Matrix from_input = product(v, product(j3, product(j2, j1)));
  const std::size_t forward_mode = multiplications;
  multiplications = 0;
  const Matrix from_loss = product(product(product(v, j3), j2), j1);
  expect_same("the row from the input and the row from the loss", from_input.values,
              from_loss.values);
  print("multiplications: %zu from the input, %zu from the loss", forward_mode,
        multiplications);
  expect("with n = 16 these are 2 n^3 + n^2 and 3 n^2",
         forward_mode == 2 * n * n * n + n * n && multiplications == 3 * n * n);
}

// ## A tape of scalars
// The backward pass by hand followed a fixed recipe, so a program can do it. During the forward pass, the program
// writes down each operation: its operands, and the derivative of the result with respect to each operand. This list is
// called a *tape*.
//
// Each value of the computation is a *node* of the tape. An `Edge` leads from a node to a *parent*, an operand of its
// operation, and says how fast the node changes with this parent. A node has at most two parents, because all
// operations here have one or two operands. A variable has no parents. The values themselves are not on the tape: the
// edges contain all that backward needs.
class ScalarTape {
 public:
  struct Edge {
    std::size_t parent;
    double slope;  // d node / d parent
  };
  struct Node {
    std::size_t count = 0;
    Edge edges[2] = {};
  };

  std::size_t add() { return add_node({}); }
  std::size_t add(Edge e) { return add_node({1, {e, {}}}); }
  std::size_t add(Edge e, Edge f) { return add_node({2, {e, f}}); }
  const std::vector<Node>& nodes() const { return nodes_; }

  // This is the reverse walk. An operation is always written down after its operands. So parents have smaller indices,
  // and a loop from the last node to the first reaches a node after all nodes that use it. When the loop arrives, the
  // node's gradient is complete and can be passed on to the parents.
  //
  // The most important character is the `+` in `+=`. A value that is used twice gets a contribution from each use. This
  // is the multivariate chain rule: $\bar{v} = \sum_u \bar{u} \, \partial u / \partial v$, over all nodes $u$ that use
  // $v$.
  Vector backward(std::size_t result) const {
    Vector gradient(nodes_.size());
    gradient[result] = 1;
    for (std::size_t i = result + 1; i-- > 0;)
      for (std::size_t k = 0; k < nodes_[i].count; ++k)
        gradient[nodes_[i].edges[k].parent] += gradient[i] * nodes_[i].edges[k].slope;
    return gradient;
  }

 private:
  std::size_t add_node(Node node) {
    nodes_.push_back(node);
    return nodes_.size() - 1;
  }
  std::vector<Node> nodes_;
};

// A `Scalar` is a number with its place on a tape. Each operator computes its value and writes down its slopes. For a
// product $a b$, the slopes are $b$ for the parent $a$, and $a$ for the parent $b$.
struct Scalar {
  ScalarTape* tape;
  double value;
  std::size_t node;
};

Scalar variable(ScalarTape& tape, double value) { return {&tape, value, tape.add()}; }

Scalar operator+(Scalar a, Scalar b) {
  return {a.tape, a.value + b.value, a.tape->add({a.node, 1}, {b.node, 1})};
}
Scalar operator-(Scalar a, double c) {
  return {a.tape, a.value - c, a.tape->add({a.node, 1})};
}
Scalar operator*(Scalar a, Scalar b) {
  return {a.tape, a.value * b.value, a.tape->add({a.node, b.value}, {b.node, a.value})};
}
Scalar operator*(double c, Scalar a) {
  return {a.tape, c * a.value, a.tape->add({a.node, c})};
}
Scalar tanh(Scalar a) {
  const double y = std::tanh(a.value);
  return {a.tape, y, a.tape->add({a.node, 1 - y * y})};
}

// The smallest example is $y = x \cdot x + x$ at $x = 3$. It uses $x$ three times. The tape has three nodes: $x$, the
// product and the sum. The walk adds three contributions to $\bar{x}$: first 1 from the sum, then 3 and 3 from the two
// edges of the product. The result is 7, which is $2x + 1$.
STEP("The smallest tape") {
  ScalarTape tape;
  const Scalar x = variable(tape, 3), y = x * x + x;
  for (std::size_t i = 0; i < tape.nodes().size(); ++i) {
    const ScalarTape::Node& node = tape.nodes()[i];
    if (node.count == 0) print("node %zu: a variable", i);
    for (std::size_t k = 0; k < node.count; ++k)
      print("node %zu: parent %zu, slope %g", i, node.edges[k].parent,
            node.edges[k].slope);
  }
  const Vector gradient = tape.backward(y.node);
  print("gradients of the nodes: %g, %g, %g", gradient[0], gradient[1], gradient[2]);
  expect_same("the gradient of x x + x, and 2 x + 1", gradient[x.node],
              2 * x.value + 1);
}

// The chain rule is also a sum over *paths*: multiply the slopes along each path from $y$ to $x$, and add up these
// products. Squaring five times in a row computes $x^{32}$. Each square uses its operand twice, so there are $2^5 = 32$
// paths. The walk does not follow them one by one. It completes a node's sum before it goes on, so it visits each of
// the 10 edges once. That is why backward costs about as much as forward, however many paths there are.
STEP("Thirty-two paths, ten edges") {
  ScalarTape tape;
  const Scalar x = variable(tape, 1.1);
  Scalar y = x;
  for (int squares = 0; squares < 5; ++squares) y = y * y;
  std::size_t edges = 0;
  for (const ScalarTape::Node& node : tape.nodes()) edges += node.count;
  print("nodes: %zu, edges: %zu", tape.nodes().size(), edges);
  expect_same("the gradient of the five squares, and 32 x^31",
              tape.backward(y.node)[x.node], 32 * std::pow(1.1, 31));
}

// Now the network. Its forward pass becomes a template over the type of its numbers. With `double` it computes the
// loss. With `Scalar` it computes the loss and fills a tape.
template <class T>
T loss_from(const std::vector<T>& x, const std::vector<T>& w, const std::vector<T>& b) {
  using std::tanh;
  std::vector<T> halves;
  for (std::size_t i = 0; i < b.size(); ++i) {
    T z = b[i];
    for (std::size_t j = 0; j < x.size(); ++j) z = z + w[i * x.size() + j] * x[j];
    const T r = tanh(z) - target[i];
    halves.push_back(0.5 * (r * r));
  }
  T sum = halves[0];
  for (std::size_t i = 1; i < halves.size(); ++i) sum = sum + halves[i];
  return sum;
}

// `watch` puts the variables on the tape, and `gradients_of` looks their gradients up.
std::vector<Scalar> watch(ScalarTape& tape, const Vector& values) {
  std::vector<Scalar> scalars;
  for (double value : values) scalars.push_back(variable(tape, value));
  return scalars;
}

Vector gradients_of(const std::vector<Scalar>& scalars, const Vector& gradient) {
  Vector of;
  for (const Scalar& s : scalars) of.push_back(gradient[s.node]);
  return of;
}

// Nobody wrote a backward pass for this function. Still, its gradients equal those of the backward pass by hand, up to
// rounding in the last digits of a double. Even the best difference quotient had an error of $10^{-10}$.
STEP("The tape of scalars differentiates the network") {
  ScalarTape tape;
  const auto x = watch(tape, point.x), w = watch(tape, point.w),
             b = watch(tape, point.b);
  const Scalar loss = loss_from(x, w, b);
  const Vector gradient = tape.backward(loss.node);
  const Variables by_hand = backward(point, forward(point));
  expect_same("L with doubles and with the tape", loss_from(point.x, point.w, point.b),
              loss.value);
  expect_same("L by loops and with the tape", forward(point).loss, loss.value);
  expect_same("gradient of x, by hand and by the tape", by_hand.x,
              gradients_of(x, gradient));
  expect_same("gradient of W, by hand and by the tape", by_hand.w,
              gradients_of(w, gradient));
  expect_same("gradient of b, by hand and by the tape", by_hand.b,
              gradients_of(b, gradient));
  print("nodes on the tape: %zu, of which %zu are variables", tape.nodes().size(),
        x.size() + w.size() + b.size());
}

// ## A tape of tensors
// A node for each scalar is expensive: a product of two $n \times n$ matrices would write about $2 n^3$ nodes. The
// library instead writes one record for each operation on whole tensors. Such an operation cannot write down its
// slopes, because its Jacobian would be huge. For $Y = X W^T$ with $n \times n$ matrices, it would have $n^2$ rows and
// $n^2$ columns for $X$ alone. Therefore each operation has a function that multiplies a gradient by the Jacobian
// without forming it. For this product, the function computes $\bar{X} = \bar{Y} W$ and $\bar{W} = \bar{Y}^T X$.
//
// To use the library's tape, create a `weft::Tape`. It records while it is in scope. `watch` returns a tensor as a
// variable of the tape, called a *leaf*. The operations run as usual. `backward` walks the records in reverse, and a
// `weft::Gradients` receives the gradients of the leaves.
STEP("The library's tape differentiates the network") {
  weft::Tape tape;
  const weft::Tensor x = tape.watch(x0), w = tape.watch(w0), b = tape.watch(b0);
  const weft::Tensor loss = loss_of(x, w, b);
  print("records: 3 leaves and %d operations", static_cast<int>(tape.records()) - 3);
  weft::Gradients gradients;
  tape.backward(loss, gradients);

  const Variables by_hand = backward(point, forward(point));
  expect_same("gradient of x, by hand and by the library",
              weft::Tensor::from(by_hand.x, x.shape()), gradients.of(x));
  expect_same("gradient of W, by hand and by the library",
              weft::Tensor::from(by_hand.w, w.shape()), gradients.of(w));
  expect_same("gradient of b, by hand and by the library",
              weft::Tensor::from(by_hand.b, b.shape()), gradients.of(b));
}

// From here on, the examples are random numbers from a normal distribution.
weft::Tensor numbers(std::uint64_t seed, const weft::Shape& shape) {
  return weft::Random(seed).normal(shape, 0, 1, weft::DType::f64);
}

// A layer with $n$ inputs and $n$ outputs shows the difference. Here $x$ is a constant, $b$ is 0, and the loss is
// $\sum_i a_i^2$ with $a = \tanh(W x)$. Each element of $W$ costs the scalar tape three nodes: the variable, its
// product with $x_j$, and the addition to $z_i$.
Vector by_scalars(const Vector& x, const Vector& w) {
  ScalarTape tape;
  const std::vector<Scalar> ws = watch(tape, w);
  Scalar sum = variable(tape, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    Scalar z = variable(tape, 0);
    for (std::size_t j = 0; j < x.size(); ++j) z = z + x[j] * ws[i * x.size() + j];
    const Scalar a = tanh(z);
    sum = sum + a * a;
  }
  return gradients_of(ws, tape.backward(sum.node));
}

// The library needs five records for any $n$: the leaf $W$, `linear`, `activation`, the product and the sum.
weft::Tensor by_tensors(const weft::Tensor& x, const weft::Tensor& weight,
                        std::int64_t& records) {
  weft::Tape tape;
  const weft::Tensor w = tape.watch(weight);
  const weft::Tensor a = weft::activation(weft::linear(x, w), weft::Activation::tanh);
  const weft::Tensor loss = weft::sum(a * a);
  records = tape.records();
  weft::Gradients gradients;
  tape.backward(loss, gradients);
  return gradients.of(w);
}

// The plot shows the time of a forward and a backward pass. For small $n$ the fixed costs of the library's records
// dominate: shapes are checked and tensors are allocated. For large $n$ the arithmetic dominates, and the library uses
// vector instructions for it.
STEP("A node for each scalar, a record for each operation") {
  print("plot: Forward and backward through a layer | n log | microseconds log");
  print("n, scalar tape, library");
  bool same = true;
  std::int64_t records = 0;
  for (std::int64_t n = 4; n <= 256; n *= 2) {
    const weft::Tensor x = numbers(1, {n}), w = weft::scale(numbers(2, {n, n}), 0.1);
    const Vector xs = x.to_vector<double>(), ws = w.to_vector<double>();
    const Vector tensors = by_tensors(x, w, records).to_vector<double>();
    same = same && annotated::difference(by_scalars(xs, ws), tensors) < 1e-10;
    print("%d, %.2f, %.2f", static_cast<int>(n),
          microseconds([&] { (void)by_scalars(xs, ws); }),
          microseconds([&] { (void)by_tensors(x, w, records); }));
  }
  print("%s", "");
  expect("both tapes give the same gradients for each n", same);
  expect_same("the library's records for the largest n, and 5",
              static_cast<double>(records), 5);
}

// ## Vector-Jacobian products
// So far the walk began at a loss, with $\bar{L} = 1$. It can begin at any tensor $y$ if we provide a gradient
// $\bar{y}$. This given gradient is called the *cotangent*. Then `backward(y, cotangent, gradients)` computes
//
// $$\bar{x} = \bar{y} \, J, \qquad J_{ij} = \frac{\partial y_i}{\partial x_j}$$
//
// This is a *vector-Jacobian product*. It is all that reverse mode ever computes: each operation multiplies by its own
// Jacobian, and the walk chains these products.
weft::Tensor vector_jacobian_product(const weft::Tensor& cotangent) {
  weft::Tape tape;
  const weft::Tensor x = tape.watch(x0);
  const weft::Tensor a =
      weft::activation(weft::linear(x, w0, b0), weft::Activation::tanh);
  weft::Gradients gradients;
  tape.backward(a, cotangent, gradients);
  return gradients.of(x);
}

// To see the matrix $J$ itself, take the unit vectors as cotangents, one after the other. Each gives one row. For
// $a = \tanh(W x + b)$ the rows must be $J_{ij} = (1 - a_i^2) W_{ij}$.
//
// The loss from the beginning is a special case. Its part of the backward pass was $\bar{a} = r$. So the cotangent $r$
// gives the gradient of the loss with respect to $x$, although no loss is on the tape.
STEP("Vector-Jacobian products") {
  const Values y = forward(point);
  for (std::size_t i = 0; i < outputs; ++i) {
    Vector unit(outputs), row(inputs);
    unit[i] = 1;
    for (std::size_t j = 0; j < inputs; ++j)
      row[j] = (1 - y.a[i] * y.a[i]) * point.w[i * inputs + j];
    expect_same(i == 0 ? "the first row of J" : "the second row of J",
                weft::Tensor::from(row, {inputs}),
                vector_jacobian_product(weft::Tensor::from(unit, {outputs})));
  }
  expect_same("the product with the cotangent r, and the gradient of the loss",
              vector_jacobian_product(weft::Tensor::from(y.r, {outputs})),
              weft::Tensor::from(backward(point, y).x, {inputs}));
}

// ## Exercises
// 1. Replace `+=` by `=` in `ScalarTape::backward`. Predict what "The smallest tape" will print, then run it. The
//    gradients of $b$ in the network become wrong by a factor. Which one, and why?
// 2. Give `Scalar` a division and an `exp`, and compose `tanh` of them. The gradients of the network must not change.
// 3. `loss_from` also takes `std::complex<double>`. The imaginary part of $L(v + ih)$, divided by $h$, is the
//    derivative up to an error of order $h^2$, and subtracts no nearby numbers. Add it to the plot, and let $h$ go down
//    to $10^{-100}$.
// 4. Write forward mode: a number type with a value and a slope (a *dual number*), whose operators compute both. Call
//    `loss_from` once for each variable. How many calls replace one walk of the tape?
// 5. Differentiate a second time: apply the central quotient to the gradient of the library's tape. The matrix of
//    second derivatives (the *Hessian*) must be symmetric. How large is its asymmetry, and why is it not 0?

}  // namespace
