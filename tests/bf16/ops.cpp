// Tests operations on bf16 tensors against the same operations in f32 on the same numbers. Each result must be the f32
// result, rounded once.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "op_table.h"
#include "pointwise/records.h"
#include "weft/context.h"
#include "weft/update_rules.h"

namespace weft::test {
namespace {

enum class Kind { bf16, f32, i64 };

struct Given {
  Shape shape;
  double low = -2, high = 2;
  Kind kind = Kind::bf16;
};

struct Bf16Case {
  std::string name;
  std::vector<Given> inputs;
  Function run;
  DType result = DType::bf16;
};

Given f32_of(const Shape& shape) { return {shape, -2, 2, Kind::f32}; }
Given numbers(const Shape& shape, double count) { return {shape, 0, count, Kind::i64}; }

// Records the operation like linear and spatial_gate do.
Tensor gated(const Tensor& gate, const Tensor& x, Activation f) {
  auto op = detail::gate_op("gate", f);
  const Inputs in{gate, x};
  Tensor y = detail::compute(*op, in);
  return op->recording ? detail::record(std::move(op), in, std::move(y)) : y;
}

std::vector<Tensor> made(const Bf16Case& c) {
  std::vector<Tensor> all;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const Given& g = c.inputs[i];
    const DType drawn = g.kind == Kind::i64 ? DType::i64 : DType::f64;
    const Tensor x = random_tensor({g.shape, g.low, g.high, 0, drawn}, 40 + i);
    const DType dtype = g.kind == Kind::bf16 ? DType::bf16 : g.kind == Kind::f32 ? DType::f32 : DType::i64;
    all.push_back(dtype == drawn ? x : raw::convert(x, dtype));
  }
  return all;
}

Tensor widened(const Tensor& x) { return x.dtype() == DType::bf16 ? raw::convert(x, DType::f32) : x; }

std::vector<Tensor> widened(const std::vector<Tensor>& all) {
  std::vector<Tensor> wide;
  for (const Tensor& x : all) wide.push_back(widened(x));
  return wide;
}

// Returns the value, and the gradients of all real inputs. The cotangent is exact in bf16 and in every wider dtype.
Differentiated run(const Function& f, const std::vector<Tensor>& inputs) {
  Tape tape;
  std::vector<Tensor> leaves;
  for (const Tensor& x : inputs) leaves.push_back(x.dtype() == DType::i64 ? x : tape.watch(x));
  Differentiated result;
  const Tensor y = f(leaves);
  result.y = y.detach();
  const Tensor drawn = raw::convert(random_tensor({y.shape(), -1, 1}, 7), DType::bf16);
  Gradients gradients;
  tape.backward(y, raw::convert(drawn, y.dtype()), gradients);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    result.gradients.push_back(inputs[i].dtype() == DType::i64 ? Tensor() : gradients.of(leaves[i]));
  return result;
}

bool is_rounded(const Tensor& got, const Tensor& wide) { return same_bits(got, raw::convert(wide, got.dtype())); }

void check(const Bf16Case& c) {
  CAPTURE(c.name);
  const std::vector<Tensor> inputs = made(c);
  const Differentiated got = run(c.run, inputs), wide = run(c.run, widened(inputs));
  CHECK(got.y.dtype() == c.result);
  CHECK(is_rounded(got.y, wide.y));
  CHECK(same_bits(c.run(inputs), got.y));  // without a tape
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    CAPTURE(i);
    CHECK(same_bits(inputs[i], made(c)[i]));
    if (!got.gradients[i].defined()) continue;
    CHECK(got.gradients[i].dtype() == inputs[i].dtype());
    CHECK(is_rounded(got.gradients[i], wide.gradients[i]));
  }
  for (int threads : {2, 3}) {
    Context context;
    context.set_threads(threads);
    context.set_isa(Context::current().isa());
    const ContextScope scope(context);
    const Differentiated again = run(c.run, inputs);
    CHECK(same_bits(again.y, got.y));
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (got.gradients[i].defined()) CHECK(same_bits(again.gradients[i], got.gradients[i]));
  }
}

