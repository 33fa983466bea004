// Tests of bfloat16 numbers and tensors: rounding, conversions, the four strided loops, files.
#include <doctest/doctest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "op_table.h"
#include "pointwise/kernels/elementwise.h"
#include "temporary_folder.h"
#include "weft/context.h"
#include "weft/parameter_set.h"
#include "weft/safetensors.h"
#include "weft/update_rules.h"

namespace weft::test {
using namespace detail;

namespace {

bfloat16 of_bits(std::uint32_t bits) {
  bfloat16 x;
  x.bits = static_cast<std::uint16_t>(bits);
  return x;
}

std::uint32_t bits_of(float x) {
  std::uint32_t u;
  std::memcpy(&u, &x, sizeof u);
  return u;
}

float float_of(std::uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof x);
  return x;
}

// Returns the bits of the nearest bfloat16, with ties to even. It counts multiples of the spacing between the numbers
// near x.
std::uint32_t nearest(long double x) {
  const std::uint32_t sign = std::signbit(x) ? 0x8000 : 0;
  const long double magnitude = std::abs(x);
  if (magnitude == 0) return sign;
  const int spacing = std::max(std::ilogb(magnitude), -126) - 7;
  const long double rounded = std::ldexp(std::nearbyint(std::ldexp(magnitude, -spacing)), spacing);
  return sign | (rounded >= 0x1p128L ? 0x7f80 : bits_of(static_cast<float>(rounded)) >> 16);
}

// Returns the upper bits of a NaN, made quiet.
std::uint32_t kept_nan(std::uint32_t float_bits) { return float_bits >> 16 | 0x40; }

Tensor every_value() {
  std::vector<bfloat16> all;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) all.push_back(of_bits(bits));
  return Tensor::from(all, {65536});
}

}  // namespace

TEST_CASE("bf16: each of the 65536 numbers is unchanged after conversion to float and back") {
  // On i386, functions return a float in a register that makes a signaling NaN quiet.
  const bool makes_quiet = bits_of(float_of(0x7f800001)) == 0x7fc00001;
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float x = static_cast<float>(of_bits(bits));
    const std::uint32_t quiet = std::isnan(x) && makes_quiet ? 0x40 : 0;
    wrong += bits_of(x) != (bits | quiet) << 16;
    wrong += bfloat16(x).bits != (std::isnan(x) ? bits | 0x40 : bits);
    const volatile double wide = x;
    const volatile float narrow = static_cast<float>(wide);  // RISC-V drops the payload of a NaN
    wrong += bfloat16(wide).bits != (std::isnan(x) ? kept_nan(bits_of(narrow)) : bits);
  }
  CHECK(wrong == 0);
}

