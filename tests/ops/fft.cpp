#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>

#include "every_isa.h"
#include "op_table.h"
#include "spectral/fft_plan.h"
#include "sweep.h"
#include "weft/context.h"

namespace weft::test {
using namespace detail;

namespace {

using Ins = const std::vector<Tensor>&;
using Complex = std::complex<double>;
using Wide = std::complex<long double>;

// exp(2πi k/n)
Wide root(std::int64_t k, std::int64_t n) {
  const long double turn = 6.28318530717958647692528676655900577L;
  const long double angle = turn * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), std::sin(angle)};
}

// Σ_j x_j exp(∓2πi jk/n) along the last axis, in long double.
Tensor sums_along_rows(const Tensor& x, bool inverse) {
  const std::int64_t n = x.size(-1);
  std::vector<Wide> roots;
  for (std::int64_t k = 0; k < n; ++k) roots.push_back(inverse ? root(k, n) : std::conj(root(k, n)));
  const auto v = raw::convert(x, DType::c128).to_vector<Complex>();
  std::vector<Complex> y;
  for (std::size_t first = 0; first < v.size(); first += static_cast<std::size_t>(n))
    for (std::int64_t k = 0; k < n; ++k) {
      Wide sum = 0;
      for (std::int64_t j = 0; j < n; ++j)
        sum += Wide(v[first + static_cast<std::size_t>(j)]) * roots[static_cast<std::size_t>(j * k % n)];
      y.emplace_back(sum);
    }
  return Tensor::from(y, x.shape());
}

double norm_factor(std::int64_t n, bool inverse, FftNorm norm) {
  if (norm == FftNorm::ortho) return 1 / std::sqrt(static_cast<double>(n));
  return (norm == FftNorm::backward) == inverse ? 1 / static_cast<double>(n) : 1;
}

Tensor plain_transform(const Tensor& x, std::int64_t dim, bool inverse, FftNorm norm = FftNorm::backward) {
  const Tensor rows = raw::contiguous(transpose(x, dim, -1));
  return transpose(scale(sums_along_rows(rows, inverse), norm_factor(x.size(dim), inverse, norm)), dim, -1);
}

// The whole spectrum of a real signal, whose first n/2+1 bins are x.
Tensor hermitian(const Tensor& x, std::int64_t n, std::int64_t dim) {
  const Tensor rows = raw::contiguous(transpose(x, dim, -1));
  const std::int64_t bins = n / 2 + 1;
  const auto v = rows.to_vector<Complex>();
  std::vector<Complex> y;
  for (std::size_t first = 0; first < v.size(); first += static_cast<std::size_t>(bins))
    for (std::int64_t k = 0; k < n; ++k) {
      const Complex z = v[first + static_cast<std::size_t>(k < bins ? k : n - k)];
      y.push_back(2 * k % n == 0 ? z.real() : k < bins ? z : std::conj(z));
    }
  Shape shape = rows.shape();
  shape.back() = n;
  return transpose(Tensor::from(y, shape), dim, -1);
}

Tensor plain_irfft(const Tensor& x, std::int64_t n, std::int64_t dim, FftNorm norm = FftNorm::backward) {
  return real(plain_transform(hermitian(x, n, dim), dim, true, norm));
}

OpCase fft_case(const std::string& name, const In& in, std::int64_t dim, FftNorm norm = FftNorm::backward) {
  return {"fft " + name,
          {in},
          [=](Ins x) { return fft(x[0], dim, norm); },
          [=](Ins x) { return plain_transform(x[0], dim, false, norm); }};
}
OpCase ifft_case(const std::string& name, const In& in, std::int64_t dim, FftNorm norm = FftNorm::backward) {
  return {"ifft " + name,
          {in},
          [=](Ins x) { return ifft(x[0], dim, norm); },
          [=](Ins x) { return plain_transform(x[0], dim, true, norm); }};
}
OpCase rfft_case(const std::string& name, const Shape& shape, std::int64_t dim, FftNorm norm = FftNorm::backward) {
  return {"rfft " + name,
          {{shape}},
          [=](Ins x) { return rfft(x[0], dim, norm); },
          [=](Ins x) { return slice(plain_transform(x[0], dim, false, norm), dim, 0, x[0].size(dim) / 2 + 1); }};
}
OpCase irfft_case(const std::string& name, const Shape& shape, std::int64_t n, std::int64_t dim,
                  FftNorm norm = FftNorm::backward) {
  return {"irfft " + name,
          {complex_in(shape)},
          [=](Ins x) { return irfft(x[0], n, dim, norm); },
          [=](Ins x) { return plain_irfft(x[0], n, dim, norm); }};
}