// Checks the cases on every instruction set.
void check(const std::vector<Bf16Case>& cases) {
  for (Isa isa : available_isas()) {
    CAPTURE(isa_name(isa));
    Context context;
    context.set_isa(isa);
    context.set_threads(1);
    const ContextScope scope(context);
    for (const Bf16Case& c : cases) check(c);
  }
}

using Ins = const std::vector<Tensor>&;

// Lengths below, at and beyond one vector, and lengths that are divided into several tasks.
const std::vector<Shape> shapes = {{0}, {1}, {3}, {15}, {16}, {17}, {33}, {67}, {5, 131}, {7, 2003}, {33013}};

}  // namespace

TEST_CASE("bf16: arithmetic rounds each element once") {
  std::vector<Bf16Case> cases;
  for (const Shape& shape : shapes) {
    const Given x{shape}, away{shape, 0.5, 3};
    cases.push_back({"add", {x, x}, [](Ins in) { return add(in[0], in[1]); }});
    cases.push_back({"sub", {x, x}, [](Ins in) { return sub(in[0], in[1]); }});
    cases.push_back({"mul", {x, x}, [](Ins in) { return mul(in[0], in[1]); }});
    cases.push_back({"div", {x, away}, [](Ins in) { return div(in[0], in[1]); }});
    cases.push_back({"scale", {x}, [](Ins in) { return scale(in[0], 0.1); }});
    cases.push_back({"square", {x}, [](Ins in) { return square(in[0]); }});
    cases.push_back({"log", {away}, [](Ins in) { return log(in[0]); }});
    cases.push_back({"neg", {x}, [](Ins in) { return -in[0]; }});
    cases.push_back({"abs", {x}, [](Ins in) { return abs(in[0]); }});
    cases.push_back({"sign", {x}, [](Ins in) { return sign(in[0]); }});
    cases.push_back({"sin", {x}, [](Ins in) { return sin(in[0]); }});
    cases.push_back({"cos", {x}, [](Ins in) { return cos(in[0]); }});
    cases.push_back({"softplus", {x}, [](Ins in) { return softplus(in[0]); }});
    cases.push_back({"sigmoid", {x}, [](Ins in) { return sigmoid(in[0]); }});
    cases.push_back({"erf", {x}, [](Ins in) { return erf(in[0]); }});
    cases.push_back({"expm1", {x}, [](Ins in) { return expm1(in[0]); }});
    cases.push_back({"log1p", {away}, [](Ins in) { return log1p(in[0]); }});
    cases.push_back({"rsqrt", {away}, [](Ins in) { return rsqrt(in[0]); }});
    cases.push_back({"reciprocal", {away}, [](Ins in) { return reciprocal(in[0]); }});
    cases.push_back({"pow", {away}, [](Ins in) { return pow(in[0], 1.7); }});
    cases.push_back({"pow of tensors", {away, x}, [](Ins in) { return pow(in[0], in[1]); }});
    cases.push_back({"clamp", {x}, [](Ins in) { return clamp(in[0], -0.3, 1.1); }});
    cases.push_back({"add number", {x}, [](Ins in) { return in[0] + 0.1; }});
    cases.push_back({"number - x", {x}, [](Ins in) { return 0.1 - in[0]; }});
    cases.push_back({"over number", {x}, [](Ins in) { return in[0] / 0.7; }});
    cases.push_back({"number over", {away}, [](Ins in) { return 0.7 / in[0]; }});
    cases.push_back({"maximum", {x, x}, [](Ins in) { return maximum(in[0], in[1]); }});
    cases.push_back({"minimum", {x, x}, [](Ins in) { return minimum(in[0], in[1]); }});
    cases.push_back({"where", {x, x}, [](Ins in) { return where(less(in[0], in[1]), in[0], in[1]); }});
    cases.push_back({"dropout", {x}, [](Ins in) { return dropout(in[0], 0.3, Random(5)); }});
    cases.push_back({"cast", {x}, [](Ins in) { return cast(in[0], DType::f32); }, DType::f32});
    cases.push_back({"cast to f64", {x}, [](Ins in) { return cast(in[0], DType::f64); }, DType::f64});
  }
  check(cases);
}

