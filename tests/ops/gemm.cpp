// Tests of gemm, matmul and linear.
#include "dense/gemm.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "every_isa.h"
#include "op_table.h"
#include "sweep.h"
#include "weft/context.h"

namespace weft::test {
using namespace detail;

namespace {

using Ins = const std::vector<Tensor>&;

// A product with or without transposed matrices, addition to C, a batch, or an epilogue.
struct GemmTrial {
  std::int64_t m, n, k;
  bool transposed_a, transposed_b, transposed_c, accumulate;
  std::int64_t batch = 1;
  double sign = 1;
  bool epilogue = false;
  int row_bias = 0;  // 1 means that the bias has one element per row
};

template <class T>
std::vector<T> random_values(std::int64_t count, std::uint64_t seed) {
  const Random random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(2 * random.uniform(i) - 1);
  return values;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

// Returns the largest |error| / (1 + Σ |a b|) of all elements. The errors are differences from sums in f64.
template <class T>
double gemm_error(const GemmTrial& t) {
  const std::int64_t m = t.m, n = t.n, k = t.k;
  const auto a = random_values<T>(t.batch * m * k + 1, 1), b = random_values<T>(t.batch * k * n + 1, 2);
  const auto bias = random_values<T>(m + n, 3), gate = random_values<T>(m * n, 4),
             residual = random_values<T>(m * n, 5);
  const auto before = random_values<T>(t.batch * m * n, 6);
  auto c = before, hidden = before;
  GemmProblem<T> g{m,
                   n,
                   k,
                   {a.data(), t.transposed_a ? 1 : k, t.transposed_a ? m : 1},
                   {b.data(), t.transposed_b ? 1 : n, t.transposed_b ? k : 1},
                   {c.data(), t.transposed_c ? 1 : n, t.transposed_c ? m : 1}};
  g.accumulate = t.accumulate;
  g.sign = static_cast<T>(t.sign);
  if (t.batch > 1) g.batch = {{t.batch, m * k, k * n, m * n}};
  if (t.epilogue)
    g.epilogue = {bias.data(),   t.row_bias, 1 - t.row_bias, Activation::silu, gate.data(), n, residual.data(), n,
                  hidden.data(), n};
  gemm(g);
  double worst = 0;
  const auto check = [&](double got, double want, double scale) {
    const double error = std::abs(got - want) / scale;
    worst = error <= worst ? worst : std::isnan(error) ? INFINITY : error;
  };
  for (std::int64_t item = 0; item < t.batch; ++item)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0, scale = 1;
        for (std::int64_t p = 0; p < k; ++p) {
          const auto from_a = static_cast<std::size_t>(item * m * k + i * g.a.row + p * g.a.column);
          const auto from_b = static_cast<std::size_t>(item * k * n + p * g.b.row + j * g.b.column);
          const double term = static_cast<double>(a[from_a]) * b[from_b];
          sum += t.sign * term;
          scale += std::abs(term);
        }
        const auto at = static_cast<std::size_t>(item * m * n + i * g.c.row + j * g.c.column);
        if (t.accumulate) sum += before[at];
        if (t.epilogue) {
          sum += bias[static_cast<std::size_t>(t.row_bias ? i : j)];
          check(hidden[at], sum, scale);
          sum = silu(sum) * gate[at] + residual[at];
        }
        check(c[at], sum, scale);
      }
  return worst;
}

void check_gemm(const GemmTrial& t) {
  CAPTURE(t.m);
  CAPTURE(t.n);
  CAPTURE(t.k);
  CAPTURE(t.batch);
  CAPTURE(t.epilogue);
  CHECK(gemm_error<float>(t) <= 1e-6);
  CHECK(gemm_error<double>(t) <= 2e-15);
}

// Computes x Wᵀ + b and the epilogue by separate operations.
Tensor plain_linear(const Tensor& x, const Tensor& weight, const Tensor& bias, const Epilogue& e) {
  Tensor y = matmul(x, transpose(weight, 0, 1));
  if (bias.defined()) y = add(y, bias);
  y = activation(y, e.activation);
  if (e.gate.defined()) y = mul(e.gate, y);
  return e.residual.defined() ? add(e.residual, y) : y;
}

// Makes a case with the given parts: 'b' bias, 'g' gate, 'r' residual.
OpCase linear_case(const std::string& parts, Activation f, const Shape& lead, std::int64_t in, std::int64_t out) {
  Shape x = lead, y = lead;
  x.push_back(in);
  y.push_back(out);
  std::vector<In> inputs = {{x}, {{out, in}}};
  const auto has = [parts](char part) { return parts.find(part) != std::string::npos; };
  if (has('b')) inputs.push_back({{out}});
  if (has('g')) inputs.push_back({y});
  if (has('r')) inputs.push_back({y});
  const auto with = [=](auto function) {
    return [=](Ins all) {
      std::size_t next = 2;
      const auto part = [&](char name) { return has(name) ? all[next++] : Tensor(); };
      const Tensor bias = part('b'), gate = part('g');
      return function(all[0], all[1], bias, Epilogue{f, gate, part('r')});
    };
  };
  return {std::string("linear ") + activation_name(f) + " " + parts + " of " + to_string(x), inputs, with(linear),
          with(plain_linear)};
}

// Computes C by loops over the batch and m, n, k. in[0] is read as `a` (batch or 1, m, k), and in[1] as `b` (batch or
// 1, k, n). `out` is the batch, followed by the shape of the result.
Function by_loops(const Shape& a, const Shape& b, const Shape& out) {
  return [=](Ins in) {
    const std::int64_t m = a[1], n = b[2], k = a[2];
    const Tensor x = raw::contiguous(expand(reshape(in[0], a), {out[0], m, k}));
    const Tensor y = raw::contiguous(expand(reshape(in[1], b), {out[0], k, n}));
    std::vector<double> c;
    for (std::int64_t item = 0; item < out[0]; ++item)
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (std::int64_t p = 0; p < k; ++p)
            sum += x.data<double>()[(item * m + i) * k + p] * y.data<double>()[(item * k + p) * n + j];
          c.push_back(sum);
        }
    return reshape(Tensor::from(c, {out[0], m, n}), Shape(out.begin() + 1, out.end()));
  };
}

const Function matmul_two = [](Ins in) { return matmul(in[0], in[1]); };

const OpCases gemm_cases{
    {"matmul", {{{5, 7}}, {{7, 3}}}, matmul_two, by_loops({1, 5, 7}, {1, 7, 3}, {1, 5, 3})},
    {"matmul of many rows", {{{35, 4}}, {{4, 33}}}, matmul_two, by_loops({1, 35, 4}, {1, 4, 33}, {1, 35, 33})},
    {"matmul of vectors", {{{19}}, {{19}}}, matmul_two, by_loops({1, 1, 19}, {1, 19, 1}, {1})},
    {"matmul vector left", {{{7}}, {{7, 5}}}, matmul_two, by_loops({1, 1, 7}, {1, 7, 5}, {1, 5})},
    {"matmul vector right", {{{5, 7}}, {{7}}}, matmul_two, by_loops({1, 5, 7}, {1, 7, 1}, {1, 5})},
    {"matmul batch", {{{3, 4, 5}}, {{3, 5, 2}}}, matmul_two, by_loops({3, 4, 5}, {3, 5, 2}, {3, 3, 4, 2})},
    {"matmul batch times matrix", {{{3, 4, 5}}, {{5, 2}}}, matmul_two, by_loops({3, 4, 5}, {1, 5, 2}, {3, 3, 4, 2})},
    {"matmul batch times vector", {{{3, 4, 5}}, {{5}}}, matmul_two, by_loops({3, 4, 5}, {1, 5, 1}, {3, 3, 4})},
    {"matmul broadcast batch", {{{2, 1, 3, 4}}, {{5, 4, 2}}}, matmul_two},
    {"matmul of one column and row", {{{6, 1}}, {{1, 5}}}, matmul_two, by_loops({1, 6, 1}, {1, 1, 5}, {1, 6, 5})},
    {"matmul with empty sum", {{{3, 0}}, {{0, 4}}}, matmul_two, by_loops({1, 3, 0}, {1, 0, 4}, {1, 3, 4})},
    {"matmul of no rows", {{{0, 3}}, {{3, 4}}}, matmul_two},
    {"matmul of no batch", {{{0, 2, 3}}, {{3, 4}}}, matmul_two},
    {"matmul complex", {complex_in({2, 3, 4}), complex_in({4, 5})}, matmul_two},
    linear_case("", Activation::none, {3, 4}, 7, 5),
    linear_case("b", Activation::none, {3, 4}, 7, 5),
    linear_case("b", Activation::none, {}, 7, 5),
    linear_case("b", Activation::none, {40}, 5, 35),
    linear_case("b", Activation::none, {3}, 0, 5),
    linear_case("b", Activation::none, {0}, 3, 5),
    linear_case("b", Activation::none, {3}, 5, 0),
    linear_case("br", Activation::none, {2, 3}, 4, 9),
    linear_case("br", Activation::none, {3}, 4, 9),
    linear_case("bg", Activation::none, {2, 3}, 4, 9),
    linear_case("bg", Activation::none, {3}, 4, 9),
    linear_case("b", Activation::gelu, {2, 9}, 4, 20),
    linear_case("b", Activation::gelu_tanh, {5}, 4, 9),
    linear_case("r", Activation::silu, {5}, 4, 9),
    linear_case("g", Activation::tanh, {5}, 4, 9),
    linear_case("bgr", Activation::sigmoid, {2, 9}, 4, 20),
    linear_case("bgr", Activation::silu, {3}, 4, 17),
};

}  // namespace