Tensor plain_mix(const Tensor& x, std::int64_t sequence, std::int64_t hidden) {
  return real(plain_transform(plain_transform(x, hidden, false), sequence, false));
}
OpCase mix_case(const std::string& name, const Shape& shape, std::int64_t sequence, std::int64_t hidden) {
  return {"fourier_mix " + name,
          {{shape}},
          [=](Ins x) { return fourier_mix(x[0], sequence, hidden); },
          [=](Ins x) { return plain_mix(x[0], sequence, hidden); }};
}

const OpCases fft_cases{
    fft_case("rows", complex_in({3, 12}), 1),
    fft_case("columns", complex_in({12, 19}), 0),
    fft_case("middle", complex_in({2, 8, 3}), 1, FftNorm::ortho),
    fft_case("of a real tensor", {{3, 10}}, -1, FftNorm::forward),
    fft_case("of a vector", complex_in({30}), 0),
    fft_case("of a large prime", complex_in({2, 19}), 1),
    fft_case("of one", complex_in({4, 1}), 1),
    fft_case("of no rows", complex_in({0, 4}), 1),
    ifft_case("rows", complex_in({3, 12}), 1),
    ifft_case("columns", complex_in({12, 5}), 0, FftNorm::ortho),
    ifft_case("of a real tensor", {{3, 7}}, -1, FftNorm::forward),
    ifft_case("of a large prime", complex_in({17, 2}), 0),
    rfft_case("rows", {3, 12}, 1),
    rfft_case("odd columns", {9, 21}, 0, FftNorm::ortho),
    rfft_case("of a large prime", {2, 23}, 1, FftNorm::forward),
    rfft_case("of one", {3, 1}, 1),
    rfft_case("of two", {3, 2}, 1),
    irfft_case("rows", {3, 7}, 12, 1),
    irfft_case("odd columns", {5, 21}, 9, 0, FftNorm::ortho),
    irfft_case("of a large prime", {2, 10}, 19, 1, FftNorm::forward),
    irfft_case("of one", {3, 1}, 1, 1),
    irfft_case("of two", {3, 2}, 2, 1),
    {"fft2",
     {complex_in({3, 4, 5})},
     [](Ins x) { return fft2(x[0], 0, 2, FftNorm::ortho); },
     [](Ins x) { return plain_transform(plain_transform(x[0], 2, false, FftNorm::ortho), 0, false, FftNorm::ortho); }},
    {"ifft2",
     {complex_in({4, 6})},
     [](Ins x) { return ifft2(x[0], -2, -1); },
     [](Ins x) { return plain_transform(plain_transform(x[0], 1, true), 0, true); }},
    {"rfft2",
     {{{4, 6}}},
     [](Ins x) { return rfft2(x[0], 0, 1); },
     [](Ins x) { return slice(plain_transform(plain_transform(x[0], 1, false), 0, false), 1, 0, 4); }},
    {"irfft2",
     {complex_in({4, 3})},
     [](Ins x) { return irfft2(x[0], 5, 0, 1); },
     [](Ins x) { return plain_irfft(plain_transform(x[0], 0, true), 5, 1); }},
    mix_case("", {2, 6, 9}, 1, 2),
    mix_case("sequence first", {5, 2, 8}, 0, 2),
    mix_case("hidden before sequence", {4, 6}, -1, 0),
    mix_case("of one", {2, 1, 1}, 1, 2),
    mix_case("of large primes", {1, 17, 19}, 1, 2),
    mix_case("of no rows", {0, 4, 4}, 1, 2),
};

}  // namespace