TEST_CASE("bf16: gradients of arithmetic with broadcasting are summed before they are rounded") {
  std::vector<Bf16Case> cases;
  const std::vector<std::vector<Given>> pairs = {{{{5, 131}}, {{131}, 0.5, 3}}, {{{300, 17}}, {{300, 1}, 0.5, 3}},
                                                 {{{}}, {{7, 3}, 0.5, 3}},      {{{4, 1, 19}}, {{33, 1}, 0.5, 3}},
                                                 {{{3, 0}}, {{1}, 0.5, 3}},     {{{257, 67}}, {{}, 0.5, 3}}};
  for (const auto& pair : pairs) {
    cases.push_back({"add", pair, [](Ins in) { return add(in[0], in[1]); }});
    cases.push_back({"sub", pair, [](Ins in) { return sub(in[0], in[1]); }});
    cases.push_back({"mul", pair, [](Ins in) { return mul(in[0], in[1]); }});
    cases.push_back({"div", pair, [](Ins in) { return div(in[0], in[1]); }});
    cases.push_back({"maximum", pair, [](Ins in) { return maximum(in[0], in[1]); }});
    cases.push_back({"where", pair, [](Ins in) { return where(less(in[0], in[1]), in[0], in[1]); }});
  }
  cases.push_back({"pow", {{{300, 17}, 0.5, 3}, {{300, 1}, 0.5, 3}}, [](Ins in) { return pow(in[0], in[1]); }});
  check(cases);
}

TEST_CASE("bf16: activations and gates") {
  std::vector<Bf16Case> cases;
  for (const auto& named : activation_names) {
    const Activation f = named.value;
    for (const Shape& shape : {Shape{0}, Shape{37}, Shape{3, 1009}, Shape{33013}}) {
      const Given x{shape, -5, 5};
      cases.push_back({named.name, {x}, [f](Ins in) { return activation(in[0], f); }});
      cases.push_back({std::string("gate, ") + named.name, {x, x}, [f](Ins in) { return gated(in[0], in[1], f); }});
    }
  }
  cases.push_back({"a part as gate", {{{7, 66}}, {{7, 33}}}, [](Ins in) {
                     return gated(slice(in[0], -1, 33, 66), in[1], Activation::gelu);
                   }});
  check(cases);
}

TEST_CASE("bf16: exp and sqrt, whose gradients are computed from the rounded value") {
  for (const Shape& shape : shapes) {
    const Tensor x = raw::convert(random_tensor({shape, 0.1, 3}, 1), DType::bf16);
    const Differentiated e = run([](Ins in) { return exp(in[0]); }, {x}),
                         s = run([](Ins in) { return sqrt(in[0]); }, {x});
    CHECK(is_rounded(e.y, exp(widened(x))));
    CHECK(is_rounded(s.y, sqrt(widened(x))));
    const Tensor dy = widened(raw::convert(random_tensor({shape, -1, 1}, 7), DType::bf16));
    CHECK(is_rounded(e.gradients[0], mul(dy, widened(e.y))));
    CHECK(is_rounded(s.gradients[0], div(scale(dy, 0.5), widened(s.y))));
  }
}