TEST_CASE("gemm: every orientation of small matrices, on every instruction set") {
  const std::int64_t sizes[] = {1, 2, 3, 4, 5, 8, 11, 12, 13, 16, 17, 31, 33, 40};
  for_every_isa([&] {
    int count = 0;
    for (std::int64_t m : sizes)
      for (std::int64_t n : sizes)
        for (std::int64_t k : {0, 1, 2, 3, 5, 8, 15, 16, 17, 40})
          for (int layout = 0; layout < 8; ++layout, ++count)
            if (count % sweep(1, 11) == 0)
              check_gemm({m, n, k, (layout & 1) != 0, (layout & 2) != 0, (layout & 4) != 0, count % 3 == 0,
                          1 + count % 5 / 4, count % 7 == 0 ? -1.0 : 1.0, layout < 4 && count % 5 == 0, layout % 2});
  });
}

TEST_CASE("gemm: sizes beyond a block") {
  for_every_isa([&] {
    check_gemm({130, 290, 70, false, true, false, false});
    check_gemm({123, 257, 1000, false, false, false, true});
    check_gemm({57, 61, 801, true, false, false, false, 1, 1, true});
    check_gemm({16, 600, 900, false, true, false, false, 1, 1, true});
    check_gemm({9, 300, 500, false, false, false, true, 3});
    check_gemm({3100, 40, 5, false, true, false, false});
    check_gemm({20, 3100, 5, false, true, false, false});
    check_gemm({20, 3100, 5, true, true, true, false});
    check_gemm({70, 50, 400, true, true, false, false, 4, -1});
  });
}