TEST_CASE("a column's transform doesn't depend on its position or its neighbors") {
  for (std::int64_t n : {24, 37}) {
    const Tensor x = to_single(random_tensor(complex_in({n, 1}), 4));
    Tensor wide = raw::contiguous(expand(x, {n, 37}));
    const Tensor want = fft(x, 0);
    auto* p = wide.mutable_data<std::complex<float>>();
    for (std::int64_t k = 0; k < n; ++k) p[k * 37 + 5] = std::nanf(""), p[k * 37 + 20] *= 1048576.0F;
    const Tensor y = fft(wide, 0);
    for (std::int64_t c = 0; c < 37; ++c)
      if (c != 5 && c != 20) CHECK(same_bits(slice(y, 1, c, c + 1), want));
  }
}

TEST_CASE("a real column's transform doesn't depend on its position") {
  for_every_isa([] {
    for (DType dtype : {DType::f32, DType::f64})
      for (std::int64_t n :
           {2, 24, 74, 96, 4096}) {  // 37 columns give full tiles and a partial one, for any number of lanes
        const Tensor x = raw::convert(random_tensor({{n, 37}}, 4), dtype), y = rfft(x, 0, FftNorm::ortho);
        for (std::int64_t c = 0; c < 37; ++c) {
          const Tensor column = slice(x, 1, c, c + 1);  // a long contiguous column takes four steps
          CHECK(same_bits(slice(y, 1, c, c + 1), rfft(n < 512 ? raw::contiguous(column) : column, 0, FftNorm::ortho)));
        }
      }
  });
}

// 32 MiB or more in 96 rows. In some of the tensors, the distance between rows is
// a multiple of the vector length. In others, it isn't.
TEST_CASE("columns that are written past the caches have the same bits as other columns") {
  for (DType dtype : {DType::f32, DType::f64})
    for (std::int64_t d : {64, 20}) {
      const std::int64_t samples = (std::int64_t{32} << 20) / (96 * d * (dtype == DType::f32 ? 8 : 16)) + 1;
      const Shape shape = {samples, 96, d};
      const Tensor x = complex(Random(1, 0).normal(shape, 0, 1, dtype), Random(1, 1).normal(shape, 0, 1, dtype));
      for_every_isa([&](Context& context) {
        context.set_threads(2);
        const Tensor y = fft(x, 1), back = ifft(x, 1);
        for (std::int64_t i = 0; i < samples; i += sweep(128, 2048)) {
          const std::int64_t end = std::min(i + 128, samples);
          const Tensor part = slice(x, 0, i, end);
          CHECK(same_bits(slice(y, 0, i, end), fft(part, 1)));
          CHECK(same_bits(slice(back, 0, i, end), ifft(part, 1)));
        }
      });
    }
}

TEST_CASE("rfft's first and middle bins are real, irfft ignores their imaginary parts") {
  for (std::int64_t n : {1, 2, 12, 15, 17, 34}) {
    Tensor y = rfft(random_tensor({{n}}, 5));
    CHECK(imag(y).to_vector<double>()[0] == 0);
    if (n % 2 == 0) CHECK(imag(y).to_vector<double>().back() == 0);
    const Tensor want = irfft(y, n);
    auto* bins = y.mutable_data<Complex>();
    bins[0] = {bins[0].real(), std::nan("")};
    if (n % 2 == 0) bins[n / 2] = {bins[n / 2].real(), std::numeric_limits<double>::infinity()};
    CHECK(same_bits(irfft(y, n), want));
  }
}

TEST_CASE("fourier_mix equals the plain composition, and its backward pass is the same function") {
  const Tensor x = random_tensor({{2, 12, 10}}, 6);
  CHECK(max_difference(fourier_mix(x, 1, 2), real(fft2(x, 1, 2))) <= 1e-12);
  const auto result = differentiate([](Ins in) { return fourier_mix(in[0], 1, 2); }, {x}, {true}, 7);
  CHECK(same_bits(result.gradients[0], fourier_mix(random_tensor({x.shape()}, 7), 1, 2)));
}

