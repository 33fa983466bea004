// Tests of rounding to 4 bits with error feedback: the feedback of each element, the error for given inputs, and
// calibration of whole models.
#include <doctest/doctest.h>

#include <limits>
#include <string>

#include "contains.h"
#include "op_table.h"
#include "quantized_cases.h"
#include "quantized_support.h"
#include "weft/quantize.h"

namespace weft::test {

namespace {

using std::int64_t;

// Inputs (m, n) whose elements are correlated: each one is a mean of its neighbors, and one is always 0.
Tensor correlated(int64_t m, int64_t n) {
  const auto from = normal({m, n + 4}, 5).to_vector<float>();
  std::vector<float> x;
  for (int64_t i = 0; i < m; ++i)
    for (int64_t p = 0; p < n; ++p) {
      float sum = 0;
      for (int64_t q = 0; q < 5; ++q) sum += from[static_cast<std::size_t>(i * (n + 4) + p + q)];
      x.push_back(p == n / 2 ? 0 : sum);
    }
  return Tensor::from(x, {m, n});
}

Tensor moments_of(const Tensor& x) { return matmul(transpose(x, 0, 1), x); }

// Σ ‖(w - q) x‖² over the rows of x
double error_for(const Tensor& x, const Tensor& w, const QuantizedWeight& q) {
  const Tensor difference = raw::convert(sub(w, q.dequantized()), DType::f64);
  return sum(square(linear(raw::convert(x, DType::f64), difference))).item();
}

// The lower triangular L with L Lᵀ = H + 1 % of the mean of its diagonal, by plain sums.
std::vector<double> factor_of(const Tensor& moments) {
  const int64_t n = moments.size(0);
  const auto at = [n](int64_t i, int64_t j) { return static_cast<std::size_t>(i * n + j); };
  std::vector<double> h = raw::convert(moments, DType::f64).to_vector<double>();
  double trace = 0;
  for (int64_t i = 0; i < n; ++i) trace += h[at(i, i)];
  for (int64_t i = 0; i < n; ++i) h[at(i, i)] += 0.01 * trace / static_cast<double>(n);
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < j; ++k)
      for (int64_t i = j; i < n; ++i) h[at(i, j)] -= h[at(i, k)] * h[at(j, k)];
    const double pivot = std::sqrt(h[at(j, j)]);
    for (int64_t i = j; i < n; ++i) h[at(i, j)] /= pivot;
  }
  return h;
}

}  // namespace