TEST_CASE("gemm: the same bits for any number of threads") {
  const auto run = [](int threads) {
    Context context;
    context.set_threads(threads);
    ContextScope scope(context);
    const Tensor a = to_single(random_tensor({{250, 900}}, 1)), b = to_single(random_tensor({{700, 900}}, 2));
    const Tensor few = slice(a, 0, 0, 7), batch = to_single(random_tensor({{40, 30, 50}}, 3));
    const Tensor gate = to_single(random_tensor({{250, 700}}, 4));
    return std::vector<Tensor>{linear(a, b, {}, {Activation::gelu, gate, gate}), linear(few, b),
                               matmul(batch, transpose(batch, 1, 2)), einsum("bij,kij->bk", {batch, batch})};
  };
  const auto one = run(1);
  for (int threads : {2, 3, 8}) {
    const auto many = run(threads);
    for (std::size_t i = 0; i < one.size(); ++i) CHECK(same_bits(many[i], one[i]));
  }
}

TEST_CASE("gemm: zeros are not skipped") {
  const double inf = std::numeric_limits<double>::infinity();
  for (std::int64_t rows : {1, 40}) {
    Tensor a = Tensor::zeros({rows, 3}), b = Tensor::zeros({3, 2});
    b.mutable_data<float>()[2] = static_cast<float>(inf);
    const auto c = matmul(a, b).to_vector<float>();
    CHECK(std::isnan(c[0]));
    CHECK(c[1] == 0);
  }
}

