// Tests of 4-bit weights: scales and values of groups, and products. Products must equal sums in i64 of the same whole
// numbers, bit by bit, and f64 results within the bound that the header states.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "quantized_support.h"
#include "sweep.h"
#include "weft/ops.h"
#include "weft/tape.h"

namespace weft::test {

namespace {

using std::int64_t;
using Bytes4 = std::vector<std::int8_t>;

int64_t groups_of(int64_t columns) { return (columns + 31) / 32; }

float rounded_to_bf16(float x) { return static_cast<float>(bfloat16(x)); }

std::vector<float> scales_of_groups(const QuantizedWeight& weight) {
  return raw::convert(weight.scales(), DType::f32).to_vector<float>();
}

// Σ (w - scale · value)² of a group, with the nearest values, in f64.
double squared_error(const float* w, int64_t n, float scale) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double value = std::clamp(std::nearbyint(w[i] / scale), -8.0f, 7.0f);
    const double error = static_cast<double>(w[i]) - static_cast<double>(scale) * value;
    sum += error * error;
  }
  return sum;
}

// Checks that the scale is one of the nine candidates, and that none of them has a smaller error.
void check_scale(const float* w, int64_t n, float scale) {
  float most = 0;
  for (int64_t i = 0; i < n; ++i)
    if (std::abs(w[i]) > std::abs(most)) most = w[i];
  bool is_candidate = false;
  double least = std::numeric_limits<double>::infinity();
  for (int d = 0; d < 9; ++d) {
    const float candidate = rounded_to_bf16(-most / (6.5f + 0.25f * static_cast<float>(d)));
    is_candidate = is_candidate || scale == candidate;
    least = std::min(least, squared_error(w, n, candidate));
  }
  CHECK(is_candidate);
  CHECK(squared_error(w, n, scale) <= least * 1.00001);
}

// Checks scales and values of a weight whose groups have elements of at least 2^-120.
void check_groups(const Tensor& weight) {
  const int64_t rows = weight.size(0), columns = weight.size(1), groups = groups_of(columns);
  const QuantizedWeight q(weight, 4);
  CHECK(q.bits() == 4);
  CHECK(q.values().shape() == weight.shape());
  CHECK(q.scales().dtype() == DType::bf16);
  REQUIRE(q.scales().shape() == Shape{rows, groups});
  const auto w = weight.to_vector<float>(), scales = scales_of_groups(q);
  const auto values = q.values().to_vector<std::int8_t>();
  int wrong = 0;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t n = std::min<int64_t>(32, columns - 32 * g), at = i * columns + 32 * g;
      const float scale = scales[static_cast<std::size_t>(i * groups + g)];
      check_scale(w.data() + at, n, scale);
      for (int64_t p = at; p < at + n; ++p) {
        const int value = values[static_cast<std::size_t>(p)];
        const double error = std::abs(static_cast<double>(w[static_cast<std::size_t>(p)]) - double{scale} * value);
        const double limit = value == -8 || value == 7 ? 1.6 : 0.5 + 1e-6;
        wrong += value < -8 || value > 7 || error > limit * std::abs(double{scale});
      }
    }
  CHECK(wrong == 0);
}

// Returns x Wᵀ (m, n) in f32, by the rule of the header: the sums of groups are exact, their products with the scales
// are rounded and added in order.
std::vector<float> expected_of_groups(const Tensor& x, const QuantizedWeight& weight) {
  const int64_t m = x.size(0), k = x.size(1), n = weight.rows();
  const auto from = raw::convert(x, DType::f32).to_vector<float>(), scales = scales_of_groups(weight);
  const auto values = weight.values().to_vector<std::int8_t>();
  std::vector<float> y;
  for (int64_t i = 0; i < m; ++i) {
    const Row row = row_of(from.data() + i * k, k, digits_of(m));
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t g = 0; g < groups_of(k); ++g) {
        int64_t whole = 0;
        for (int64_t p = 32 * g; p < std::min(k, 32 * g + 32); ++p)
          whole += row.numbers[static_cast<std::size_t>(p)] * values[static_cast<std::size_t>(j * k + p)];
        const float product = static_cast<float>(whole) * scales[static_cast<std::size_t>(j * groups_of(k) + g)];
        sum = sum + product;
      }
      y.push_back(sum * row.scale);
    }
  }
  return y;
}