TEST_CASE("bf16: sums, means and maxima are computed in f32") {
  std::vector<Bf16Case> cases;
  for (const Shape& shape : {Shape{1}, Shape{67}, Shape{5, 131}, Shape{300, 3, 67}, Shape{2, 70001}, Shape{40000, 3}}) {
    const auto last = static_cast<std::int64_t>(shape.size()) - 1;
    cases.push_back({"sum", {{shape}}, [](Ins in) { return sum(in[0]); }});
    cases.push_back({"mean", {{shape}}, [](Ins in) { return mean(in[0]); }});
    for (std::int64_t dim : {std::int64_t{0}, last}) {
      cases.push_back({"sum over an axis", {{shape}}, [dim](Ins in) { return sum(in[0], {dim}); }});
      cases.push_back({"mean over an axis", {{shape}}, [dim](Ins in) { return mean(in[0], {dim}, true); }});
      cases.push_back({"max", {{shape}}, [dim](Ins in) { return max(in[0], dim); }});
    }
  }
  cases.push_back({"sum of nothing", {{{0, 3}}}, [](Ins in) { return sum(in[0], {0}); }});
  cases.push_back({"sum over no axis", {{{1, 5}}}, [](Ins in) { return sum(in[0], {0}); }});
  cases.push_back({"sum over two runs", {{{5, 7, 3, 11}}}, [](Ins in) { return sum(in[0], {1, 3}); }});
  check(cases);
  // The sum of 70000 ones. A sum in bf16 would stop at 256.
  CHECK(sum(Tensor::full({70000}, 1, DType::bf16)).item() == bfloat16(70000).operator float());
  CHECK(mean(Tensor::full({70001}, 3, DType::bf16)).item() == 3);
  CHECK(l2_norm(Tensor::full({70001}, 3, DType::bf16)) == l2_norm(Tensor::full({70001}, 3)));
}

TEST_CASE("bf16: norms with parameters in f32") {
  std::vector<Bf16Case> cases;
  for (const Shape& shape : {Shape{1, 1}, Shape{5, 3}, Shape{67, 17}, Shape{3, 131}, Shape{129, 512}, Shape{0, 4}}) {
    const Shape row{shape.back()};
    cases.push_back(
        {"layer_norm", {{shape}, f32_of(row), f32_of(row)}, [](Ins in) { return layer_norm(in[0], 1, in[1], in[2]); }});
    cases.push_back({"layer_norm of x alone", {{shape}}, [](Ins in) { return layer_norm(in[0], 1, {}, {}); }});
    cases.push_back(
        {"layer_norm, near constant", {{shape, 100, 101}}, [](Ins in) { return layer_norm(in[0], 1, {}, {}); }});
    cases.push_back({"layer_norm, huge", {{shape, -1e38, 1e38}}, [](Ins in) { return layer_norm(in[0], 1, {}, {}); }});
    cases.push_back({"rms_norm", {{shape}, f32_of(row)}, [](Ins in) { return rms_norm(in[0], in[1]); }});
    cases.push_back({"rms_norm, huge", {{shape, -1e38, 1e38}}, [](Ins in) { return rms_norm(in[0]); }});
  }
  cases.push_back({"two axes of a part", {{{4, 3, 10}}, f32_of({3, 5}), f32_of({3, 5})}, [](Ins in) {
                     return layer_norm(slice(in[0], -1, 2, 7), 2, in[1], in[2]);
                   }});
  check(cases);
}

TEST_CASE("bf16: only the parameters of a norm are differentiated") {
  const Tensor x = raw::convert(random_tensor({{67, 131}, -2, 2}, 1), DType::bf16);
  const auto f = [](const Tensor& given) { return [given](Ins in) { return layer_norm(given, 1, in[0], in[1]); }; };
  const std::vector<Tensor> parameters = {raw::convert(random_tensor({{131}}, 2), DType::f32), Tensor::zeros({131})};
  const Differentiated got = run(f(x), parameters), wide = run(f(widened(x)), parameters);
  for (std::size_t i : {0, 1}) CHECK(same_bits(got.gradients[i], wide.gradients[i]));
}