TEST_CASE("plans: radices and cost") {
  for (std::int64_t n = 1; n <= 5000; ++n) {
    std::int64_t product = 1, rest = n;
    for (std::int64_t p : {2, 3, 5, 7, 11, 13})
      while (rest % p == 0) rest /= p;
    for (std::int64_t radix : fft_radices(n)) product *= radix;
    CHECK(product == (rest == 1 ? n : 1));
    const std::int64_t fast = fft_fast_length(n);
    CHECK(fast >= n);
    CHECK((fast == 1 || !fft_radices(fast).empty()));
    if (rest == 1) CHECK(fft_cost(fast) <= fft_cost(n));
  }
}

TEST_CASE("plans: one plan per length, and the latest plans are kept") {
  Context context;
  ContextScope scope(context);
  const auto first = fft_plan<double>("test", 360);
  CHECK(fft_plan<double>("test", 360) == first);
  CHECK(fft_plan<double>("test", 1).get() != first.get());
  (void)fft_plan<double>("test", 1 << 21);  // its size is the limit for all plans together
  CHECK(fft_plan<double>("test", 360) != first);
  CHECK_THROWS_AS(fft_plan<double>("test", std::int64_t{1} << 40), Error);
}

TEST_CASE("fft: errors name the operation and the shapes") {
  const Tensor x = Tensor::zeros({2, 3}), z = Tensor::zeros({2, 3}, DType::c64);
  CHECK_THROWS_WITH_AS(fft(Tensor::zeros({2, 0})),
                       "[fft] expected at least one element along axis -1, got an f32 tensor of shape (2, 0)", Error);
  CHECK_THROWS_WITH_AS(ifft(z, 2), "[ifft] dimension 2 is out of range for a tensor of rank 2", Error);
  CHECK_THROWS_WITH_AS(rfft(z), "[rfft] expected an f32 or f64 tensor, got a c64 tensor of shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(irfft(x, 4), "[irfft] expected a c64 or c128 tensor, got an f32 tensor of shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(
      irfft(z, 6),
      "[irfft] expected n >= 1 and n/2 + 1 elements along axis -1, got n = 6 and a c64 tensor of shape (2, 3)", Error);
  CHECK_THROWS_AS(irfft(z, 0), Error);
  CHECK_THROWS_AS(irfft(Tensor::zeros({0}, DType::c64), -2), Error);
  CHECK_THROWS_WITH_AS(fft2(z, 0, -2),
                       "[fft2] expected two different axes, got dimensions 0 and -2 of a c64 tensor of shape (2, 3)",
                       Error);
  CHECK_THROWS_WITH_AS(fourier_mix(z, 0, 1),
                       "[fourier_mix] expected an f32 or f64 tensor, got a c64 tensor of shape (2, 3)", Error);
  CHECK_THROWS_WITH_AS(fourier_mix(x, 1, -1),
                       "[fourier_mix] expected different axes for sequence and hidden, got the same axis of an f32 "
                       "tensor of shape (2, 3)",
                       Error);
  CHECK_THROWS_AS(fourier_mix(Tensor::zeros({0, 3}), 0, 1), Error);
  CHECK_THROWS_AS(fft(Tensor()), Error);
  CHECK_THROWS_AS(fft(Tensor::zeros({2}, DType::i64)), Error);
  CHECK_THROWS_AS(fft(Tensor::zeros({})), Error);
  const Tensor huge = expand(Tensor::zeros({1}), {std::int64_t{1} << 45});
  CHECK_THROWS_AS(fft(huge), Error);
  CHECK_THROWS_AS(rfft(huge), Error);
  const Tensor bins = expand(Tensor::zeros({1}, DType::c64), {(std::int64_t{1} << 45) + 1});
  CHECK_THROWS_AS(irfft(bins, std::int64_t{1} << 46), Error);
}

}  // namespace weft::test
