#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "op_table.h"
#include "sweep.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using Ins = const std::vector<Tensor>&;

// Computes y_i = Σ_j t_(i-j) x_j in long double.
Tensor plain_toeplitz(const Tensor& x, const Tensor& t, bool causal) {
  const std::int64_t b = x.size(0), h = x.size(1), n = x.size(2), d = x.size(3);
  const std::int64_t lags = t.size(1), before = causal ? 0 : n - 1;
  const auto px = x.to_vector<double>(), pt = t.to_vector<double>();
  std::vector<double> y;
  for (std::int64_t row = 0; row < b * h; ++row)
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t c = 0; c < d; ++c) {
        long double sum = 0;
        for (std::int64_t j = 0; j < (causal ? i + 1 : n); ++j)
          sum += static_cast<long double>(pt[static_cast<std::size_t>((row % h * lags + before + i - j) * d + c)]) *
                 px[static_cast<std::size_t>((row * n + j) * d + c)];
        y.push_back(static_cast<double>(sum));
      }
  return Tensor::from(y, x.shape());
}

// Computes a circulant product as a Toeplitz product. The n coefficients c become 2n-1 coefficients, in which the
// negative lags have c_1 … c_(n-1).
Tensor plain_circulant(const Tensor& x, const Tensor& c) {
  const std::int64_t b = x.size(0), n = x.size(1), d = x.size(2);
  const Tensor t = reshape(concat({slice(c, 0, 1, n), c}, 0), {1, 2 * n - 1, d});
  return reshape(plain_toeplitz(reshape(x, {b, 1, n, d}), t, false), x.shape());
}

constexpr ToeplitzForm forms[] = {ToeplitzForm::naive, ToeplitzForm::matrix, ToeplitzForm::ring};
const char* form_name(ToeplitzForm form) {
  constexpr const char* names[] = {"automatic", "naive", "matrix", "ring"};
  return names[static_cast<int>(form)];
}

In coefficients(const Shape& x, bool causal) { return {{x[1], causal ? x[2] : 2 * x[2] - 1, x[3]}}; }

OpCase toeplitz_case(const std::string& name, const Shape& x, bool causal, ToeplitzForm form) {
  return {"toeplitz_product " + name + (causal ? ", causal, " : ", ") + form_name(form),
          {{x}, coefficients(x, causal)},
          [=](Ins in) { return toeplitz_product(in[0], in[1], causal, form); },
          [=](Ins in) { return plain_toeplitz(in[0], in[1], causal); }};
}
OpCase circulant_case(const std::string& name, const Shape& x) {
  return {"circulant_product " + name,
          {{x}, {{x[1], x[2]}}},
          [](Ins in) { return circulant_product(in[0], in[1]); },
          [](Ins in) { return plain_circulant(in[0], in[1]); }};
}

const OpCases naive_cases{
    toeplitz_case("", {2, 1, 11, 3}, false, ToeplitzForm::naive),
    toeplitz_case("", {2, 1, 11, 3}, true, ToeplitzForm::naive),
    toeplitz_case("of heads", {3, 2, 8, 5}, false, ToeplitzForm::naive),
    toeplitz_case("of heads", {2, 3, 9, 7}, true, ToeplitzForm::naive),
    toeplitz_case("of one", {2, 2, 1, 3}, false, ToeplitzForm::naive),
};
const OpCases matrix_cases{
    toeplitz_case("", {2, 1, 11, 3}, false, ToeplitzForm::matrix),
    toeplitz_case("", {2, 1, 11, 3}, true, ToeplitzForm::matrix),
    toeplitz_case("of heads", {2, 2, 5, 3}, true, ToeplitzForm::matrix),
    toeplitz_case("of one", {2, 2, 1, 3}, true, ToeplitzForm::matrix),
};
const OpCases ring_cases{
    toeplitz_case("", {2, 1, 11, 3}, false, ToeplitzForm::ring),
    toeplitz_case("", {2, 1, 11, 3}, true, ToeplitzForm::ring),
    toeplitz_case("of heads", {3, 2, 8, 5}, false, ToeplitzForm::ring),
    toeplitz_case("of heads", {2, 3, 9, 7}, true, ToeplitzForm::ring),
    toeplitz_case("of one", {2, 2, 1, 3}, false, ToeplitzForm::ring),
    toeplitz_case("of no rows", {0, 2, 4, 3}, false, ToeplitzForm::ring),
    toeplitz_case("of no rows", {0, 2, 4, 3}, true, ToeplitzForm::automatic),
    toeplitz_case("of no channels", {2, 2, 4, 0}, true, ToeplitzForm::automatic),
    circulant_case("", {2, 12, 3}),
    circulant_case("of many channels", {1, 5, 37}),
    circulant_case("of a large prime", {2, 17, 3}),
    circulant_case("of one", {2, 1, 3}),
    circulant_case("of no rows", {0, 4, 3}),
};