QuantizedWeight filled(int64_t rows, int64_t columns, int value) {
  const int both = (value + 8) | (value + 8) << 4;
  const Tensor packed = Tensor::full({rows, (columns + 1) / 2}, static_cast<std::int8_t>(both), DType::i8);
  return {packed, Tensor::full({rows, groups_of(columns)}, 1, DType::bf16), columns};
}

}  // namespace

TEST_CASE("int4 weight: the scale of each group has the smallest error of nine, and values are the nearest") {
  for_every_isa([](Context&) {
    for (const int64_t columns : {1, 2, 31, 32, 33, 64, 97})
      for (const int64_t rows : {1, 7, 8, 15, 16, 17, 33, 70})
        check_groups(normal({rows, columns}, static_cast<std::uint64_t>(100 * rows + columns)));
  });
  for (const float most : {0x1p-120f, 1e-30f, 1e30f, 0x1p127f}) {
    std::vector<float> row;
    for (int i = 0; i < 65; ++i) row.push_back(most / 32 * static_cast<float>((i % 2 == 0 ? 1 : -1) * (32 - i % 32)));
    check_groups(Tensor::from(row, {1, 65}));
  }
}

TEST_CASE("int4 weight: values are packed in two halves of a byte, the first one in the low half") {
  const Tensor packed = Tensor::from(Bytes4{0x10, 0x7f, 0x08, -1, -128, 0x0b}, {2, 3});
  const Tensor scales = raw::convert(Tensor::from<float>({0.5f, -2}, {2, 1}), DType::bf16);
  for_every_isa([&](Context&) {
    const QuantizedWeight q(packed, scales, 5);
    CHECK(q.rows() == 2);
    CHECK(q.columns() == 5);
    CHECK(q.values().to_vector<std::int8_t>() == Bytes4{-8, -7, 7, -1, 0, 7, 7, -8, 0, 3});
    CHECK(q.dequantized().to_vector<float>() == std::vector<float>{-4, -3.5f, 3.5f, -0.5f, 0, -14, -14, 16, 0, -6});
    // The half beyond the last column is 8, whatever it was.
    CHECK(q.packed_values().to_vector<std::int8_t>() == Bytes4{0x10, 0x7f, -120, -1, -128, -117});
  });
}

TEST_CASE("int4 weight: every size and layout, on every instruction set, and from one set to another") {
  for (const int64_t columns : {0, 1, 3, 31, 32, 33, 95, 129})
    for (const int64_t rows : {0, 1, 8, 9, 31, 32, 33, 70}) {
      const Tensor w = normal({rows, columns}, static_cast<std::uint64_t>(100 * rows + columns));
      const QuantizedWeight here(w, 4);
      const auto values = bytes_of(here.values()), scales = bytes_of(here.scales()),
                 dequantized = bytes_of(here.dequantized());
      const auto whole = here.values().to_vector<std::int8_t>();
      const auto of_group = scales_of_groups(here), all = here.dequantized().to_vector<float>();
      for (std::size_t i = 0; i < all.size(); ++i) {
        const auto row = i / static_cast<std::size_t>(columns), column = i % static_cast<std::size_t>(columns);
        const float scale = of_group[row * static_cast<std::size_t>(groups_of(columns)) + column / 32];
        CHECK(all[i] == scale * static_cast<float>(whole[i]));
      }
      for_every_isa([&](Context& context) {
        for (const int threads : {1, 3}) {
          context.set_threads(threads);
          const QuantizedWeight own(w, 4), again(here.packed_values(), here.scales(), columns);
          CHECK(own.isa() == context.isa());
          for (const QuantizedWeight* q : {&own, &again, &here}) {
            CHECK(bytes_of(q->values()) == values);
            CHECK(bytes_of(q->scales()) == scales);
            CHECK(bytes_of(q->dequantized()) == dequantized);
          }
        }
        const Tensor turned = transpose(raw::contiguous(transpose(w, 0, 1)), 0, 1);
        CHECK(bytes_of(QuantizedWeight(turned, 4).values()) == values);
        CHECK(bytes_of(QuantizedWeight(raw::convert(w, DType::f64), 4).values()) == values);
      });
    }
}

