// Tests of products with 8-bit weights. They must equal sums in i64 of the same whole numbers, bit by bit, and f64
// results within the bound that the header states.
#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <utility>

#include "quantized_support.h"
#include "sweep.h"
#include "weft/ops.h"
#include "weft/tape.h"

namespace weft::test {

namespace {

using std::int64_t;

// Returns Σ numbers · values. The sum for each digit is exact, and is then converted to float.
float sum_of(const Row& row, const std::int8_t* values, int64_t k, int digits) {
  std::vector<int64_t> rest = row.numbers;
  std::vector<float> sums;  // starts with the lowest digit
  for (int d = 0; d < digits; ++d) {
    int64_t sum = 0;
    for (int64_t p = 0; p < k; ++p) {
      int64_t& number = rest[static_cast<std::size_t>(p)];
      int64_t low = ((number % 256) + 256) % 256;
      if (low > 127) low -= 256;
      number = (number - low) / 256;
      sum += low * values[p];
    }
    sums.push_back(static_cast<float>(sum));
  }
  float y = 0;
  for (int d = digits; d-- > 0;) y = y * 256 + sums[static_cast<std::size_t>(d)];
  return y;
}

// Returns x Wᵀ (m, n) in f32 for x (m, k), without an epilogue.
std::vector<float> expected(const Tensor& x, const QuantizedWeight& weight) {
  const int64_t m = x.size(0), k = x.size(1), n = weight.rows();
  const int digits = digits_of(m);
  const auto from = raw::convert(x, DType::f32).to_vector<float>(), scales = weight.scales().to_vector<float>();
  const auto values = weight.values().to_vector<std::int8_t>();
  std::vector<float> y;
  for (int64_t i = 0; i < m; ++i) {
    const Row row = row_of(from.data() + i * k, k, digits);
    for (int64_t j = 0; j < n; ++j)
      y.push_back(sum_of(row, values.data() + j * k, k, digits) * scales[static_cast<std::size_t>(j)] * row.scale);
  }
  return y;
}

Tensor identity(int64_t n) {
  Tensor one = Tensor::zeros({n, n});
  for (int64_t i = 0; i < n; ++i) one.mutable_data<float>()[i * n + i] = 1;
  return one;
}

// The bound of |Σ x w - y| before the epilogue, for each element of y. w is the quantized weight or, if `of_weight`,
// the original one.
std::vector<double> bounds_of(const Tensor& x, const QuantizedWeight& weight, bool of_weight) {
  const int64_t m = x.size(0), k = x.size(1), n = weight.rows();
  const int digits = digits_of(m);
  const auto xs = raw::convert(x, DType::f64).to_vector<double>();
  const auto ws = raw::convert(weight.dequantized(), DType::f64).to_vector<double>();
  const auto scales = raw::convert(weight.scales(), DType::f64).to_vector<double>();
  std::vector<double> bounds;
  for (int64_t i = 0; i < m; ++i) {
    double most = 0;
    for (int64_t p = 0; p < k; ++p) most = std::max(most, std::abs(xs[static_cast<std::size_t>(i * k + p)]));
    const double sx = most / static_cast<double>(limit_of(digits));
    for (int64_t j = 0; j < n; ++j) {
      const double sw = of_weight ? (1 + 0x1p-14) * scales[static_cast<std::size_t>(j)] : 0;
      double sum = 0;
      for (int64_t p = 0; p < k; ++p) {
        const double a = std::abs(xs[static_cast<std::size_t>(i * k + p)]),
                     b = std::abs(ws[static_cast<std::size_t>(j * k + p)]);
        sum += a * sw / 2 + b * sx * 0.51 + sx * sw / 4 + a * b * 0x1p-21;
      }
      bounds.push_back(sum);
    }
  }
  return bounds;
}

}  // namespace

TEST_CASE("quantized linear: sums are exact, for every size and on every instruction set") {
  for (const int64_t k : {0, 1, 2, 3, 4, 5, 63, 64, 65, 131})
    for (const int64_t n : {0, 1, 7, 8, 9, 31, 32, 33, 67})
      for (const int64_t m : {0, 1, 2, 3, 5, 8, 9, 12, 13, 25}) {
        if ((k + n + m) % sweep(1, 4) != 0) continue;
        const Tensor w = normal({n, k}, static_cast<std::uint64_t>(n + k)), x = normal({m, k}, 1000);
        const std::vector<float> want = expected(x, QuantizedWeight(w));
        for_every_isa([&](Context& context) {
          CAPTURE(isa_name(context.isa()));
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          check_same(quantized_linear(x, QuantizedWeight(w)), want);
        });
      }
}

TEST_CASE("quantized linear: bf16, more rows and columns, threads, and a weight from another instruction set") {
  check_many_rows(8, expected);
}

TEST_CASE("quantized linear: the largest sums that most_columns allows don't overflow") {
  const int64_t k = QuantizedWeight::most_columns;
  std::vector<std::int8_t> values;
  for (const int row : {-128, -127, 127})
    for (int64_t p = 0; p < k; ++p) values.push_back(static_cast<std::int8_t>(row));
  const Tensor given = Tensor::from(values, {3, k}), scales = Tensor::from<float>({1, 1, 1}, {3});
  for (const int64_t m : {2, 9}) {
    const float limit = limit_of(digits_of(m)), rest = m == 2 ? limit - 128 : limit;
    std::vector<float> x;  // rows alternate between rest and -rest, whose digits are 127 and -128
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p) x.push_back(p == 0 ? limit : i % 2 == 0 ? rest : -rest);
    const Tensor rows = Tensor::from(x, {m, k});
    const std::vector<float> want = expected(rows, QuantizedWeight(given, scales));
    for_every_isa([&](Context& context) {
      CAPTURE(isa_name(context.isa()));
      check_same(quantized_linear(rows, QuantizedWeight(given, scales)), want);
    });
  }
}

