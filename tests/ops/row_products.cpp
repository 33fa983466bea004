// Tests row_products, the product of every row with a vector, on each instruction set, for odd sizes and any number of
// threads.
#include <doctest/doctest.h>

#include <cmath>

#include "every_isa.h"
#include "op_table.h"
#include "weft/context.h"
#include "weft/dense.h"
#include "weft/error.h"
#include "weft/random.h"

namespace weft::test {
namespace {

Tensor uniform(std::uint64_t seed, const Shape& shape, DType dtype) {
  return raw::convert(Random(seed).uniform(shape, -1, 1, DType::f64), dtype);
}

// Returns the largest error of a product, relative to the sum of the magnitudes of the product's terms.
double worst_error(const Tensor& rows, const Tensor& x, const Tensor& y) {
  const std::int64_t n = rows.size(0), k = rows.size(1);
  const auto a = raw::convert(raw::contiguous(rows), DType::f64).to_vector<double>(),
             v = raw::convert(raw::contiguous(x), DType::f64).to_vector<double>(),
             got = raw::convert(y, DType::f64).to_vector<double>();
  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0, size = 1e-30;
    for (std::int64_t p = 0; p < k; ++p) {
      const double term = a[static_cast<std::size_t>(i * k + p)] * v[static_cast<std::size_t>(p)];
      sum += term;
      size += std::abs(term);
    }
    worst = std::max(worst, std::abs(got[static_cast<std::size_t>(i)] - sum) / size);
  }
  return worst;
}

}  // namespace

TEST_CASE("row_products: each row's sum of products, on every instruction set") {
  for_every_isa([] {
    for (const std::int64_t n : {1, 2, 3, 5, 64, 1031})
      for (const std::int64_t k : {1, 2, 7, 16, 31, 128, 257})
        for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
          CAPTURE(n);
          CAPTURE(k);
          CAPTURE(dtype_name(dtype));
          const Tensor rows = uniform(1, {n, k}, dtype), x = uniform(2, {k}, dtype), y = row_products(rows, x);
          REQUIRE(y.shape() == Shape{n});
          CHECK(y.dtype() == (dtype == DType::f64 ? DType::f64 : DType::f32));
          CHECK(worst_error(rows, x, y) < (dtype == DType::f64 ? 1e-14 : 1e-6));
        }
  });
}

TEST_CASE("row_products: no rows, rows without elements, and views") {
  CHECK(row_products(Tensor::zeros({0, 3}, DType::f32), Tensor::zeros({3}, DType::f32)).shape() == Shape{0});
  CHECK(row_products(Tensor::zeros({2, 0}, DType::f32), Tensor::zeros({0}, DType::f32)).to_vector<float>() ==
        std::vector<float>{0, 0});
  const Tensor wide = uniform(3, {9, 40}, DType::f32), x = uniform(4, {20, 2}, DType::f32);
  const Tensor some = slice(wide, 1, 5, 25), column = reshape(slice(x, 1, 1, 2), {20});
  CHECK(worst_error(some, column, row_products(some, column)) < 1e-6);
  const Tensor across = transpose(wide, 0, 1), v = uniform(5, {9}, DType::f32);
  CHECK(worst_error(across, v, row_products(across, v)) < 1e-6);
}

TEST_CASE("row_products: the same bits for any number of threads, and for a single row") {
  const Tensor rows = uniform(6, {70001, 37}, DType::f32), x = uniform(7, {37}, DType::f32);
  Context one;
  one.set_threads(1);
  Tensor want;
  {
    const ContextScope scope(one);
    want = row_products(rows, x);
  }
  for (const int threads : {2, 3, 8}) {
    Context several;
    several.set_threads(threads);
    const ContextScope scope(several);
    CHECK(same_bits(row_products(rows, x), want));
  }
  for (const std::int64_t row : {0, 1, 5, 70000})
    CHECK(same_bits(row_products(slice(rows, 0, row, row + 1), x), slice(want, 0, row, row + 1)));
}

TEST_CASE("row_products: the same bits if the rows are too many for a cache") {
  Context two;
  two.set_threads(2);
  const ContextScope scope(two);
  const std::int64_t n = 260001, k = 131;  // more than eight tasks of 8 MiB for each thread
  const Tensor rows = uniform(8, {n, k}, DType::f32), x = uniform(9, {k}, DType::f32), all = row_products(rows, x);
  for (const auto& [begin, end] : {std::pair{0, 1000}, {130000, 131001}, {260000, 260001}})
    CHECK(same_bits(row_products(slice(rows, 0, begin, end), x), slice(all, 0, begin, end)));
}

TEST_CASE("row_products: invalid shapes and dtypes") {
  const Tensor rows = Tensor::zeros({2, 3}, DType::f32);
  for (const Tensor& bad : {Tensor(), Tensor::zeros({2}, DType::f32), Tensor::zeros({3, 1}, DType::f32),
                            Tensor::zeros({3}, DType::f64), Tensor::zeros({3}, DType::bf16)})
    CHECK_THROWS_AS((void)row_products(rows, bad), Error);
  CHECK_THROWS_AS((void)row_products(Tensor::zeros({3}, DType::f32), Tensor::zeros({3}, DType::f32)), Error);
  CHECK_THROWS_AS((void)row_products(Tensor::zeros({2, 3}, DType::i64), Tensor::zeros({3}, DType::i64)), Error);
}

}  // namespace weft::test
