// Tests spatial_gate_last against the last row of spatial_gate and against a plain loop.
#include <doctest/doctest.h>

#include <cmath>

#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

struct Texts {
  Tensor gate;            // (1, texts, d)
  std::vector<Tensor> x;  // (n, d) each
  Tensor weight, bias;    // for n + 3 tokens
};

Texts made(std::int64_t texts, std::int64_t n, std::int64_t d, DType dtype) {
  const auto numbers = [](const Shape& shape, std::uint64_t seed, DType as) {
    return raw::convert(random_tensor({shape}, seed), as);
  };
  Texts t{numbers({1, texts, d}, 1, dtype),
          {},
          numbers({n + 3, n + 3}, 2, computed_of(dtype)),
          numbers({n + 3}, 3, computed_of(dtype))};
  for (std::int64_t i = 0; i < texts; ++i) t.x.push_back(numbers({n, d}, 10 + static_cast<std::uint64_t>(i), dtype));
  return t;
}

Tensor run(const Texts& t) { return spatial_gate_last(t.gate, t.x, t.weight, t.bias); }

std::vector<double> numbers_of(const Tensor& x) { return raw::convert(x, DType::f64).to_vector<double>(); }

// Counts the elements whose error exceeds the bound. `epsilon` is the unit roundoff of the sum of n products, and
// `last` is the unit roundoff of the result.
std::int64_t wrong(const Texts& t, const Tensor& y, double epsilon, double last) {
  const auto gate = numbers_of(t.gate), weight = numbers_of(t.weight), bias = numbers_of(t.bias), got = numbers_of(y);
  const std::int64_t n = t.x[0].size(0), d = t.x[0].size(1), row = t.weight.size(1);
  std::int64_t count = y.shape() == t.gate.shape() ? 0 : 1;
  for (std::size_t text = 0; text < t.x.size(); ++text) {
    const auto x = numbers_of(t.x[text]);
    for (std::int64_t j = 0; j < d; ++j) {
      double sum = bias[static_cast<std::size_t>(n - 1)], all = std::abs(sum);
      for (std::int64_t p = 0; p < n; ++p) {
        const double term =
            weight[static_cast<std::size_t>((n - 1) * row + p)] * x[static_cast<std::size_t>(p * d + j)];
        sum += term;
        all += std::abs(term);
      }
      const std::size_t at = text * static_cast<std::size_t>(d) + static_cast<std::size_t>(j);
      const double want = gate[at] * sum;
      count += !(std::abs(got[at] - want) <=
                 static_cast<double>(n + 3) * epsilon * all * std::abs(gate[at]) + last * std::abs(want) + 1e-40);
    }
  }
  return count;
}

TEST_CASE("spatial_gate_last: it follows the formula for any sizes and dtypes, on every instruction set") {
  for (const Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    for (const std::int64_t n : {1, 2, 5, 67})
      for (const std::int64_t d : {1, 7, 64, 130, 2051, 4101})
        for (const std::int64_t texts : {1, 3}) {
          CAPTURE(n);
          CAPTURE(d);
          for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
            const Texts t = made(texts, n, d, dtype);
            const double epsilon = dtype == DType::f64 ? 0x1p-52 : 0x1p-23, last = dtype == DType::bf16 ? 0x1p-8 : 0;
            CHECK(wrong(t, run(t), epsilon, last) == 0);
          }
        }
  }
}

TEST_CASE("spatial_gate_last: it equals spatial_gate's last row, also with parameters in bf16") {
  const std::int64_t n = 9, d = 20;
  for (const DType of_parameters : {DType::f32, DType::bf16}) {
    Texts t = made(1, n, d, DType::bf16);
    t.weight = raw::convert(raw::convert(t.weight, DType::bf16), of_parameters);
    t.bias = raw::convert(raw::convert(t.bias, DType::bf16), of_parameters);
    const Tensor x = reshape(t.x[0], {n, 1, d}), gate = raw::contiguous(expand(t.gate, {n, 1, d}));
    const Tensor w = slice(slice(t.weight, 0, 0, n), 1, 0, n), b = slice(t.bias, 0, 0, n);
    const Tensor all = spatial_gate(gate, x, w, b, true);
    const auto want = numbers_of(slice(all, 0, n - 1, n)), got = numbers_of(run(t));
    for (std::size_t j = 0; j < want.size(); ++j) CHECK(std::abs(got[j] - want[j]) <= 0x1p-6);
  }
}