TEST_CASE("linear: the epilogue equals separate operations, for every activation and instruction set") {
  const Tensor x = random_tensor({{37, 11}}, 1), weight = random_tensor({{21, 11}}, 2), bias = random_tensor({{21}}, 3);
  const Tensor gate = random_tensor({{37, 21}}, 4), residual = random_tensor({{37, 21}}, 5);
  for_every_isa([&] {
    for (int number = 0; number < activation_count; ++number) {
      const auto f = static_cast<Activation>(number);
      CAPTURE(activation_name(f));
      for (std::int64_t rows : {3, 37}) {
        const Tensor some = slice(x, 0, 0, rows);
        const Epilogue e{f, slice(gate, 0, 0, rows), slice(residual, 0, 0, rows)};
        const Tensor want = plain_linear(some, weight, bias, e);
        CHECK(max_difference(linear(some, weight, bias, e), want) <= 1e-13 * max_abs(want));
        const Epilogue single{f, to_single(e.gate), to_single(e.residual)};
        const Tensor got = linear(to_single(some), to_single(weight), to_single(bias), single);
        CHECK(max_difference(got, want) <= 3e-6 * max_abs(want));
      }
    }
  });
}

TEST_CASE("packed_linear: gives linear's bits for many and few rows, on the weight's instruction set and others") {
  const auto single = [](const Tensor& t) { return to_single(t); };
  const auto same = [](const Tensor& t) { return t; };
  const auto check = [](std::int64_t rows, std::int64_t k, std::int64_t n, auto convert) {
    const Tensor x = convert(random_tensor({{rows, k}}, 1)), weight = convert(random_tensor({{n, k}}, 2));
    const Tensor bias = convert(random_tensor({{n}}, 3));
    const PackedWeight packed(weight);
    const auto compare = [&] {
      const Epilogue e = Activation::gelu;
      CHECK(same_bits(packed_linear(x, packed, bias, e), linear(x, weight, bias, e)));
      CHECK(same_bits(packed_linear(x, packed), linear(x, weight)));
    };
    compare();
    Context other;
    other.set_isa(available_isas().front());
    ContextScope scope(other);
    compare();
  };
  for (const std::int64_t k : {0, 5, 401})
    for (const std::int64_t n : {1, 8, 70})
      for (const std::int64_t rows : {0, 1, 9, 40, sweep(600, 70)}) {
        CAPTURE(k);
        CAPTURE(n);
        CAPTURE(rows);
        for_every_isa([&] { check(rows, k, n, same), check(rows, k, n, single); });
      }
  for (const std::int64_t k : {900, 901})  // several blocks of k, of equal or unequal length, and of columns
    for_every_isa([&] { check(20, k, 3200, single); });
  // A sum of more than 4096 products may be a sum of parts.
  for_every_isa([&] { check(17, 8200, 9, same), check(17, 8200, 9, single); });
}

// Products that underflow to -0 show which partial sums the padding beyond k turns into 0.
TEST_CASE("few rows: the sign of 0 is the same with packed and with plain weights, and on all instruction sets") {
  for (std::int64_t k : {1, 3, 4, 7, 8, 9, 12, 15, 16, 20, 24, 31, 32})
    for (std::int64_t rows : {1, 2, 3, 4, 5, 8}) {
      CAPTURE(k);
      CAPTURE(rows);
      const Tensor x = Tensor::full({rows, k}, 1e-30, DType::f32), weight = Tensor::full({7, k}, -1e-30, DType::f32);
      std::optional<Tensor> first;
      for_every_isa([&] {
        const Tensor y = linear(x, weight);
        CHECK(same_bits(packed_linear(x, PackedWeight(weight)), y));
        if (!has_fused_multiply_add(Context::current().isa())) return;
        if (first) CHECK(same_bits(y, *first));
        first = y;
      });
    }
}