TEST_CASE("quantized linear: digits of every value, next to the largest values") {
  // The scale of x is 1, so the quantized numbers are the values of x.
  for (const int64_t m : {3, 9}) {
    const int digits = digits_of(m);
    const auto limit = static_cast<int64_t>(limit_of(digits));
    std::vector<float> x;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < 513; ++p)
        x.push_back(static_cast<float>(p == 0 ? limit : (p * (limit / 257 + 1) + i) % (2 * limit + 1) - limit));
    const Tensor rows = Tensor::from(x, {m, 513});
    std::vector<std::int8_t> values(3 * 513, 0);
    for (int64_t p = 0; p < 513; ++p) {
      values[static_cast<std::size_t>(p)] = static_cast<std::int8_t>(p % 256 - 128);
      values[static_cast<std::size_t>(513 + p)] = p == 256 ? 1 : 0;
      values[static_cast<std::size_t>(2 * 513 + p)] = 127;
    }
    for_every_isa([&](Context& context) {
      CAPTURE(isa_name(context.isa()));
      const QuantizedWeight q(Tensor::from(values, {3, 513}), Tensor::full({3}, 1));
      const Tensor y = quantized_linear(rows, q);
      check_same(y, expected(rows, q));
      for (int64_t i = 0; i < m; ++i) CHECK(y.data<float>()[3 * i + 1] == x[static_cast<std::size_t>(i * 513 + 256)]);
    });
  }
}

TEST_CASE("quantized linear: any layout of x, gate and residual, and any axes") {
  for_every_isa([](Context& context) {
    CAPTURE(isa_name(context.isa()));
    const QuantizedWeight q(normal({37, 50}, 1));
    const Tensor bias = normal({37}, 9);
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const int64_t m : {2, 5}) {
        const Tensor x = normal({m, 3, 50}, 2, dtype), gate = normal({m, 3, 37}, 3, dtype),
                     residual = normal({m, 3, 37}, 4, dtype);
        const Epilogue e(Activation::relu, gate, residual);
        const Tensor y = quantized_linear(x, q, bias, e);
        CHECK(y.shape() == Shape{m, 3, 37});
        const auto turned = [](const Tensor& t) { return permute(raw::contiguous(permute(t, {2, 0, 1})), {1, 2, 0}); };
        CHECK(bytes_of(quantized_linear(turned(x), q, bias, {Activation::relu, turned(gate), turned(residual)})) ==
              bytes_of(y));
        const Tensor apart = slice(concat({reshape(bias, {37, 1}), Tensor::full({37, 1}, NAN)}, 1), 1, 0, 1);
        CHECK(bytes_of(quantized_linear(x, q, reshape(apart, {37}), e)) == bytes_of(y));
        const auto sliced = [](const Tensor& t) {
          return slice(concat({Tensor::full(t.shape(), NAN, t.dtype()), t}, 2), 2, t.size(2), 2 * t.size(2));
        };
        CHECK(bytes_of(quantized_linear(sliced(x), q, bias, {Activation::relu, sliced(gate), sliced(residual)})) ==
              bytes_of(y));
      }
    CHECK(quantized_linear(normal({50}, 2), q).shape() == Shape{37});
    CHECK(bytes_of(quantized_linear(normal({50}, 2), q)) == bytes_of(quantized_linear(normal({1, 50}, 2), q)));
    const Tensor same_rows = normal({1, 50}, 2).view({20, 50}, {0, 1}, 0);
    CHECK(bytes_of(quantized_linear(same_rows, q)) == bytes_of(quantized_linear(raw::contiguous(same_rows), q)));
  });
}