TEST_CASE("fitted int4 weight: values and scales follow from the targets, which contain the errors of later elements") {
  for (const int64_t n : {1, 5, 32, 33, 70, 129}) {
    const Tensor w = normal({6, n}, static_cast<std::uint64_t>(n)), moments = moments_of(correlated(300, n));
    const std::vector<double> l = factor_of(moments);
    for_every_isa([&](Context& context) {
      CAPTURE(isa_name(context.isa()));
      CAPTURE(n);
      const QuantizedWeight q = QuantizedWeight::fitted(w, moments);
      CHECK(q.bits() == 4);
      const auto weight = raw::convert(w, DType::f64).to_vector<double>(),
                 is = raw::convert(q.dequantized(), DType::f64).to_vector<double>();
      const auto values = q.values().to_vector<std::int8_t>();
      const auto scales = raw::convert(q.scales(), DType::f64).to_vector<double>();
      int wrong = 0;
      for (int64_t r = 0; r < 6; ++r) {
        // The target of element i, with the errors of the elements from `first`.
        const auto target = [&](int64_t i, int64_t first) {
          double sum = weight[static_cast<std::size_t>(r * n + i)];
          for (int64_t j = first; j < n; ++j) {
            const auto at = static_cast<std::size_t>(r * n + j);
            sum +=
                l[static_cast<std::size_t>(j * n + i)] / l[static_cast<std::size_t>(i * n + i)] * (weight[at] - is[at]);
          }
          return sum;
        };
        for (int64_t begin = 0; begin < n; begin += 32) {
          const int64_t end = std::min(n, begin + 32);
          const double scale = scales[static_cast<std::size_t>(r * ((n + 31) / 32) + begin / 32)];
          double most = 0;
          for (int64_t i = begin; i < end; ++i)
            if (const double t = target(i, end); std::abs(t) > std::abs(most)) most = t;
          bool is_candidate = false;
          for (int d = 0; d < 9; ++d) is_candidate |= std::abs(-most / scale / (6.5 + 0.25 * d) - 1) < 0x1p-8 + 1e-4;
          wrong += !is_candidate;
          for (int64_t i = begin; i < end; ++i) {
            const double nearest = std::clamp(target(i, i + 1) / scale, -8.0, 7.0);
            wrong += !(std::abs(nearest - values[static_cast<std::size_t>(r * n + i)]) <= 0.5001);
          }
        }
      }
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("fitted int4 weight: the error for correlated inputs is less than half of that without feedback") {
  const int64_t n = 200;
  const Tensor w = normal({40, n}, 1), x = correlated(2000, n);
  for_every_isa([&](Context& context) {
    CAPTURE(isa_name(context.isa()));
    const double plain = error_for(x, w, QuantizedWeight(w, 4)),
                 fitted = error_for(x, w, QuantizedWeight::fitted(w, moments_of(x)));
    CHECK(fitted < 0.5 * plain);
  });
}

TEST_CASE("fitted int4 weight: without correlations it is the weight without feedback") {
  const Tensor w = normal({9, 77}, 1);
  std::vector<float> identity(77 * 77, 0);
  for (std::size_t i = 0; i < 77; ++i) identity[78 * i] = 3;
  for_every_isa([&](Context&) {
    const QuantizedWeight plain(w, 4);
    for (const Tensor& moments : {Tensor::from(identity, {77, 77}), Tensor::zeros({77, 77})}) {
      const QuantizedWeight q = QuantizedWeight::fitted(w, moments);
      CHECK(bytes_of(q.values()) == bytes_of(plain.values()));
      CHECK(bytes_of(q.scales()) == bytes_of(plain.scales()));
    }
  });
}

TEST_CASE("fitted int4 weight: the bits don't depend on the number of threads, the layout or the dtype") {
  const Tensor w = normal({70, 130}, 1, DType::bf16), moments = moments_of(correlated(300, 130));
  for_every_isa([&](Context& context) {
    context.set_threads(1);
    const auto want = bytes_of(QuantizedWeight::fitted(w, moments).packed_values());
    for (const int threads : {2, 3}) {
      context.set_threads(threads);
      CHECK(bytes_of(QuantizedWeight::fitted(raw::convert(w, DType::f64), moments).packed_values()) == want);
      const Tensor turned = transpose(raw::contiguous(transpose(w, 0, 1)), 0, 1);
      CHECK(bytes_of(QuantizedWeight::fitted(turned, transpose(moments, 0, 1)).packed_values()) == want);
    }
  });
  CHECK(QuantizedWeight::fitted(Tensor::zeros({0, 5}), Tensor::zeros({5, 5})).rows() == 0);
  CHECK(QuantizedWeight::fitted(Tensor::zeros({5, 0}), Tensor::zeros({0, 0})).columns() == 0);
}

TEST_CASE("fitted int4 weight: invalid arguments are errors") {
  const auto refused = [](const Tensor& w, const Tensor& moments, const char* why) {
    CHECK_THROWS_WITH_AS((void)QuantizedWeight::fitted(w, moments), doctest::Contains(why), Error);
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor w = Tensor::full({2, 3}, 1), moments = Tensor::full({3, 3}, 1);
  refused(w, Tensor::zeros({2, 2}), "moments to be an f32 tensor of shape (3, 3)");
  refused(w, Tensor::zeros({3, 3}, DType::f64), "got an f64");
  refused(w, Tensor(), "undefined");
  refused(w, Tensor::full({3, 3}, static_cast<double>(nan)), "finite moments");
  refused(w, Tensor::from<float>({1, 2, 0, 2, 1, 0, 0, 0, 1}, {3, 3}), "no negative eigenvalue");
  refused(Tensor::full({2, 3}, static_cast<double>(nan)), moments, "row 0");
  refused(Tensor::full({2, 3}, 1.8e38), moments, "beyond 2^127");
  refused(Tensor::zeros({3}), moments, "(out, in)");
  refused(Tensor::zeros({2, 3}, DType::i64), moments, "i64");
}

TEST_CASE("calibrated models: the inputs of each Linear determine its rounding, for every architecture") {
  for (const QuantizedCase& c : quantized_cases()) {
    if (c.to != Quantization::int4) continue;
    CAPTURE(c.name);
    const auto plain = trained(c), fitted = trained(c), again = trained(c);
    quantize(*plain.model, Quantization::int4);
    const auto calibrated = [&](const SmallTask& task, int threads) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      quantize(*task.model, Quantization::int4, [&] { (void)evaluate(*task.model, *task.data); });
    };
    calibrated(fitted, 1);
    calibrated(again, 3);
    CHECK(quantized_to(fitted.model->parameters()) == Quantization::int4);
    CHECK(fitted.model->precision() == Precision::bf16);
    const NamedParameters one = plain.model->parameters(), two = fitted.model->parameters(),
                          three = again.model->parameters();
    int changed = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      CHECK(same_bits(two[i].second.value(), three[i].second.value()));
      changed += !same_bits(one[i].second.value(), two[i].second.value());
      if (contains(one[i].first, "embedding.weight") || contains(one[i].first, "word.weight"))
        CHECK(same_bits(one[i].second.value(), two[i].second.value()));
    }
    CHECK(changed >= 4);
  }
}

TEST_CASE("calibrated models: all inputs count, in every call of a layer") {
  const QuantizedCase c{"", "gmlp", Task::causal_lm, "{}", Quantization::int4};
  const auto calibrated = [&](int calls) {
    const auto small = trained(c);
    quantize(*small.model, Quantization::int4, [&] {
      for (int call = 0; call < calls; ++call)
        (void)(*small.model)(random_tensor(indices({2, 16}, small.model->vocabulary()), 3 + call));
    });
    std::vector<std::vector<unsigned char>> all;
    for (const auto& [name, parameter] : small.model->parameters())
      if (parameter.scales().defined() && name != "embedding.weight") all.push_back(bytes_of(parameter.value()));
    return all;
  };
  const auto one = calibrated(1), two = calibrated(2);
  REQUIRE(one.size() == two.size());
  CHECK(one.size() >= 4);
  for (std::size_t i = 0; i < one.size(); ++i) CHECK(one[i] != two[i]);
}

TEST_CASE("calibrated models: formats other than int4, and a calibration without inputs, are refused") {
  const auto small = trained({"", "gmlp", Task::causal_lm, "{}", Quantization::int4});
  const auto refused = [&](Quantization to, const std::function<void()>& calibrate, const std::string& why) {
    const std::string message = error_of([&] { quantize(*small.model, to, calibrate); });
    CAPTURE(message);
    CHECK(contains(message, why));
    CHECK_FALSE(quantized_to(small.model->parameters()));
    CHECK(small.model->precision() == Precision::f32);
  };
  refused(
      Quantization::int8, [] {}, "expected int4 with calibration, got int8");
  refused(
      Quantization::int4, [] {}, "used no Linear layer");
  refused(
      Quantization::int4, [] { throw Error("of the caller"); }, "of the caller");
}

}  // namespace weft::test