TEST_CASE("packed_linear: errors") {
  CHECK_THROWS_WITH_AS((void)PackedWeight{random_tensor({{70}}, 3)},
                       "[PackedWeight] expected a weight of shape (out, in), got an f64 tensor of shape (70,)", Error);
  CHECK_THROWS_AS((void)PackedWeight{Tensor()}, Error);
  Tensor weight = random_tensor({{7, 5}}, 3);
  const PackedWeight packed(weight);
  weight.mutable_data<double>()[3] += 1;
  CHECK_THROWS_WITH_AS(packed_linear(random_tensor({{40, 5}}, 1), packed),
                       "[packed_linear] the weight was written after it was packed", Error);
}

TEST_CASE("matmul, linear: errors name the operation and the shapes") {
  const Tensor a = Tensor::zeros({2, 3}), b = Tensor::zeros({4, 5}), wide = Tensor::zeros({2, 3}, DType::f64);
  CHECK_THROWS_WITH_AS(matmul(a, b),
                       "[matmul] expected operands of shapes (…, m, k) and (…, k, n), got (2, 3) and (4, 5)", Error);
  CHECK_THROWS_WITH_AS(matmul(Tensor::zeros({2, 2, 3}), Tensor::zeros({3, 3, 2})),
                       "[matmul] shapes (2,) and (3,) don't broadcast", Error);
  CHECK_THROWS_WITH_AS(matmul(a, wide),
                       "[matmul] expected operands of the same dtype, got an f32 tensor of shape (2, 3) and an f64 "
                       "tensor of shape (2, 3)",
                       Error);
  CHECK_THROWS_AS(matmul(Tensor::scalar(1), a), Error);
  CHECK_THROWS_AS(matmul(a, Tensor()), Error);
  CHECK_THROWS_AS(matmul(Tensor::zeros({2, 2}, DType::i64), Tensor::zeros({2, 2}, DType::i64)), Error);
  CHECK_THROWS_WITH_AS(
      linear(a, b), "[linear] expected x of shape (…, in) and weight of shape (out, in), got shapes (2, 3) and (4, 5)",
      Error);
  const Tensor w = Tensor::zeros({5, 3}), four = Tensor::zeros({4});
  CHECK_THROWS_WITH_AS(linear(a, w, four),
                       "[linear] expected bias to be an f32 tensor of shape (5,), got an f32 tensor of shape (4,)",
                       Error);
  CHECK_THROWS_WITH_AS(linear(a, w, {}, {Activation::none, four}),
                       "[linear] expected gate to be an f32 tensor of shape (2, 5), got an f32 tensor of shape (4,)",
                       Error);
  CHECK_THROWS_WITH_AS(
      linear(a, w, {}, Epilogue::adding(four)),
      "[linear] expected residual to be an f32 tensor of shape (2, 5), got an f32 tensor of shape (4,)", Error);
  CHECK_THROWS_AS(linear(a, w, {}, static_cast<Activation>(99)), Error);
  CHECK_THROWS_AS(linear(Tensor::scalar(1), w), Error);
}

TEST_CASE("matmul, linear, einsum: results that are too large are errors and allocate no memory") {
  Context context;
  const ContextScope scope(context);
  const auto seen_as = [](const Shape& shape) { return Tensor::zeros({1}).view(shape, Strides(shape.size(), 0), 0); };
  const std::int64_t half = std::int64_t{1} << 32, large = std::int64_t{1} << 26;
  const std::size_t before = context.memory().use().current;
  for (std::int64_t n : {half, large}) {  // the number of elements exceeds 64 bits, or the bytes exceed any machine
    CHECK_THROWS_AS(matmul(seen_as({n, 1}), seen_as({1, n})), Error);
    CHECK_THROWS_AS(matmul(seen_as({n, 2, 1}), seen_as({n, 1, n})), Error);
    CHECK_THROWS_AS(linear(seen_as({n, 3}), seen_as({n, 3})), Error);
    CHECK_THROWS_AS(linear(seen_as({n, 0}), seen_as({n, 0})), Error);
    CHECK_THROWS_AS(einsum("i,j->ij", {seen_as({n}), seen_as({n})}), Error);
    CHECK_THROWS_AS(einsum("ai,aj->ij", {seen_as({2, n}), seen_as({2, n})}), Error);
  }
  CHECK(context.memory().use().current == before);
}

}  // namespace weft::test