Tensor in_dtype(const Tensor& x, DType dtype) { return dtype == DType::f64 ? x : raw::convert(x, dtype); }

}  // namespace

TEST_CASE("toeplitz: the three forms agree with the definition for every length, on every instruction set") {
  for (std::int64_t n = 1; n <= 300; n += n < sweep(70, 20) ? 1 : 23)
    for (bool causal : {false, true}) {
      const Shape shape{1, 1, n, 3};
      const Tensor x = random_tensor({shape}, 1), t = random_tensor(coefficients(shape, causal), 2);
      const Tensor want = plain_toeplitz(x, t, causal);
      const double size = std::max(1.0, max_abs(want));
      for (Isa isa : available_isas()) {
        Context context;
        context.set_isa(isa);
        ContextScope scope(context);
        for (ToeplitzForm form : forms) {
          CAPTURE(n);
          CAPTURE(std::string(form_name(form)));
          CHECK(max_difference(toeplitz_product(x, t, causal, form), want) <= 1e-14 * size);
          CHECK(max_difference(toeplitz_product(to_single(x), to_single(t), causal, form), want) <= 3e-6 * size);
        }
      }
    }
}

TEST_CASE("toeplitz: gradients of the three forms agree, also with many channels") {
  for (std::int64_t n : {63, 100}) {
    const Shape shape{3, 2, n, 21};
    for (bool causal : {false, true}) {
      const std::vector<Tensor> in{random_tensor({shape}, 1), random_tensor(coefficients(shape, causal), 2)};
      const auto run = [&](ToeplitzForm form, std::vector<bool> needs) {
        return differentiate([=](Ins v) { return toeplitz_product(v[0], v[1], causal, form); }, in, needs);
      };
      const Differentiated want = run(ToeplitzForm::naive, {true, true});
      CHECK(max_difference(want.y, plain_toeplitz(in[0], in[1], causal)) <= 1e-12);
      for (ToeplitzForm form : forms) {
        const Differentiated both = run(form, {true, true}), x = run(form, {true, false}), t = run(form, {false, true});
        CHECK(max_difference(both.gradients[0], want.gradients[0]) <= 1e-12);
        CHECK(max_difference(x.gradients[0], want.gradients[0]) <= 1e-12);
        CHECK(max_difference(both.gradients[1], want.gradients[1]) <= 1e-12);
        CHECK(max_difference(t.gradients[1], want.gradients[1]) <= 1e-12);
      }
    }
  }
}

