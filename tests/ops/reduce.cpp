#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/kernels/reduce.h"
#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
using namespace detail;

namespace {

using Ins = const std::vector<Tensor>&;
using Dims = std::vector<std::int64_t>;

// The sum over the given axes (0 … rank-1) by loops, divided by the number of terms if `mean` is set. T is double or
// std::complex<double>.
template <class T>
Tensor sum_loops(const Tensor& x, const Dims& dims, bool keepdim, bool mean) {
  const auto reduced = [&](std::size_t i) {
    return dims.empty() || std::find(dims.begin(), dims.end(), static_cast<std::int64_t>(i)) != dims.end();
  };
  Shape wide = x.shape(), narrow;
  double terms = 1;
  for (std::size_t i = 0; i < wide.size(); ++i) {
    if (!reduced(i)) narrow.push_back(wide[i]);
    else if (keepdim) narrow.push_back(1);
    if (reduced(i)) terms *= static_cast<double>(wide[i]), wide[i] = 1;
  }
  std::vector<T> y(static_cast<std::size_t>(numel(wide)));
  const std::vector<T> v = x.to_vector<T>();
  for (std::size_t flat = 0; flat < v.size(); ++flat) {
    std::int64_t rest = static_cast<std::int64_t>(flat), at = 0, step = 1;
    for (std::size_t i = wide.size(); i-- > 0; rest /= x.shape()[i]) {
      if (wide[i] != 1) at += rest % x.shape()[i] * step;
      step *= wide[i];
    }
    y[static_cast<std::size_t>(at)] += v[flat];
  }
  if (mean)
    for (T& value : y) value /= terms;
  return Tensor::from(y, narrow);
}

OpCase sum_case(const std::string& name, const Shape& shape, const Dims& dims, bool keepdim = false) {
  return {"sum " + name,
          {{shape}},
          [=](Ins in) { return sum(in[0], dims, keepdim); },
          [=](Ins in) { return sum_loops<double>(in[0], dims, keepdim, false); }};
}
OpCase mean_case(const std::string& name, const Shape& shape, const Dims& dims, bool keepdim = false) {
  return {"mean " + name,
          {{shape}},
          [=](Ins in) { return mean(in[0], dims, keepdim); },
          [=](Ins in) { return sum_loops<double>(in[0], dims, keepdim, true); }};
}
OpCase complex_sum_case(const std::string& name, const Shape& shape, const Dims& dims) {
  return {"sum complex " + name,
          {complex_in(shape)},
          [=](Ins in) { return sum(in[0], dims); },
          [=](Ins in) { return sum_loops<std::complex<double>>(in[0], dims, false, false); }};
}

// Returns a case of max along dim. The oracle sorts each row, and the values are distinct.
OpCase max_case(const std::string& name, const Shape& shape, std::int64_t dim, bool keepdim = false) {
  return {"max " + name,
          {{shape, -9, 9}},
          [=](Ins in) { return max(in[0], dim, keepdim); },
          [=](Ins in) {
            const Tensor rows = raw::contiguous(transpose(in[0], dim, -1));
            const std::vector<double> v = rows.to_vector<double>();
            const std::int64_t n = rows.size(-1);
            std::vector<double> y;
            for (auto row = v.begin(); row != v.end(); row += n) y.push_back(*std::max_element(row, row + n));
            Shape narrow = rows.shape();
            narrow.back() = 1;
            const Tensor kept = transpose(Tensor::from(y, narrow), dim, -1);
            return keepdim ? kept : reshape(kept, max(in[0], dim).shape());
          }};
}

const OpCases reduce_cases{
    sum_case("all", {3, 5, 7}, {}),
    sum_case("of a scalar", {}, {}),
    sum_case("rows", {5, 37}, {1}),
    sum_case("columns", {9, 71}, {0}),
    sum_case("middle", {3, 5, 17}, {1}),
    sum_case("outside and inside", {3, 4, 5}, {0, 2}),
    sum_case("every other axis", {2, 3, 2, 3, 2}, {1, 3}),
    sum_case("every other axis from the first", {2, 3, 2, 3, 2}, {0, 2, 4}),
    sum_case("keepdim", {3, 4, 5}, {0, 2}, true),
    sum_case("all, keepdim", {3, 4}, {}, true),
    sum_case("axes of size 1", {1, 4, 1, 3}, {0, 2}),
    sum_case("of nothing", {0, 3}, {0}),
    sum_case("giving nothing", {0, 3}, {1}),
    {"sum, negative dims",
     {{{3, 4, 5}}},
     [](Ins in) {
       return sum(in[0], {-1, -3});
     },
     [](Ins in) {
       return sum_loops<double>(in[0], {0, 2}, false, false);
     }},
    mean_case("all", {3, 5, 7}, {}),
    mean_case("rows", {5, 37}, {1}),
    mean_case("columns", {9, 71}, {0}, true),
    mean_case("giving nothing", {0, 3}, {1}),
    complex_sum_case("all", {3, 5}, {}),
    complex_sum_case("rows", {3, 11}, {1}),
    complex_sum_case("columns", {3, 11}, {0}),
    complex_sum_case("outside and inside", {3, 4, 5}, {0, 2}),
    max_case("rows", {5, 37}, 1),
    max_case("columns", {9, 5}, 0),
    max_case("middle", {3, 5, 4}, 1),
    max_case("middle, keepdim", {3, 5, 4}, 1, true),
    max_case("of one", {4, 1}, 1),
    {"max giving nothing", {{{0, 3}}}, [](Ins in) { return max(in[0], 1); }},
};

Tensor in_dtype(const std::vector<double>& v, const Shape& shape, DType dtype) {
  return raw::convert(Tensor::from(v, shape), dtype);
}

}  // namespace