TEST_CASE("bf16: a norm with a residual equals the norm of the rounded sum") {
  const auto fused = [](Ins in) { return layer_norm(in[0], 1, in[2], in[3], 1e-5, in[1]); };
  const auto plain = [](Ins in) { return layer_norm(add(in[0], in[1]), 1, in[2], in[3]); };
  for (const Shape& shape : {Shape{3, 5}, Shape{67, 131}}) {
    std::vector<Tensor> in;
    for (std::uint64_t seed : {1, 2}) in.push_back(raw::convert(random_tensor({shape}, seed), DType::bf16));
    for (std::uint64_t seed : {3, 4}) in.push_back(raw::convert(random_tensor({{shape[1]}}, seed), DType::f32));
    const Differentiated a = run(fused, in), b = run(plain, in);
    CHECK(same_bits(a.y, b.y));
    CHECK(same_bits(fused(in), a.y));
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(same_bits(a.gradients[i], b.gradients[i]));
  }
  const Tensor x = Tensor::full({2, 3}, 1, DType::bf16), residual = Tensor::full({2, 3}, 1);
  CHECK_THROWS_WITH_AS(
      rms_norm(x, {}, 1e-8, residual),
      "[rms_norm] expected residual to be a bf16 tensor of shape (2, 3), like x, got an f32 tensor of shape (2, 3)",
      Error);
}

TEST_CASE("bf16: softmax, whose gradient is computed from the rounded value") {
  std::vector<Bf16Case> cases;
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 7}, Shape{67, 17}, Shape{5, 1009}, Shape{0, 3}, Shape{9, 2049}})
    for (std::int64_t dim : {0, 1})
      cases.push_back({"log_softmax", {{shape, -9, 9}}, [dim](Ins in) { return log_softmax(in[0], dim); }});
  check(cases);
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (const Bf16Case& c : cases) {
      const Tensor x = made(c)[0], wide = widened(x);
      const Differentiated got = run([](Ins in) { return softmax(in[0], 1); }, {x});
      CHECK(is_rounded(got.y, softmax(wide, 1)));
      // dx = y (dy - Σ dy y), with |dy| < 1. The bound allows a relative error of 2^-9 for y, which changes dx by up to
      // 2^-9 y (|dy| + Σ |dy| y) + 2^-9 y Σ |dy| y.
      const Tensor exact = run([](Ins in) { return softmax(in[0], 1); }, {wide}).gradients[0], y = softmax(wide, 1);
      const auto dx = raw::convert(got.gradients[0], DType::f64).to_vector<double>();
      const auto want = raw::convert(exact, DType::f64).to_vector<double>();
      const auto p = raw::convert(y, DType::f64).to_vector<double>();
      for (std::size_t i = 0; i < dx.size(); ++i) {
        const double bound = 0x1p-9 * std::abs(dx[i]) + 0x1p-9 * p[i] * 3 + 0x1p-20 * p[i];
        REQUIRE(std::abs(dx[i] - want[i]) <= bound);
      }
    }
  }
}

TEST_CASE("bf16: cross entropy is f32, and its gradient is rounded once") {
  std::vector<Bf16Case> cases;
  for (const Shape& shape : {Shape{1, 1}, Shape{3, 7}, Shape{67, 17}, Shape{5, 1009}, Shape{300, 131}})
    for (double range : {3.0, 30.0}) {
      cases.push_back({"cross_entropy",
                       {{shape, -range, range}, numbers({shape[0]}, static_cast<double>(shape[1]))},
                       [](Ins in) { return cross_entropy(in[0], in[1], 2); },
                       DType::f32});
    }
  check(cases);
  // A nearly certain target. The remaining probability is e^-12, which is far below the rounding error of 1.
  const Tensor x = Tensor::from<bfloat16>({bfloat16(12), bfloat16(0)}, {1, 2});
  const Tensor target = Tensor::zeros({1}, DType::i64);
  const Differentiated got = run([](Ins in) { return cross_entropy(in[0], in[1]); }, {x, target});
  CHECK(std::abs(got.gradients[0].to_vector<bfloat16>()[0].operator float()) > 1e-7f);
}