TEST_CASE("toeplitz: exact causality, and independence of rows and channels") {
  const Shape shape{2, 1, 40, 19};
  const double inf = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor x = random_tensor({shape}, 1), t = in_dtype(random_tensor(coefficients(shape, true), 2), dtype);
    for (ToeplitzForm form : forms) {
      const Tensor want = toeplitz_product(in_dtype(x, dtype), t, true, form);
      const auto changed = [&](double value, std::int64_t at) {
        Tensor moved = raw::convert(x, DType::f64);
        moved.mutable_data<double>()[at * 19 + 7] = value;  // element `at` of channel 7 of row 0
        return toeplitz_product(in_dtype(moved, dtype), t, true, form);
      };
      const Tensor finite = changed(1000, 25), loud = changed(std::nan(""), 25), louder = changed(inf, 0);
      for (const Tensor& y : {finite, loud, louder}) {
        CHECK(same_bits(slice(y, 0, 1, 2), slice(want, 0, 1, 2)));
        CHECK(same_bits(slice(y, 3, 0, 7), slice(want, 3, 0, 7)));
        CHECK(same_bits(slice(y, 3, 8, 19), slice(want, 3, 8, 19)));
      }
      if (form != ToeplitzForm::ring) CHECK(same_bits(slice(finite, 2, 0, 25), slice(want, 2, 0, 25)));
      else CHECK(max_difference(slice(finite, 2, 0, 25), slice(want, 2, 0, 25)) <= 1e-6 * 1000);
      if (form == ToeplitzForm::naive) CHECK(same_bits(slice(loud, 2, 0, 25), slice(want, 2, 0, 25)));
      const Tensor reached = slice(slice(slice(loud, 0, 0, 1), 2, 39, 40), 3, 7, 8);
      CHECK(std::isnan(raw::contiguous(reached).item()));
    }
  }
}

// If all coefficients and inputs are 1, y_i = i + 1. If the first half of x is zero, so is the first half of y.
TEST_CASE("toeplitz: transforms of a long sequence leak little into the past") {
  const std::int64_t n = 16384, d = 3, half = n / 2;
  std::vector<double> sums;
  for (std::int64_t k = 0; k < n * d; ++k) sums.push_back(static_cast<double>(k / d + 1));
  const Tensor want = Tensor::from(sums, {1, 1, n, d}), zeros = Tensor::zeros({1, 1, half, d});
  const Tensor ones = Tensor::full({1, 1, n, d}, 1), t = Tensor::full({1, n, d}, 1);
  const Tensor late = concat({zeros, Tensor::full({1, 1, half, d}, 1)}, 2);
  const double size = static_cast<double>(n);  // ‖t‖₂ ‖x‖₂ if all elements are 1
  for (DType dtype : {DType::f32, DType::f64}) {
    const double bound = dtype == DType::f32 ? 4e-7 : 8e-16;
    const auto product = [&](const Tensor& x) {
      return toeplitz_product(raw::convert(x, dtype), raw::convert(t, dtype), true, ToeplitzForm::ring);
    };
    CHECK(max_difference(product(ones), want) <= bound * size);
    CHECK(max_difference(slice(product(late), 2, 0, half), zeros) <= bound * size / std::sqrt(2.0));
  }
}

TEST_CASE("toeplitz: prepared coefficients give the same bits and gradients") {
  const Shape shape{2, 2, 20, 9};
  for (ToeplitzForm form : {ToeplitzForm::naive, ToeplitzForm::matrix, ToeplitzForm::ring, ToeplitzForm::automatic})
    for (bool causal : {false, true}) {
      Tensor x = to_single(random_tensor({shape}, 1)), t = to_single(random_tensor(coefficients(shape, causal), 2));
      const auto by = [&](bool prepared) {
        return differentiate(
            [=](Ins in) {
              if (!prepared) return toeplitz_product(in[0], in[1], causal, form);
              return toeplitz_product(in[0], ToeplitzCoefficients(in[1], causal, 2, form));
            },
            {x, t}, {true, true});
      };
      const Differentiated plain = by(false), ready = by(true);
      CHECK(same_bits(plain.y, ready.y));
      for (std::size_t i : {0, 1}) CHECK(same_bits(plain.gradients[i], ready.gradients[i]));
      const ToeplitzCoefficients kept(t, causal, 2, form);
      for (Isa isa : available_isas()) {  // a different instruction set recomputes the spectra
        Context context;
        context.set_isa(isa);
        ContextScope scope(context);
        CHECK(same_bits(toeplitz_product(x, kept), toeplitz_product(x, t, causal, form)));
      }
      (void)t.mutable_data<float>();
      CHECK_THROWS_WITH_AS(toeplitz_product(x, kept),
                           "[toeplitz_product] the coefficients were written after their spectra were computed", Error);
    }
}

