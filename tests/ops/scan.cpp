// Tests of cumsum, cumprod, norm, var, logsumexp, pools, conv1d.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "op_table.h"

namespace weft::test {
namespace {

using I = std::int64_t;
using Ins = const std::vector<Tensor>&;

// y_i = f(y_(i-1), x_i) over the rows of a matrix.
template <class F>
Tensor scanned(const Tensor& x, F f) {
  std::vector<double> y = x.to_vector<double>();
  for (std::size_t i = 0; i < y.size(); ++i)
    if (i % static_cast<std::size_t>(x.size(1)) != 0) y[i] = f(y[i - 1], y[i]);
  return Tensor::from(y, x.shape());
}

// f(row) for each row of a matrix.
template <class F>
Tensor of_rows(const Tensor& x, F f) {
  const std::vector<double> all = x.to_vector<double>();
  std::vector<double> y;
  for (I i = 0; i < x.size(0); ++i)
    y.push_back(f(std::vector<double>(all.begin() + i * x.size(1), all.begin() + (i + 1) * x.size(1))));
  return Tensor::from(y, {x.size(0)});
}

double sum_of(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum;
}
double variance(const std::vector<double>& x, double correction) {
  const double n = static_cast<double>(x.size()), mean = sum_of(x) / n;
  double squares = 0;
  for (double v : x) squares += (v - mean) * (v - mean);
  return squares / (n - correction);
}

Tensor convolved(Ins in, const Conv1dOptions& o) {
  const Tensor &x = in[0], &w = in[1];
  const std::vector<double> xs = x.to_vector<double>(), ws = w.to_vector<double>();
  const I n = x.size(2), out = w.size(0), per = w.size(1), k = w.size(2), reach = o.dilation * (k - 1);
  const I before = o.causal ? reach : o.padding, m = (n + before + o.padding - reach - 1) / o.stride + 1;
  std::vector<double> y;
  for (I b = 0; b < x.size(0); ++b)
    for (I c = 0; c < out; ++c)
      for (I i = 0; i < m; ++i) {
        double sum = in.size() > 2 ? in[2].to_vector<double>()[static_cast<std::size_t>(c)] : 0;
        for (I d = 0; d < per; ++d)
          for (I t = 0; t < k; ++t) {
            const I channel = c / (out / o.groups) * per + d, at = i * o.stride + t * o.dilation - before;
            if (at >= 0 && at < n)
              sum += ws[static_cast<std::size_t>((c * per + d) * k + t)] *
                     xs[static_cast<std::size_t>((b * x.size(1) + channel) * n + at)];
          }
        y.push_back(sum);
      }
  return Tensor::from(y, {x.size(0), out, m});
}

OpCase convolution(const char* name, const Shape& x, const Shape& w, bool bias, const Conv1dOptions& o) {
  std::vector<In> inputs{{x}, {w}};
  if (bias) inputs.push_back({{w[0]}});
  return {name, inputs, [=](Ins in) { return conv1d(in[0], in[1], bias ? in[2] : Tensor(), o); },
          [=](Ins in) { return convolved(in, o); }};
}

constexpr double max_norm = std::numeric_limits<double>::infinity();
const In scan_table{{6, 11}, -2, 2, 0.05};

const OpCases scan_cases{
    {"cumsum",
     {scan_table},
     [](Ins in) { return cumsum(in[0], 1); },
     [](Ins in) { return scanned(in[0], [](double a, double b) { return a + b; }); }},
    {"cumsum 0",
     {scan_table},
     [](Ins in) { return cumsum(in[0], 0); },
     [](Ins in) { return transpose(scanned(transpose(in[0], 0, 1), [](double a, double b) { return a + b; }), 0, 1); }},
    {"cumsum of the middle axis",
     {{{3, 4, 5}}},
     [](Ins in) { return cumsum(in[0], -2); },
     [](Ins in) {
       return stack({cumsum(squeeze(slice(in[0], 0, 0, 1), 0), 0), cumsum(squeeze(slice(in[0], 0, 1, 2), 0), 0),
                     cumsum(squeeze(slice(in[0], 0, 2, 3), 0), 0)});
     }},
    {"cumsum of nothing", {{{3, 0}}}, [](Ins in) { return cumsum(in[0], 1); }},
    {"cumprod",
     {scan_table},
     [](Ins in) { return cumprod(in[0], 1); },
     [](Ins in) { return scanned(in[0], [](double a, double b) { return a * b; }); }},
    {"cumprod 0",
     {scan_table},
     [](Ins in) { return cumprod(in[0], 0); },
     [](Ins in) { return transpose(scanned(transpose(in[0], 0, 1), [](double a, double b) { return a * b; }), 0, 1); }},
    {"norm 1",
     {scan_table},
     [](Ins in) { return norm(in[0], 1, {1}); },
     [](Ins in) {
       return of_rows(in[0], [](const auto& row) {
         double sum = 0;
         for (double v : row) sum += std::abs(v);
         return sum;
       });
     }},
    {"norm 2",
     {scan_table},
     [](Ins in) { return norm(in[0], 2, {1}); },
     [](Ins in) {
       return of_rows(in[0], [](const auto& row) {
         double sum = 0;
         for (double v : row) sum += v * v;
         return std::sqrt(sum);
       });
     }},
    {"norm of all", {scan_table}, [](Ins in) { return norm(in[0]); }, [](Ins in) { return sqrt(sum(square(in[0]))); }},
    {"norm inf",
     {scan_table},
     [](Ins in) { return norm(in[0], max_norm, {-1}, true); },
     [](Ins in) { return max(abs(in[0]), 1, true); }},
    {"norm inf of all",
     {scan_table},
     [](Ins in) { return norm(in[0], max_norm); },
     [](Ins in) { return max(max(abs(in[0]), 1), 0); }},
    {"var",
     {scan_table},
     [](Ins in) { return var(in[0], {1}); },
     [](Ins in) { return of_rows(in[0], [](const auto& row) { return variance(row, 1); }); }},
    {"var 0",
     {scan_table},
     [](Ins in) { return var(in[0], {0}, 0, true); },
     [](Ins in) {
       return reshape(of_rows(transpose(in[0], 0, 1), [](const auto& row) { return variance(row, 0); }), {1, 11});
     }},
    {"var of all",
     {scan_table},
     [](Ins in) { return var(in[0]); },
     [](Ins in) {
       return reshape(of_rows(reshape(in[0], {1, 66}), [](const auto& r) { return variance(r, 1); }), {});
     }},
    {"logsumexp",
     {scan_table},
     [](Ins in) { return logsumexp(in[0], 1); },
     [](Ins in) { return log(sum(exp(in[0]), {1})); }},
    {"logsumexp of large numbers",
     {{{5, 4}, 790, 810}},
     [](Ins in) { return logsumexp(in[0], 0, true); },
     [](Ins in) { return log(sum(exp(in[0] - 800.0), {0}, true)) + 800.0; }},
    {"max_pool1d",
     {scan_table},
     [](Ins in) { return max_pool1d(in[0], 3, 2); },
     [](Ins in) {
       std::vector<Tensor> windows;
       for (I i = 0; i + 3 <= 11; i += 2) windows.push_back(max(slice(in[0], 1, i, i + 3), 1));
       return stack(windows, 1);
     }},
    {"mean_pool1d",
     {{{2, 3, 10}}},
     [](Ins in) { return mean_pool1d(in[0], 4); },
     [](Ins in) {
       return stack({mean(slice(in[0], 2, 0, 4), {2}), mean(slice(in[0], 2, 4, 8), {2})}, 2);
     }},
    convolution("conv1d", {2, 3, 9}, {4, 3, 2}, true, {}),
    convolution("conv1d, stride and padding", {2, 4, 10}, {5, 4, 3}, false, {3, 2, 1, 1, false}),
    convolution("conv1d, dilation and groups", {1, 6, 12}, {4, 3, 3}, true, {1, 1, 2, 2, false}),
    convolution("conv1d, causal", {2, 3, 7}, {3, 3, 3}, false, {1, 0, 2, 1, true}),
    convolution("conv1d, depth-wise and causal", {2, 5, 8}, {5, 1, 4}, true, {1, 0, 1, 5, true}),
    convolution("conv1d, depth-wise with two outputs", {1, 3, 8}, {6, 1, 2}, true, {1, 0, 1, 3, false}),
    convolution("conv1d, one element", {1, 1, 1}, {1, 1, 1}, false, {}),
    convolution("conv1d, window of one", {2, 3, 5}, {4, 3, 1}, true, {2, 0, 1, 1, false}),
};

// The gradient of the sum of y.
template <class F>
std::vector<double> gradient(const Tensor& x, F f) {
  Tape tape;
  const Tensor leaf = tape.watch(x);
  Gradients gradients;
  tape.backward(sum(f(leaf)), gradients);
  return gradients.of(leaf).to_vector<double>();
}

}  // namespace

TEST_CASE("cumprod: gradients where elements are 0") {
  const Tensor x = Tensor::from<double>({2, 0, 3, 4}, {4});
  const auto product = [](const Tensor& t) { return cumprod(t, 0); };
  CHECK(gradient(x, product) == std::vector<double>{1, 2 + 6 + 24, 0, 0});
  CHECK(gradient(Tensor::from<double>({0, 0, 3}, {3}), product) == std::vector<double>{1, 0, 0});
}

TEST_CASE("scans whose lines are divided among threads equal scans of single rows") {
  const Tensor x = random_tensor({{300, 257}, -1, 1}, 3);
  CHECK(same_bits(cumsum(x, 0), transpose(cumsum(transpose(x, 0, 1), 1), 0, 1)));
  CHECK(same_bits(cumprod(x, 0), transpose(cumprod(transpose(x, 0, 1), 1), 0, 1)));
  const auto first = [](const Tensor& t) { return cumprod(t, 0); };
  const auto last = [](const Tensor& t) { return cumprod(transpose(t, 0, 1), 1); };
  CHECK(gradient(x, first) == gradient(x, last));
  const Tensor wide = random_tensor({{5, 500}, -1, 1}, 4);  // one task computes all columns
  const std::vector<double> by_columns = gradient(wide, first), by_rows = gradient(wide, last);
  CHECK(by_columns == by_rows);
}

TEST_CASE("logsumexp of rows that are divided among tasks, along each axis") {
  const Tensor x = random_tensor({{130, 257}, -3, 3}, 4);
  const auto by_hand = [&](I axis) { return log(sum(exp(x), {axis})); };
  CHECK(max(abs(sub(logsumexp(x, 1), by_hand(1))), 0).item() < 1e-12);
  CHECK(max(abs(sub(logsumexp(x, 0), by_hand(0))), 0).item() < 1e-12);
  CHECK(logsumexp(x, 0, true).shape() == Shape{1, 257});
  CHECK(logsumexp(Tensor::zeros({0, 3}), 1).shape() == Shape{0});
}

TEST_CASE("norm and logsumexp at 0 and infinity") {
  const auto root = [](const Tensor& t) { return norm(t); };
  CHECK(norm(Tensor::zeros({3})).item() == 0);
  CHECK(gradient(Tensor::zeros({3}, DType::f64), root) == std::vector<double>{0, 0, 0});
  CHECK(std::isnan(norm(Tensor::from<float>({1, std::nanf("")}, {2})).item()));
  const float inf = std::numeric_limits<float>::infinity();
  CHECK(logsumexp(Tensor::full({3}, -inf), 0).item() == -inf);
  CHECK(logsumexp(Tensor::from<float>({inf, 1}, {2}), 0).item() == inf);
  CHECK(std::isnan(logsumexp(Tensor::from<float>({inf, std::nanf("")}, {2}), 0).item()));
  CHECK(std::isnan(logsumexp(Tensor::from<float>({-inf, std::nanf(""), -inf}, {3}), 0).item()));
  CHECK(logsumexp(Tensor::from<float>({-inf, 3, -inf}, {3}), 0).item() == 3);
  CHECK(logsumexp(Tensor::full({2}, 1000, DType::f32), 0).item() == doctest::Approx(1000 + std::log(2)));
}

TEST_CASE("pools: the first of equal elements, NaN, bf16") {
  const Tensor x = Tensor::from<double>({2, 2, 1, 5, 5, 3}, {6});
  CHECK(gradient(x, [](const Tensor& t) { return max_pool1d(t, 3, 1); }) == std::vector<double>{1, 0, 0, 3, 0, 0});
  CHECK(gradient(x, [](const Tensor& t) { return mean_pool1d(t, 4, 2); }) ==
        std::vector<double>{0.25, 0.25, 0.5, 0.5, 0.25, 0.25});
  const std::vector<float> found =
      max_pool1d(Tensor::from<float>({1, std::nanf(""), 2, std::nanf(""), 3, 4, 5, 0, 0}, {9}), 3).to_vector<float>();
  CHECK((std::isnan(found[0]) && std::isnan(found[1]) && found[2] == 5));
  CHECK(mean_pool1d(x, 4, 2).to_vector<double>() == std::vector<double>{2.5, 3.5});
  CHECK(mean_pool1d(Tensor::full({300}, 1, DType::bf16), 300).item() == 1);
  CHECK(mean_pool1d(Tensor::full({100000}, 0.1), 100000).item() == static_cast<double>(0.1f));
  CHECK(max_pool1d(Tensor::zeros({0, 4}), 2).shape() == Shape{0, 2});
}

TEST_CASE("scans of bf16 compute in f32") {
  const Tensor ones = Tensor::full({300}, 1, DType::bf16);
  CHECK(slice(cumsum(ones, 0), 0, 299, 300).item() == 300);
  CHECK(var(Tensor::from<float>({1, 2, 3}, {3})).item() == 1);
  CHECK(std::isnan(var(Tensor::zeros({1})).item()));
  CHECK(var(Tensor::from<float>({1, 3}, {2}), {}, 3).item() == std::numeric_limits<double>::infinity());
}

TEST_CASE("norm, var, logsumexp and conv1d of bf16 round once") {
  const auto in_bf16 = [](std::vector<float> values) {
    const auto n = static_cast<std::int64_t>(values.size());
    return raw::convert(Tensor::from(values, {n}), DType::bf16);
  };
  const Tensor x = in_bf16({100, 100.5, 99, 1, -7});
  const auto check = [&](auto f) {
    const Tensor got = f(x), want = raw::convert(f(raw::convert(x, DType::f32)), DType::bf16);
    CHECK(same_bits(got, want));
  };
  check([](const Tensor& t) { return var(t); });
  check([](const Tensor& t) { return norm(t, 2); });
  check([](const Tensor& t) { return norm(t, 1); });
  check([](const Tensor& t) { return logsumexp(t, 0); });
  check([](const Tensor& t) { return norm(t, max_norm); });
  const Tensor ones = Tensor::full({1, 1, 512}, 1, DType::bf16);
  CHECK(conv1d(ones, ones).item() == 512);  // the result would be 256 if each partial sum were rounded
}

TEST_CASE("scans, norms, pools and convolutions: errors") {
  const Tensor x = Tensor::zeros({2, 3, 4}), w = Tensor::zeros({5, 3, 2}), whole = Tensor::zeros({2}, DType::i64);
  CHECK_THROWS_AS(cumsum(x, 3), Error);
  CHECK_THROWS_AS(cumprod(whole, 0), Error);
  CHECK_THROWS_WITH_AS(norm(x, 3), doctest::Contains("expected p = 1, 2 or infinity, got 3"), Error);
  CHECK_THROWS_AS(norm(whole), Error);
  CHECK_THROWS_AS(var(x, {0, 0}), Error);
  CHECK_THROWS_AS(logsumexp(Tensor::zeros({0}), 0), Error);
  CHECK_THROWS_WITH_AS(max_pool1d(x, 5), doctest::Contains("expected a kernel of 1 to 4 elements"), Error);
  CHECK_THROWS_AS(mean_pool1d(x, 2, -1), Error);
  CHECK_THROWS_AS(mean_pool1d(Tensor::scalar(1), 1), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, Tensor::zeros({5, 2, 2})), doctest::Contains("expected a weight (out, 3, k)"), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, Tensor::zeros({5, 3, 5})), doctest::Contains("expected at least 5 elements"), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, w, Tensor::zeros({4})), doctest::Contains("expected a bias of shape (5)"), Error);
  CHECK_THROWS_AS(conv1d(x, Tensor::zeros({5, 3, 0})), Error);
  CHECK_THROWS_AS(conv1d(Tensor::zeros({3, 4}), w), Error);
  CHECK_THROWS_AS(conv1d(x, w, {}, {0}), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, w, {}, {1, std::int64_t{1} << 62}), doctest::Contains("from 1 to 2^31"), Error);
  CHECK_THROWS_AS(conv1d(x, w, {}, {1, 1, 1, 1, true}), Error);
  CHECK_THROWS_AS(conv1d(x, w, {}, {1, 0, 1, 2, false}), Error);
  CHECK_THROWS_AS(conv1d(x, Tensor::zeros({5, 3, 2}, DType::f64)), Error);
}

}  // namespace weft::test