TEST_CASE("int4 weight: groups of zeros or tiny elements have scale 0") {
  std::vector<float> w(96, 0);
  w[1] = -0.0f;
  w[40] = 0x1p-121f;
  w[64] = 0x1p-120f;
  for_every_isa([&](Context&) {
    const QuantizedWeight q(Tensor::from(w, {1, 96}), 4);
    const auto scales = scales_of_groups(q);
    CHECK(scales[0] == 0);
    CHECK(scales[1] == 0);
    CHECK(scales[2] != 0);
    const auto y = quantized_linear(Tensor::full({1, 96}, 1), q).to_vector<float>();
    CHECK(y[0] == doctest::Approx(0x1p-120).epsilon(0.1));
  });
}

TEST_CASE("int4 weight: invalid arguments are errors") {
  const auto refused = [](const auto& make, const char* why) {
    CHECK_THROWS_WITH_AS((void)make(), doctest::Contains(why), Error);
  };
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {infinity, -infinity, nan}) {
    std::vector<float> w(142, 1);
    w[75] = bad;
    refused([&] { return QuantizedWeight(Tensor::from(w, {2, 71}), 4); }, "row 1");
  }
  refused([] { return QuantizedWeight(Tensor::full({1, 1}, 1.8e38), 4); }, "beyond 2^127");
  refused([] { return QuantizedWeight(Tensor::zeros({1, 65537}), 4); }, "65536 columns");
  for (const int bits : {0, 3, 16})
    refused([&] { return QuantizedWeight(Tensor::zeros({1, 1}), bits); }, "8 or 4 bits");
  refused([] { return QuantizedWeight(Tensor::zeros({1, 1})).packed_values(); }, "in 4 bits");

  const Tensor packed = Tensor::zeros({2, 17}, DType::i8), scales = Tensor::zeros({2, 2}, DType::bf16);
  CHECK(QuantizedWeight(packed, scales, 33).columns() == 33);
  refused([&] { return QuantizedWeight(packed, scales, 32); }, "shape (out, 16)");
  refused([&] { return QuantizedWeight(packed, scales, 35); }, "shape (out, 18)");
  refused([&] { return QuantizedWeight(packed, scales, -1); }, "at least 0 columns");
  refused([&] { return QuantizedWeight(Tensor::zeros({2, 17}), scales, 33); }, "packed values of dtype i8");
  refused([&] { return QuantizedWeight(Tensor(), scales, 33); }, "undefined");
  refused([&] { return QuantizedWeight(packed, Tensor::zeros({2, 2}), 33); }, "scales to be a bf16 tensor");
  refused([&] { return QuantizedWeight(packed, Tensor::zeros({2, 1}, DType::bf16), 33); }, "of shape (2, 2)");
  refused([&] { return QuantizedWeight(packed, Tensor(), 33); }, "undefined");
  for (const float bad : {infinity, nan}) {
    const Tensor bad_scales = raw::convert(Tensor::from<float>({1, 1, 1, bad}, {2, 2}), DType::bf16);
    refused([&] { return QuantizedWeight(packed, bad_scales, 33); }, "for row 1");
  }
}

TEST_CASE("int4 linear: the sums of groups are exact, for every size and on every instruction set") {
  for (const int64_t k : {0, 1, 2, 5, 31, 32, 33, 64, 131})
    for (const int64_t n : {0, 1, 7, 8, 9, 16, 31, 32, 33, 67})
      for (const int64_t m : {0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 25}) {
        if ((k + n + m) % sweep(1, 4) != 0) continue;
        const Tensor w = normal({n, k}, static_cast<std::uint64_t>(n + k)), x = normal({m, k}, 1000);
        const std::vector<float> want = expected_of_groups(x, QuantizedWeight(w, 4));
        for_every_isa([&](Context& context) {
          CAPTURE(isa_name(context.isa()));
          CAPTURE(m);
          CAPTURE(n);
          CAPTURE(k);
          check_same(quantized_linear(x, QuantizedWeight(w, 4)), want);
        });
      }
}

TEST_CASE("int4 linear: bf16, more rows and columns, threads, and a weight from another instruction set") {
  check_many_rows(4, expected_of_groups);
}

TEST_CASE("int4 linear: the largest sums of a group don't overflow") {
  const int64_t k = 96, n = 35;
  for (const int value : {-8, 7})
    for (const int64_t m : {1, 2, 4, 8, 9, 12}) {
      const float limit = limit_of(digits_of(m)), low = limit - (m > 8 ? 0 : 128);
      std::vector<float> x;  // rows of 127, of -127, and of -128 in both digits
      for (int64_t i = 0; i < m; ++i)
        for (int64_t p = 0; p < k; ++p) x.push_back(p == 0 ? limit : i % 3 == 0 ? limit : i % 3 == 1 ? -limit : -low);
      const Tensor rows = Tensor::from(x, {m, k});
      for_every_isa([&](Context& context) {
        CAPTURE(isa_name(context.isa()));
        CAPTURE(m);
        const QuantizedWeight q = filled(n, k, value);
        check_same(quantized_linear(rows, q), expected_of_groups(rows, q));
      });
    }
}