TEST_CASE("toeplitz: the form is chosen by cost") {
  CHECK(toeplitz_form(8, 1, 4, 512, false) == ToeplitzForm::naive);
  CHECK(toeplitz_form(8, 1, 4096, 512, false) == ToeplitzForm::ring);
  CHECK(toeplitz_form(8, 1, std::int64_t{1} << 40, 512, true) == ToeplitzForm::ring);
  CHECK_THROWS_AS(toeplitz_form(8, 1, 0, 512, true), Error);
  const Shape shape{2, 1, 16, 5};
  const Tensor x = random_tensor({shape}, 1), t = random_tensor(coefficients(shape, true), 2);
  CHECK(same_bits(toeplitz_product(x, t, true), toeplitz_product(x, t, true, toeplitz_form(2, 1, 16, 5, true))));
}

TEST_CASE("toeplitz: errors name the operation and the shapes") {
  const Tensor x = Tensor::zeros({2, 3, 4, 5});
  CHECK_THROWS_WITH_AS(
      toeplitz_product(x, Tensor::zeros({3, 6, 5}), false),
      "[toeplitz_product] expected x of shape (b, h, n, d) with n >= 1 and t of shape (h, 2n-1, d), got "
      "an f32 tensor of shape (2, 3, 4, 5) and an f32 tensor of shape (3, 6, 5)",
      Error);
  CHECK_THROWS_WITH_AS(toeplitz_product(x, Tensor::zeros({3, 7, 5}), true),
                       "[toeplitz_product] expected x of shape (b, h, n, d) with n >= 1 and t of shape (h, n, d), got "
                       "an f32 tensor of shape (2, 3, 4, 5) "
                       "and an f32 tensor of shape (3, 7, 5)",
                       Error);
  CHECK_THROWS_AS(toeplitz_product(Tensor::zeros({2, 3, 0, 5}), Tensor::zeros({3, 0, 5}), true), Error);
  CHECK_THROWS_AS(toeplitz_product(Tensor::zeros({3, 4, 5}), Tensor::zeros({3, 4, 5}), true), Error);
  CHECK_THROWS_AS(toeplitz_product(x, Tensor::zeros({3, 4, 5}, DType::f64), true), Error);
  const DType c64 = DType::c64;
  CHECK_THROWS_AS(toeplitz_product(Tensor::zeros({1, 1, 2, 1}, c64), Tensor::zeros({1, 2, 1}, c64), true), Error);
  CHECK_THROWS_AS(toeplitz_product(x, Tensor(), true), Error);
  CHECK_THROWS_AS(ToeplitzCoefficients(Tensor::zeros({1, 4, 2}), false), Error);
  CHECK_THROWS_AS(ToeplitzCoefficients(Tensor::zeros({4, 2}), true), Error);
  CHECK_THROWS_WITH_AS(circulant_product(Tensor::zeros({2, 4, 5}), Tensor::zeros({5, 4})),
                       "[circulant_product] expected x of shape (b, n, d) with n >= 1 and c of shape (n, d), got an "
                       "f32 tensor of shape (2, 4, 5) "
                       "and an f32 tensor of shape (5, 4)",
                       Error);
  CHECK_THROWS_AS(circulant_product(Tensor::zeros({2, 0, 5}), Tensor::zeros({0, 5})), Error);
  CHECK_THROWS_AS(circulant_product(x, Tensor::zeros({4, 5})), Error);
  const std::int64_t n = std::int64_t{1} << 45;
  const Tensor one = Tensor::zeros({1});
  for (ToeplitzForm form : {ToeplitzForm::automatic, ToeplitzForm::naive, ToeplitzForm::matrix, ToeplitzForm::ring})
    CHECK_THROWS_AS(toeplitz_product(expand(one, {1, 1, n, 1}), expand(one, {1, n, 1}), true, form), Error);
  CHECK_THROWS_AS(circulant_product(expand(one, {1, n, 1}), expand(one, {n, 1})), Error);
}

}  // namespace weft::test