TEST_CASE("quantized linear: a row gives the same bits among any number of rows on the same side of 8") {
  for_every_isa([](Context& context) {
    const QuantizedWeight q(normal({100, 203}, 1));
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const int threads : {1, 2}) {
        context.set_threads(threads);
        const Tensor x = normal({150, 203}, 2, dtype), gate = normal({150, 100}, 3, dtype), bias = normal({100}, 4);
        const auto rows = [&](int64_t first, int64_t count) {
          return bytes_of(quantized_linear(slice(x, 0, first, first + count), q, bias,
                                           {Activation::gelu, slice(gate, 0, first, first + count)}));
        };
        const auto part = [&](const std::vector<unsigned char>& all, int64_t first, int64_t count) {
          const auto row = static_cast<std::ptrdiff_t>(100 * dtype_size(dtype));
          return std::vector<unsigned char>(all.begin() + first * row, all.begin() + (first + count) * row);
        };
        const auto few = rows(3, 8), all = rows(0, 150);
        for (const int64_t count : {1, 2, 3, 5, 7})
          for (const int64_t first : {0, 1}) CHECK(rows(3 + first, count) == part(few, first, count));
        for (const int64_t count : {9, 13, 120, 121}) CHECK(rows(17, count) == part(all, 17, count));
      }
  });
}

TEST_CASE("quantized linear: the error stays within the bound") {
  const int64_t n = 70, k = 300;
  const Tensor w = normal({n, k}, 1);
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t m : {1, 7, 40})
      for_every_isa([&](Context& context) {
        CAPTURE(isa_name(context.isa()));
        CAPTURE(m);
        const Tensor x = normal({m, k}, 3, dtype);
        const QuantizedWeight q(w);
        const auto got = raw::convert(quantized_linear(x, q), DType::f64).to_vector<double>();
        for (const bool of_weight : {false, true}) {
          const auto exact = plain(x, of_weight ? w : q.dequantized(), {}, {}), bounds = bounds_of(x, q, of_weight);
          const double unit = dtype == DType::bf16 ? 0x1p-8 : 0;
          int wrong = 0;
          for (std::size_t i = 0; i < got.size(); ++i)
            wrong += std::abs(got[i] - exact[i]) > bounds[i] + unit * std::abs(got[i]);
          CHECK(wrong == 0);
        }
      });
}

TEST_CASE("quantized linear: every epilogue is applied to the sums") {
  const int64_t n = 70, k = 30;
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t m : {1, 7, 40}) {
      const Tensor x = normal({m, k}, 3, dtype), gate = normal({m, n}, 4, dtype), residual = normal({m, n}, 5, dtype);
      for_every_isa([&](Context& context) {
        CAPTURE(isa_name(context.isa()));
        CAPTURE(m);
        const QuantizedWeight q(normal({n, k}, 1));
        // Multiplies x Wᵀ in f32 by the identity matrix, so that linear applies the same epilogue.
        const Tensor sums = Tensor::from(expected(x, q), {m, n});
        for (const DType bias_dtype : {DType::f32, dtype})
          for (const ActivationName& activation : activation_names)
            for (const bool gated : {false, true})
              for (const bool added : {false, true}) {
                const Tensor b = normal({n}, 2, bias_dtype);
                const Epilogue e(activation.value, gated ? gate : Tensor(), added ? residual : Tensor());
                const auto got = raw::convert(quantized_linear(x, q, b, e), DType::f64).to_vector<double>();
                const auto want = plain(sums, identity(n), b, e);
                int wrong = 0;
                for (std::size_t i = 0; i < got.size(); ++i)
                  wrong += !(std::abs(got[i] - want[i]) <=
                             (dtype == DType::bf16 ? 0x1p-8 : 1e-5) * std::abs(want[i]) + 2e-5);
                CAPTURE(activation.name);
                CHECK(wrong == 0);
              }
      });
    }
}

