// Tests of printing tensors as text.
#include "weft/print.h"

#include <doctest/doctest.h>

#include <cmath>
#include <iomanip>
#include <sstream>
#include <string>

#include "weft/ops.h"

namespace weft::test {
namespace {

std::string text(const Tensor& x) {
  std::ostringstream out;
  out << x;
  return out.str();
}

}  // namespace

TEST_CASE("print: rows, columns of equal width, dtype and shape") {
  CHECK(text(Tensor::from<float>({0.5f, -1, 2, 3e8f}, {2, 2})) == "[[  0.5,    -1],\n [    2, 3e+08]] f32 (2, 2)");
  CHECK(text(Tensor::scalar(2.25, DType::f64)) == "2.25 f64 ()");
  CHECK(text(Tensor::from<std::int64_t>({1, -20, 300}, {3})) == "[  1, -20, 300] i64 (3,)");
  CHECK(text(Tensor::from<std::int8_t>({1, 0, -7}, {3})) == "[ 1,  0, -7] i8 (3,)");
  CHECK(text(Tensor::full({2, 1, 2}, 1, DType::bf16)) == "[[[1, 1]],\n\n [[1, 1]]] bf16 (2, 1, 2)");
  CHECK(text(Tensor::from<std::complex<float>>({{1, 2}, {0.5f, -0.25f}}, {2})) == "[     1+2i, 0.5-0.25i] c64 (2,)");
  CHECK(text(Tensor::from<std::complex<double>>({{0, -0.0}}, {1})) == "[0-0i] c128 (1,)");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(text(Tensor::from<double>({inf, -inf, std::nan("")}, {3})) == "[ inf, -inf,  nan] f64 (3,)");
}

TEST_CASE("print: empty and undefined tensors, other layouts") {
  CHECK(text(Tensor()) == "undefined");
  CHECK(text(Tensor::zeros({0, 3})) == "[] f32 (0, 3)");
  CHECK(text(Tensor::zeros({2, 0})) == "[[],\n []] f32 (2, 0)");
  const Tensor x = Tensor::from<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  CHECK(text(transpose(x, 0, 1)) == "[[1, 4],\n [2, 5],\n [3, 6]] f32 (3, 2)");
  CHECK(text(flip(x, 1)) == "[[3, 2, 1],\n [6, 5, 4]] f32 (2, 3)");
  CHECK(text(slice(expand(Tensor::scalar(7), {4}), 0, 1, 3)) == "[7, 7] f32 (2,)");
}

TEST_CASE("print: large tensors are abbreviated") {
  std::vector<float> many(1000);
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<float>(i);
  CHECK(text(Tensor::from(many, {1000})).find("...") == std::string::npos);
  many.push_back(1000);
  CHECK(text(Tensor::from(many, {1001})) == "[   0,    1,    2, ...,  998,  999, 1000] f32 (1001,)");
  CHECK(text(Tensor::zeros({200, 7})) ==
        "[[0, 0, 0, ..., 0, 0, 0],\n [0, 0, 0, ..., 0, 0, 0],\n [0, 0, 0, ..., 0, 0, 0],\n ...,\n"
        " [0, 0, 0, ..., 0, 0, 0],\n [0, 0, 0, ..., 0, 0, 0],\n [0, 0, 0, ..., 0, 0, 0]] f32 (200, 7)");
  CHECK(text(Tensor::zeros({2, 600})) == "[[0, 0, 0, ..., 0, 0, 0],\n [0, 0, 0, ..., 0, 0, 0]] f32 (2, 600)");
  // Printing must not need the time or the memory of all elements.
  CHECK(text(expand(Tensor::scalar(1), {1 << 20, 1 << 20})).size() < 300);
}

TEST_CASE("print: the precision of the stream applies") {
  std::ostringstream out;
  out << std::setprecision(3) << Tensor::scalar(3.14159, DType::f64) << ' ' << std::setprecision(17)
      << Tensor::scalar(0.1, DType::f64) << ' ' << std::setprecision(0) << Tensor::scalar(3.14159, DType::f64);
  CHECK(out.str() == "3.14 f64 () 0.10000000000000001 f64 () 3 f64 ()");
}

}  // namespace weft::test