TEST_CASE("long sums are split into blocks") {
  for (const Shape& shape : {Shape{100003}, {3, 20011}, {70001, 3}, {301, 259}, {2, 411, 97}}) {
    const Tensor x = random_tensor({shape}, 3);
    for (std::int64_t dim = 0; dim < x.rank(); ++dim) {
      const Tensor want = sum_loops<double>(x, {dim}, false, false);
      CHECK(max_difference(sum(x, {dim}), want) <= 1e-10);
      CHECK(max_difference(sum(to_single(x), {dim}), want) <= 1e-4);
    }
    const auto total = [&](int threads) {
      Context context;
      context.set_threads(threads);
      ContextScope scope(context);
      return std::vector<Tensor>{sum(to_single(x)), sum(to_single(x), {0}), sum(to_single(x), {-1})};
    };
    const auto one = total(1);
    for (int threads : {2, 3, 8}) {
      const auto more = total(threads);
      for (std::size_t i = 0; i < one.size(); ++i) CHECK(same_bits(more[i], one[i]));
    }
  }
}

TEST_CASE("a column's sum doesn't depend on its position") {
  const Tensor x = to_single(random_tensor({{83, 1}}, 4));
  const Tensor y = sum(raw::contiguous(expand(x, {83, 150})), {0});
  const auto v = y.to_vector<float>();
  for (float value : v) CHECK(value == v[0]);
}

TEST_CASE("sum kernels on every instruction set equal sums in long double") {
  for (Isa isa : available_isas()) {
    const auto& kernel = kernels<ReduceKernels<float>>(isa);
    for (std::int64_t n = 0; n < 200; ++n) {
      const auto x = to_single(random_tensor({{n}, 1, 2}, 5)).to_vector<float>();
      long double sum = 0, squares = 0;
      for (float v : x) sum += v, squares += static_cast<long double>(v) * v;
      float y = -1;
      kernel.sum_rows(x.data(), &y, 1, n);
      CHECK(std::abs(y - sum) <= 4e-7L * sum);
      CHECK(std::abs(kernel.sum_squares(x.data(), n) - squares) <= 1e-14L * squares);
    }
  }
}

TEST_CASE("max gives the first of several equal elements, and NaN before all others") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (DType dtype : {DType::f32, DType::f64}) {
    const auto gradient = [dtype](const std::vector<double>& row) {
      Tape tape;
      const Tensor x = tape.watch(in_dtype(row, {static_cast<std::int64_t>(row.size())}, dtype));
      Gradients gradients;
      tape.backward(max(x, 0), gradients);
      return raw::convert(gradients.of(x), DType::f64).to_vector<double>();
    };
    CHECK(gradient({1, 3, 3, 2}) == std::vector<double>{0, 1, 0, 0});
    CHECK(gradient({-inf, -inf}) == std::vector<double>{1, 0});
    CHECK(gradient({1, inf, inf}) == std::vector<double>{0, 1, 0});
    CHECK(gradient({inf, nan, nan}) == std::vector<double>{0, 1, 0});
    for (std::size_t at = 0; at < 40; ++at) {
      std::vector<double> row(40, 1);
      row[at] = nan;
      CHECK(std::isnan(max(in_dtype(row, {40}, dtype), 0).item()));
      row[at] = 2;
      CHECK(gradient(row)[at] == 1);
    }
  }
}

TEST_CASE("sums of infinities and NaN") {
  const double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64}) {
    CHECK(sum(in_dtype({1, inf}, {2}, dtype)).item() == inf);
    CHECK(std::isnan(sum(in_dtype({inf, 1, -inf}, {3}, dtype)).item()));
    CHECK(std::isnan(sum(in_dtype({1, std::nan(""), 1}, {3}, dtype)).item()));
    CHECK(std::isnan(mean(Tensor::zeros({0, 3}, dtype)).item()));
    CHECK(sum(Tensor::zeros({0, 3}, dtype)).item() == 0);
  }
}

TEST_CASE("reductions: errors") {
  const Tensor x = Tensor::zeros({2, 3});
  CHECK_THROWS_WITH_AS(sum(x, {2}), "[sum] dimension 2 is out of range for a tensor of rank 2", Error);
  CHECK_THROWS_WITH_AS(mean(x, {0, -2}), "[mean] expected distinct dimensions, got dimension -2 twice", Error);
  CHECK_THROWS_WITH_AS(sum(Tensor::zeros({2}, DType::i64)),
                       "[sum] expected a real or complex tensor, got an i64 tensor of shape (2,)", Error);
  CHECK_THROWS_WITH_AS(max(Tensor::zeros({2, 0}), 1), "[max] there is no element along axis 1 of shape (2, 0)", Error);
  CHECK_THROWS_AS(sum(Tensor()), Error);
  CHECK_THROWS_AS(mean(Tensor()), Error);
  CHECK_THROWS_AS(mean(Tensor::zeros({2}, DType::c64)), Error);
  CHECK_THROWS_AS(max(Tensor::zeros({2}, DType::c64), 0), Error);
  CHECK_THROWS_AS(max(Tensor::zeros({}), 0), Error);
}

}  // namespace weft::test