TEST_CASE("quantized linear: rows of zeros, and rows with tiny, huge and non-finite values") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for_every_isa([&](Context& context) {
    CAPTURE(isa_name(context.isa()));
    const QuantizedWeight q(Tensor::from<float>({127, 1, 0, 0, 0, 0, -127, 2, 0}, {3, 3}));
    for (const int64_t extra : {0, 9}) {
      std::vector<float> x = {0, 0, 0, 1, 1, 1, nan, 1, 1, 1, infinity, 1, 1, 1, -infinity, 1e-44f, 0, 0, 3e38f, 0, 0};
      for (int64_t i = 0; i < 3 * extra; ++i) x.push_back(1);
      const auto y = quantized_linear(Tensor::from(x, {7 + extra, 3}), q).to_vector<float>();
      for (int j = 0; j < 3; ++j) {
        CHECK(y[static_cast<std::size_t>(j)] == 0);
        for (int i : {2, 3, 4}) CHECK(std::isnan(y[static_cast<std::size_t>(3 * i + j)]));
      }
      CHECK(y[3] == doctest::Approx(128));
      CHECK(y[4] == 0);
      CHECK(y[5] == doctest::Approx(-125));
      CHECK(std::abs(y[15]) <= 1e-36f);  // 127e-44, if denormals of x count as 0
      CHECK(y[18] == infinity);
      CHECK(y[20] == -infinity);
      for (std::size_t i = 21; i < y.size(); ++i) CHECK(y[i] == y[3 + i % 3]);
    }
    // Rows with small values that are not denormal keep their precision.
    const auto y = quantized_linear(Tensor::from<float>({1e-30f, 5e-31f, 0}, {1, 3}), q).to_vector<float>();
    CHECK(y[0] == doctest::Approx(127e-30 + 5e-31).epsilon(1e-6));
  });
}

TEST_CASE("quantized linear: weights with only denormals or only zeros") {
  for_every_isa([](Context& context) {
    CAPTURE(isa_name(context.isa()));
    const QuantizedWeight q(Tensor::from<float>({1e-40f, -1e-40f, 0, 0}, {2, 2}));
    for (const int64_t m : {1, 20}) {
      const auto y = quantized_linear(raw::convert(Tensor::full({m, 2}, 1e30), DType::f32), q).to_vector<float>();
      CHECK(y[0] == 0);
      CHECK(y[1] == 0);
      const auto z =
          quantized_linear(Tensor::from<float>(std::vector<float>(static_cast<std::size_t>(2 * m), 1e30f), {m, 2}),
                           QuantizedWeight(Tensor::from<float>({1e-40f, 1e-40f}, {1, 2})))
              .to_vector<float>();
      CHECK(z[0] == doctest::Approx(2e-10).epsilon(0.01));
    }
  });
}

TEST_CASE("quantized linear: invalid arguments are errors") {
  const QuantizedWeight q(Tensor::zeros({3, 5}));
  const Tensor x = Tensor::zeros({2, 5});
  const auto refused = [](const auto& f, const char* why) {
    CHECK_THROWS_WITH_AS((void)f(), doctest::Contains(why), Error);
  };
  refused([&] { return quantized_linear(Tensor::zeros({2, 4}), q); }, "(2, 4) and (3, 5)");
  refused([&] { return quantized_linear(Tensor::scalar(1), q); }, "(…, in)");
  refused([&] { return quantized_linear(Tensor::zeros({2, 5}, DType::f64), q); }, "f64");
  refused([&] { return quantized_linear(Tensor::zeros({2, 5}, DType::i8), q); }, "i8");
  refused([&] { return quantized_linear(Tensor(), q); }, "undefined");
  refused([&] { return quantized_linear(x, q, Tensor::zeros({5})); }, "bias to be an f32 tensor of shape (3,)");
  refused([&] { return quantized_linear(x, q, Tensor::zeros({3}, DType::bf16)); }, "got a bf16");
  refused(
      [&] {
        return quantized_linear(x, q, {}, {Activation::none, Tensor::zeros({2, 5})});
      },
      "gate to be an f32 tensor of shape (2, 3)");
  refused([&] { return quantized_linear(x, q, {}, Epilogue::adding(Tensor::zeros({2, 3}, DType::bf16))); }, "residual");
  refused([&] { return quantized_linear(x, q, {}, static_cast<Activation>(99)); }, "99");
  Tape tape;
  refused([&] { return quantized_linear(tape.watch(x), q); }, "inference");
  refused([&] { return quantized_linear(x, q, tape.watch(Tensor::zeros({3}))); }, "inference");
  refused([&] { return quantized_linear(x, q, {}, Epilogue::adding(tape.watch(Tensor::zeros({2, 3})))); }, "inference");
  CHECK(quantized_linear(x, q).shape() == Shape{2, 3});
  const NoGrad off;
  CHECK(quantized_linear(tape.watch(x), q).shape() == Shape{2, 3});
}

}  // namespace weft::test