TEST_CASE("bf16: values between two numbers are rounded once to the nearest, ties to even") {
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    for (std::uint32_t low : {0x0001, 0x7fff, 0x8000, 0x8001, 0xffff}) {
      const float x = float_of(bits << 16 | low);
      wrong += bfloat16(x).bits != (std::isnan(x) ? kept_nan(bits_of(x)) : nearest(x));
      if (!std::isfinite(x)) continue;
      const double wide = x;  // closer to a tie than a float can show
      for (double y : {wide, std::nextafter(wide, INFINITY), std::nextafter(wide, -INFINITY)})
        wrong += bfloat16(y).bits != nearest(y);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("bf16: doubles outside the range of float, zeros, infinities and NaN") {
  const double least = std::numeric_limits<double>::denorm_min(), most = std::numeric_limits<double>::max();
  for (double x : {0.0, -0.0, least, -least, 0x1p-134, 0x1.00001p-134, -0x1.8p-133, 0x1p-149, 0x1p-150, most, -most,
                   0x1.fep127, 0x1.feffffp127, 0x1.ffp127, 0x1.fffffep127, 0x1.ffffffffp127, 0x1p128})
    CHECK(bfloat16(x).bits == nearest(x));
  CHECK(bfloat16(0x1.feffffffp127).bits == 0x7f7f);
  CHECK(bfloat16(0x1.ffp127).bits == 0x7f80);
  CHECK(bfloat16(double{INFINITY}).bits == 0x7f80);
  CHECK(bfloat16(-INFINITY).bits == 0xff80);
  CHECK(bfloat16(std::nan("")).bits == 0x7fc0);
  CHECK(bfloat16(float_of(0xff800001)).bits == 0xffc0);
}

TEST_CASE("bf16: whole numbers are rounded once") {
  std::size_t wrong = 0;
  for (int shift = 8; shift < 63; ++shift) {
    const std::int64_t one = std::int64_t{1} << shift, tie = one + (one >> 8);  // halfway between two bf16 numbers
    for (std::int64_t x : {one, tie, tie - 1, tie + 1, one + 3 * (one >> 8), one + 3 * (one >> 8) - 1})
      for (std::int64_t y : {x, -x}) wrong += bfloat16(y).bits != nearest(static_cast<long double>(y));
  }
  for (std::int64_t x : {std::int64_t{0}, std::int64_t{-1}, INT64_MAX, INT64_MIN, INT64_MIN + 1})
    wrong += bfloat16(x).bits != nearest(static_cast<long double>(x));
  CHECK(wrong == 0);
  CHECK(bfloat16(257).bits == bfloat16(256).bits);
}

TEST_CASE("bf16: kernels convert exactly like the type bfloat16, on every instruction set and for every length") {
  const Tensor all = every_value();
  // Adds each number to others, so that the sums have all kinds of lower bits, including ties.
  for (Isa isa : available_isas()) {
    CAPTURE(isa_name(isa));
    const auto add = kernels<ElementwiseKernels<bfloat16>>(isa).add;
    const std::vector<bfloat16> ones(64, bfloat16(1));
    std::vector<bfloat16> y(65536 + 1);
    std::size_t wrong = 0;
    for (float other : {0.f, 0x1p-8f, -0x1p-8f, 0x1.01p-8f, 0x1.fep-9f, 3.f, -0x1p-133f, 0x1.fep127f, -0x1p120f}) {
      const bfloat16 b(other);
      y.back().bits = 0x1234;
      add.scalar_right(all.data<bfloat16>(), &b, y.data(), 65536);
      CHECK(y.back().bits == 0x1234);
      for (std::uint32_t bits = 0; bits < 65536; ++bits)
        wrong += y[bits].bits != bfloat16(static_cast<float>(of_bits(bits)) + static_cast<float>(b)).bits;
    }
    const bfloat16 b(0x1p-8f);
    for (std::int64_t n = 0; n < 70; ++n) {
      const bfloat16* from = all.data<bfloat16>() + 0x3f80;
      for (bfloat16& v : y) v.bits = 0x1234;
      add.scalar_right(from, &b, y.data(), n);
      for (std::int64_t i = 0; i < 70; ++i)
        wrong += y[i].bits != (i < n ? bfloat16(static_cast<float>(from[i]) + 0x1p-8f).bits : 0x1234);
    }
    CHECK(wrong == 0);
    // An f32 NaN whose lower bits would carry into its sign if they were rounded.
    const volatile float one = 1;  // the processor multiplies: RISC-V drops the payload of a NaN
    const auto scale = kernels<ElementwiseKernels<bfloat16>>(isa).scale;
    for (std::uint32_t nan : {0x7fffffffu, 0xffffffffu, 0x7fc08000u})
      for (std::int64_t n : {1, 64}) {
        scale(ones.data(), float_of(nan), y.data(), n);
        for (std::int64_t i = 0; i < n; ++i) CHECK(y[i].bits == kept_nan(bits_of(one * float_of(nan))));
      }
  }
}

TEST_CASE("bf16: names, sizes and kinds of dtypes") {
  CHECK(dtype_name(DType::bf16) == std::string("bf16"));
  CHECK(dtype_size(DType::bf16) == 2);
  CHECK(dtype_of<bfloat16>::value == DType::bf16);
  CHECK(real_of(DType::bf16) == DType::bf16);
  CHECK(computed_of(DType::bf16) == DType::f32);
  for (DType dtype : {DType::f32, DType::f64, DType::c64, DType::c128, DType::i64}) {
    CHECK(computed_of(dtype) == dtype);
    CHECK(is_floating(dtype) == is_real(dtype));
  }
  CHECK(is_floating(DType::bf16));
  CHECK_FALSE(is_real(DType::bf16));
  CHECK_FALSE(is_complex(DType::bf16));
}

TEST_CASE("bf16: tensors are created, filled, read, copied and summed") {
  Tensor x = Tensor::full({3, 5}, 1.0 + 0x1p-8 + 0x1p-40, DType::bf16);  // a double close to a tie
  CHECK(x.dtype() == DType::bf16);
  CHECK(x.storage().use_count() == 1);
  CHECK(x.to_vector<bfloat16>()[14].bits == 0x3f81);
  CHECK(Tensor::scalar(-0.1, DType::bf16).item() == -0x1.9ap-4);
  CHECK(Tensor::zeros({2}, DType::bf16).to_vector<bfloat16>()[1].bits == 0);
  CHECK_THROWS_WITH_AS(x.data<float>(), "[tensor] elements of dtype f32 were requested, but the tensor has dtype bf16",
                       Error);
  raw::fill(x, 1e40);
  CHECK(std::isinf(static_cast<float>(x.data<bfloat16>()[0])));

  std::vector<bfloat16> values;
  for (int i = 0; i < 6; ++i) values.push_back(bfloat16(i));
  const Tensor rows = Tensor::from(values, {2, 3}), columns = rows.view({3, 2}, {1, 3}, 0);
  std::vector<float> seen;
  for (bfloat16 v : columns.to_vector<bfloat16>()) seen.push_back(static_cast<float>(v));
  CHECK(seen == std::vector<float>{0, 3, 1, 4, 2, 5});

  // 256 + 1 is a tie, because each addition is rounded.
  Tensor sum = Tensor::full({40}, 256, DType::bf16);
  raw::accumulate(sum, Tensor::full({40}, 1, DType::bf16));
  raw::accumulate(sum, Tensor::full({40}, 3, DType::bf16));
  for (bfloat16 v : sum.to_vector<bfloat16>()) CHECK(static_cast<float>(v) == 260);
}

TEST_CASE("bf16: tensors are converted with one rounding, for any length, layout and number of threads") {
  const Random random(3);
  for (std::int64_t n : {0, 1, 7, 16, 33, 1009, 200003}) {
    const Tensor wide = random.normal({n}, 0, 1e3, DType::f64), narrow = raw::convert(wide, DType::f32);
    const Tensor from_wide = raw::convert(wide, DType::bf16), from_narrow = raw::convert(narrow, DType::bf16);
    std::size_t wrong = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      wrong += from_wide.data<bfloat16>()[i].bits != nearest(wide.data<double>()[i]);
      wrong += from_narrow.data<bfloat16>()[i].bits != nearest(narrow.data<float>()[i]);
    }
    CHECK(wrong == 0);
    CHECK(same_bits(raw::convert(raw::convert(from_wide, DType::f32), DType::bf16), from_wide));
    CHECK(same_bits(raw::convert(raw::convert(from_wide, DType::f64), DType::bf16), from_wide));
    for (int threads : {1, 2, 3}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      CHECK(same_bits(raw::convert(narrow, DType::bf16), from_narrow));
      CHECK(same_bits(raw::convert(from_narrow, DType::f32), raw::convert(from_narrow, DType::f32)));
    }
  }
  const Tensor x = random.normal({5, 7}, 0, 1), turned = x.view({7, 5}, {1, 7}, 0);
  CHECK(same_bits(raw::convert(turned, DType::bf16), raw::convert(raw::contiguous(turned), DType::bf16)));
  CHECK(same_bits(raw::convert(raw::convert(turned, DType::bf16).view({5, 7}, {1, 5}, 0), DType::f32),
                  raw::convert(raw::convert(x, DType::bf16), DType::f32)));

  const Tensor all = every_value(), again = raw::convert(raw::convert(all, DType::f32), DType::bf16);
  std::size_t wrong = 0;
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const bool is_nan = std::isnan(static_cast<float>(of_bits(bits)));
    wrong += again.data<bfloat16>()[bits].bits != (is_nan ? bits | 0x40 : bits);
  }
  CHECK(wrong == 0);
}