TEST_CASE("spatial_gate_last: the same bits in any layout, with any other texts, for any number of threads") {
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const std::int64_t n = 70, d = 1100, texts = 3;
    const Texts t = made(texts, n, d, dtype);
    Context one;
    one.set_threads(1);
    Tensor want;
    {
      const ContextScope scope(one);
      want = run(t);
    }
    for (const int threads : {2, 3, 8}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      CHECK(same_bits(run(t), want));
    }
    for (std::int64_t i = 0; i < texts; ++i) {
      const Tensor own =
          spatial_gate_last(slice(t.gate, 1, i, i + 1), {t.x[static_cast<std::size_t>(i)]}, t.weight, t.bias);
      CHECK(same_bits(own, raw::contiguous(slice(want, 1, i, i + 1))));
    }
    Texts other = t;
    other.gate = slice(concat({t.gate, t.gate}, 2), 2, 0, d);  // rows with a gap between them
    for (Tensor& x : other.x) x = slice(concat({x, x}, 1), 1, 0, d);
    other.weight = transpose(raw::contiguous(transpose(t.weight, 0, 1)), 0, 1);
    CHECK(same_bits(run(other), want));
    other.gate = transpose(raw::contiguous(transpose(t.gate, 1, 2)), 1, 2);
    for (Tensor& x : other.x) x = transpose(raw::contiguous(transpose(x, 0, 1)), 0, 1);
    CHECK(same_bits(run(other), want));
  }
}

TEST_CASE("spatial_gate_last: texts of different lengths, each with the same bits as alone") {
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    Texts t = made(4, 67, 130, dtype);
    const std::vector<std::int64_t> lengths{5, 67, 1, 70};
    t.x[3] = concat({t.x[3], slice(t.x[2], 0, 0, 3)}, 0);
    for (std::size_t i = 0; i < lengths.size(); ++i) t.x[i] = slice(t.x[i], 0, 0, lengths[i]);
    for (const int threads : {1, 3, 8}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      const Tensor all = run(t);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        const auto text = static_cast<std::int64_t>(i);
        const Tensor own = spatial_gate_last(slice(t.gate, 1, text, text + 1), {t.x[i]}, t.weight, t.bias);
        CHECK(same_bits(raw::contiguous(slice(all, 1, text, text + 1)), own));
      }
    }
  }
}

TEST_CASE("spatial_gate_last: a tape records nothing, and there may be no columns") {
  Texts t = made(2, 4, 6, DType::f32);
  Tape tape;
  t.gate = tape.watch(t.gate);
  CHECK(run(t).node().tape == 0);
  CHECK(run(made(2, 4, 0, DType::f32)).shape() == Shape{1, 2, 0});
}

TEST_CASE("spatial_gate_last: errors") {
  const auto message = [](const Texts& t) {
    try {
      (void)run(t);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto with = [&](auto change) {
    Texts t = made(2, 4, 6, DType::f32);
    change(t);
    return message(t);
  };
  CHECK(with([](Texts&) {}).empty());
  CHECK(with([](Texts& t) { t.x.pop_back(); }) ==
        "[spatial_gate_last] expected texts >= 1 and a gate of shape (1, texts, d), got texts = 1 and an f32 tensor of "
        "shape (1, 2, 6)");
  CHECK(with([](Texts& t) {
          t.x[1] = Tensor::zeros({3, 5});
        }) == "[spatial_gate_last] expected an x of shape (n >= 1, 6) for each text, got (3, 5)");
  CHECK(with([](Texts& t) {
          t.x[1] = Tensor::zeros({8, 6});
        }) == "[spatial_gate_last] expected a weight and a bias for at least 8 tokens, got shapes (7, 7) and (7,)");
  CHECK(!with([](Texts& t) { t.x = {Tensor::zeros({0, 6}), Tensor::zeros({0, 6})}; }).empty());
  CHECK(!with([](Texts& t) { t.x[0] = Tensor::zeros({4, 6}, DType::f64); }).empty());
  CHECK(with([](Texts& t) {
          t.weight = Tensor::zeros({4, 3});
        }) == "[spatial_gate_last] expected a weight and a bias for at least 4 tokens, got shapes (4, 3) and (7,)");
  CHECK(with([](Texts& t) { t.bias = Tensor::zeros({3}); }) ==
        "[spatial_gate_last] expected a weight and a bias for at least 4 tokens, got shapes (7, 7) and (3,)");
  CHECK(!with([](Texts& t) { t.weight = Tensor::zeros({4, 4}, DType::f64); }).empty());
  CHECK(!with([](Texts& t) { t.gate = Tensor(); }).empty());
}

}  // namespace
}  // namespace weft::test