TEST_CASE("int4 linear: each value and each digit takes part in its own element") {
  // The scale of x is 1, and one column of W is 1 in each row, so y is an element of x.
  const int64_t k = 70;
  for (const int64_t m : {3, 9}) {
    const auto limit = static_cast<int64_t>(limit_of(digits_of(m)));
    std::vector<float> x;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t p = 0; p < k; ++p)
        x.push_back(static_cast<float>(p == 0 ? limit : (p * 997 + i * 131) % (2 * limit + 1) - limit));
    const Tensor rows = Tensor::from(x, {m, k});
    std::vector<float> w;
    for (int64_t j = 0; j < k; ++j)
      for (int64_t p = 0; p < k; ++p) w.push_back(p == j ? -8.0f : 0);
    for_every_isa([&](Context& context) {
      CAPTURE(isa_name(context.isa()));
      const QuantizedWeight q(Tensor::from(w, {k, k}), 4);
      const auto y = quantized_linear(rows, q).to_vector<float>();
      for (std::size_t i = 0; i < y.size(); ++i) CHECK(y[i] == -8 * x[i]);
    });
  }
}

TEST_CASE("int4 linear: the error stays within the bound") {
  const int64_t n = 70, k = 300;
  const Tensor w = normal({n, k}, 1);
  for (const DType dtype : {DType::f32, DType::bf16})
    for (const int64_t m : {1, 7, 40})
      for_every_isa([&](Context& context) {
        CAPTURE(isa_name(context.isa()));
        CAPTURE(m);
        const Tensor x = normal({m, k}, 3, dtype);
        const QuantizedWeight q(w, 4);
        const auto got = raw::convert(quantized_linear(x, q), DType::f64).to_vector<double>();
        const auto xs = raw::convert(x, DType::f64).to_vector<double>();
        const auto was = raw::convert(w, DType::f64).to_vector<double>(),
                   is = raw::convert(q.dequantized(), DType::f64).to_vector<double>();
        const double groups = static_cast<double>(groups_of(k)), unit = dtype == DType::bf16 ? 0x1p-8 : 0;
        for (const bool of_weight : {false, true}) {
          const auto exact = plain(x, of_weight ? w : q.dequantized(), {}, {});
          int wrong = 0;
          for (int64_t i = 0; i < m; ++i) {
            double most = 0;
            for (int64_t p = 0; p < k; ++p) most = std::max(most, std::abs(xs[static_cast<std::size_t>(i * k + p)]));
            const double sx = most / static_cast<double>(limit_of(digits_of(m)));
            for (int64_t j = 0; j < n; ++j) {
              double bound = 0;
              for (int64_t p = 0; p < k; ++p) {
                const auto at = static_cast<std::size_t>(j * k + p);
                const double a = std::abs(xs[static_cast<std::size_t>(i * k + p)]), b = std::abs(is[at]);
                bound += (of_weight ? a * std::abs(was[at] - is[at]) : 0) + b * sx * 0.501 +
                         (groups + 2) * 0x1p-24 * (a + sx / 2) * b;
              }
              const auto at = static_cast<std::size_t>(i * n + j);
              wrong += std::abs(got[at] - exact[at]) > bound + unit * std::abs(got[at]);
            }
          }
          CHECK(wrong == 0);
        }
      });
}