TEST_CASE("bf16: conversion from and to whole and complex numbers") {
  const Tensor whole =
      Tensor::from<std::int64_t>({257, -259, (std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1}, {3});
  CHECK(raw::convert(raw::convert(whole, DType::bf16), DType::f64).to_vector<double>() ==
        std::vector<double>{256, -260, 0x1.02p60});
  const Tensor x = Tensor::full({2}, 1.5, DType::bf16);
  CHECK(raw::convert(x, DType::c64).to_vector<std::complex<float>>()[1] == std::complex<float>(1.5f, 0));
  CHECK(raw::convert(x, DType::c128).to_vector<std::complex<double>>()[0] == std::complex<double>(1.5, 0));
  CHECK_THROWS_WITH_AS(raw::convert(x, DType::i64), "[convert] bf16 can't be converted to i64", Error);
  CHECK_THROWS_WITH_AS(raw::convert(Tensor::zeros({2}, DType::c64), DType::bf16),
                       "[convert] c64 can't be converted to bf16", Error);
}

TEST_CASE("bf16: files preserve its bits, mapped or copied, next to tensors with other element sizes") {
  const TemporaryFolder folder;
  const Tensor all = every_value(), odd = Tensor::full({3}, 0.3, DType::bf16);
  save_safetensors(folder / "a", {{"odd", odd},
                                  {"all", all},
                                  {"f32", Tensor::full({5}, 2)},
                                  {"empty", Tensor::empty({0, 4}, DType::bf16)},
                                  {"turned", all.view({256, 256}, {1, 256}, 0)}});
  const SafetensorsFile file(folder / "a");
  CHECK(file.stored_dtype("odd") == "BF16");
  for (Load how : {Load::map, Load::copy}) {
    CHECK(same_bits(file.load("odd", how), odd));
    CHECK(same_bits(file.load("all", how), all));
    CHECK(same_bits(file.load("f32", how), Tensor::full({5}, 2)));
    CHECK(same_bits(file.load("empty", how), Tensor::empty({0, 4}, DType::bf16)));
    CHECK(same_bits(file.load("turned", how), raw::contiguous(all.view({256, 256}, {1, 256}, 0))));
  }
  CHECK(file.load("odd").raw() == file.load("odd").raw());
}

TEST_CASE("bf16: parameters may be bf16, but are not trained") {
  const Parameter table(Tensor::full({3, 2}, 1, DType::bf16));
  ParameterSet set({{"table", table}});
  Tensor state = Tensor::zeros(set.values().shape(), DType::bf16), second = state;
  CHECK_THROWS_WITH_AS(
      sgd(set.values(), set.gradients(), state, 1, {}),
      "[sgd] expected an f32 or f64 tensor, got a bf16 tensor of shape (32,); cast(x, DType::f32) converts x", Error);
  CHECK_THROWS_WITH_AS(
      adamw(set.values(), set.gradients(), state, second, 1, {}),
      "[adamw] expected an f32 or f64 tensor, got a bf16 tensor of shape (32,); cast(x, DType::f32) converts x", Error);
}

TEST_CASE("bf16: operations without bf16 name the dtypes that they accept") {
  const Tensor x = Tensor::full({2, 2}, 1, DType::bf16), f32 = Tensor::full({2, 2}, 1);
  CHECK_THROWS_WITH_AS(
      rfft(x),
      "[rfft] expected an f32 or f64 tensor, got a bf16 tensor of shape (2, 2); cast(x, DType::f32) converts x", Error);
  CHECK_THROWS_WITH_AS(fft(x), "[fft] expected an f32, f64, c64 or c128 tensor, got a bf16 tensor of shape (2, 2)",
                       Error);
  CHECK_THROWS_WITH_AS(complex(x, x),
                       doctest::Contains("[complex] expected an f32 or f64 tensor, got a bf16 tensor of shape (2, 2)"),
                       Error);
  CHECK_THROWS_WITH_AS(real(x), "[real] expected a c64 or c128 tensor, got a bf16 tensor of shape (2, 2)", Error);
  CHECK_THROWS_WITH_AS(
      add(x, f32),
      "[add] expected operands of the same dtype, got a bf16 tensor of shape (2, 2) and an f32 tensor of shape (2, 2)",
      Error);
  CHECK_THROWS_WITH_AS(
      layer_norm(x, 1, Tensor::full({2}, 1, DType::bf16), {}),
      "[layer_norm] expected weight to be an f32 tensor of shape (2,) for a bf16 x, got a bf16 tensor of shape (2,)",
      Error);
  CHECK_THROWS_WITH_AS(layer_norm(f32, 1, {}, Tensor::full({2}, 1, DType::bf16)),
                       "[layer_norm] expected bias to be an f32 tensor of shape (2,), got a bf16 tensor of shape (2,)",
                       Error);
  CHECK_THROWS_WITH_AS(
      circulant_product(Tensor::full({1, 2, 2}, 1, DType::bf16), x),
      "[circulant_product] expected coefficients of dtype f32 for a bf16 x, got a bf16 tensor of shape (2, 2)", Error);
  CHECK_THROWS_WITH_AS(cast(x, DType::i64), "[cast] expected dtype bf16, f32 or f64, got i64", Error);
  CHECK_THROWS_WITH_AS(Random(1).normal({2}, 0, 1, DType::bf16), "[normal] expected f32 or f64, got bf16", Error);
}

}  // namespace weft::test