TEST_CASE("bf16: lookup of rows of a table, whose gradients are summed in f32") {
  std::vector<Bf16Case> cases;
  for (const Shape& table : {Shape{1, 1}, Shape{7, 3}, Shape{50, 67}, Shape{3, 1009}, Shape{1000, 5}, Shape{5, 0}})
    for (std::int64_t count : {0, 1, 700})
      cases.push_back({"embedding", {numbers({count}, static_cast<double>(table[0])), {table}}, [](Ins in) {
                         return embedding(in[0], in[1]);
                       }});
  // Many concurrent tasks, each with its own sums.
  cases.push_back({"embedding", {numbers({5000}, 200), {{200, 301}}}, [](Ins in) { return embedding(in[0], in[1]); }});
  check(cases);
}

TEST_CASE("bf16: operations that rearrange elements don't change the numbers") {
  check({
      {"reshape",
       {{{6, 35}}},
       [](Ins in) {
         return reshape(in[0], {-1, 7});
       }},
      {"permute",
       {{{3, 5, 7}}},
       [](Ins in) {
         return permute(in[0], {2, 0, 1});
       }},
      {"transposed copy", {{{37, 53}}}, [](Ins in) { return reshape(transpose(in[0], 0, 1), {-1}); }},
      {"slice", {{{5, 17}}}, [](Ins in) { return slice(in[0], 1, 3, 14, 2); }},
      {"concat",
       {{{5, 3}}, {{5, 16}}, {{5, 1}}},
       [](Ins in) {
         return concat({in[0], in[1], in[2]}, 1);
       }},
      {"expand",
       {{{1, 17}}},
       [](Ins in) {
         return expand(in[0], {300, 17});
       }},
      {"flip", {{{3, 19}}}, [](Ins in) { return flip(in[0], 1); }},
  });
}

TEST_CASE("bf16: spectral operations compute in f32 and round once") {
  check({
      {"fourier_mix", {{{2, 6, 10}}}, [](Ins in) { return fourier_mix(in[0], 1, 2); }},
      {"toeplitz", {{{2, 3, 11, 5}}, f32_of({3, 21, 5})}, [](Ins in) { return toeplitz_product(in[0], in[1], false); }},
      {"toeplitz, ring",
       {{{2, 3, 11, 5}}, f32_of({3, 11, 5})},
       [](Ins in) { return toeplitz_product(in[0], in[1], true, ToeplitzForm::ring); }},
      {"circulant", {{{2, 7, 5}}, f32_of({7, 5})}, [](Ins in) { return circulant_product(in[0], in[1]); }},
  });
  const Tensor x = raw::convert(random_tensor({{2, 3, 11, 5}}, 1), DType::bf16), t = Tensor::full({3, 11, 5}, 0.3);
  CHECK(is_rounded(toeplitz_product(x, ToeplitzCoefficients(t, true)), toeplitz_product(widened(x), t, true)));
}

TEST_CASE("bf16: if a tensor is used several times, its gradients are added in bf16, and each sum is rounded") {
  const Tensor x = Tensor::full({67}, 1, DType::bf16);
  const Differentiated got = run([](Ins in) { return add(scale(in[0], 256), add(in[0], in[0])); }, {x});
  const Tensor dy = raw::convert(random_tensor({{67}, -1, 1}, 7), DType::bf16);
  Tensor sum = scale(dy, 256);
  for (int use = 0; use < 2; ++use) raw::accumulate(sum, dy);
  Tensor other = add(dy, dy);  // the order of the uses depends on the tape
  raw::accumulate(other, scale(dy, 256));
  CHECK((same_bits(got.gradients[0], sum) || same_bits(got.gradients[0], other)));
}

}  // namespace weft::test