TEST_CASE("int4 linear: epilogues are those of linear, and layouts and axes don't matter") {
  for_every_isa([](Context& context) {
    CAPTURE(isa_name(context.isa()));
    const QuantizedWeight q(normal({37, 50}, 1), 4);
    const Tensor bias = normal({37}, 9);
    for (const DType dtype : {DType::f32, DType::bf16})
      for (const int64_t m : {2, 5}) {
        const Tensor x = normal({m, 3, 50}, 2, dtype), gate = normal({m, 3, 37}, 3, dtype),
                     residual = normal({m, 3, 37}, 4, dtype);
        const Tensor y = quantized_linear(x, q, bias, {Activation::relu, gate, residual});
        CHECK(y.shape() == Shape{m, 3, 37});
        const auto turned = [](const Tensor& t) { return permute(raw::contiguous(permute(t, {2, 0, 1})), {1, 2, 0}); };
        CHECK(bytes_of(quantized_linear(turned(x), q, bias, {Activation::relu, turned(gate), turned(residual)})) ==
              bytes_of(y));
        const Tensor sums = Tensor::from(expected_of_groups(raw::contiguous(reshape(x, {3 * m, 50})), q), {m, 3, 37});
        const auto wide = [](const Tensor& t) { return raw::convert(t, DType::f64); };
        const Tensor activated = relu(add(wide(sums), wide(bias)));
        const auto want = add(wide(residual), mul(wide(gate), activated)).to_vector<double>();
        const auto got = raw::convert(y, DType::f64).to_vector<double>();
        int wrong = 0;
        for (std::size_t i = 0; i < got.size(); ++i)
          wrong += !(std::abs(got[i] - want[i]) <= (dtype == DType::bf16 ? 0x1p-8 : 1e-5) * std::abs(want[i]) + 2e-5);
        CHECK(wrong == 0);
      }
    CHECK(bytes_of(quantized_linear(normal({50}, 2), q)) == bytes_of(quantized_linear(normal({1, 50}, 2), q)));
    const Tensor same_rows = normal({1, 50}, 2).view({20, 50}, {0, 1}, 0);
    CHECK(bytes_of(quantized_linear(same_rows, q)) == bytes_of(quantized_linear(raw::contiguous(same_rows), q)));
  });
}

TEST_CASE("int4 linear: rows of zeros, and rows with tiny, huge and non-finite values") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for_every_isa([&](Context& context) {
    CAPTURE(isa_name(context.isa()));
    const QuantizedWeight q = filled(3, 3, 7);
    for (const int64_t extra : {0, 9}) {
      std::vector<float> x = {0, 0, 0, 1, 1, 1, nan, 1, 1, 1, infinity, 1, 1, 1, -infinity, 1e-44f, 0, 0, 1e38f, 0, 0};
      for (int64_t i = 0; i < 3 * extra; ++i) x.push_back(1);
      const auto y = quantized_linear(Tensor::from(x, {7 + extra, 3}), q).to_vector<float>();
      for (std::size_t j = 0; j < 3; ++j) {
        CHECK(y[j] == 0);
        CHECK(y[3 + j] == doctest::Approx(21));
        for (std::size_t i : {2, 3, 4}) CHECK(std::isnan(y[3 * i + j]));
        CHECK(std::abs(y[15 + j]) <= 1e-36f);
        CHECK(y[18 + j] == infinity);
      }
      for (std::size_t i = 21; i < y.size(); ++i) CHECK(y[i] == y[3]);
    }
  });
}

TEST_CASE("int4 linear: tapes are refused") {
  const QuantizedWeight q(Tensor::zeros({3, 5}), 4);
  Tape tape;
  CHECK_THROWS_WITH_AS((void)quantized_linear(tape.watch(Tensor::zeros({2, 5})), q), doctest::Contains("inference"),
                       Error);
  CHECK_THROWS_WITH_AS((void)quantized_linear(Tensor::zeros({2, 4}), q), doctest::Contains("(2, 4) and (3, 5)"), Error);
}

TEST_CASE("int4 embedding: rows of the dequantized weight") {
  for_every_isa([](Context& context) {
    const Tensor w = normal({70, 33}, 1), indices = Tensor::from<int64_t>({69, 0, 31, 32, 33, 0}, {2, 3});
    const QuantizedWeight q(w, 4);
    const Tensor y = quantized_embedding(indices, q);
    CHECK(y.shape() == Shape{2, 3, 33});
    CHECK(bytes_of(y) == bytes_of(embedding(indices, q.dequantized())));
    CHECK(quantized_embedding(Tensor::zeros({0}, DType::i64), q).shape() == Shape{0, 33});
    context.set_threads(2);
    const Tensor many = Tensor::full({3000}, 69, DType::i64);
    CHECK(bytes_of(quantized_embedding(many, q)) == bytes_of(embedding(many, q.dequantized())));
    CHECK_THROWS_WITH_AS((void)quantized_embedding(Tensor::full({1}, 70, DType::i64), q),
                         doctest::Contains("from 0 to 69"), Error);
  });
}

}  // namespace weft::test
