// Tests of properties that follow from the definitions of transforms, Toeplitz products and Fourier mixing.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "spectral_support.h"
#include "sweep.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using std::int64_t;

constexpr DType real_types[] = {DType::f32, DType::f64};

Tensor real_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  return raw::convert(random_tensor({shape}, seed), dtype);
}
Tensor complex_tensor(const Shape& shape, std::uint64_t seed, DType dtype = DType::f64) {
  const Tensor x = random_tensor(complex_in(shape), seed);
  return dtype == DType::f64 ? x : to_single(x);
}
double growth(DType dtype, int64_t n) { return dtype == DType::f64 ? error_growth<double>(n) : error_growth<float>(n); }
// The bound on a transform's error, in units of error_growth, as in lengths.cpp.
constexpr double transform_bound = 2;

// exp(-2πi shift k/n), (n, 1)
Tensor modulation(int64_t n, int64_t shift) {
  const std::vector<Wide> roots = unit_roots(n);
  std::vector<std::complex<double>> values;
  for (int64_t k = 0; k < n; ++k) values.emplace_back(std::conj(roots[static_cast<std::size_t>(shift * k % n)]));
  return Tensor::from(values, {n, 1});
}

double energy(const Tensor& x) {
  long double sum = 0;
  for (const auto& z : raw::convert(x, DType::c128).to_vector<std::complex<double>>()) sum += std::norm(Wide(z));
  return static_cast<double>(sum);
}

// y_kl = Σ_s Σ_h x_sh cos(2π(sk/n + hl/d)), for x (n, d).
Tensor direct_mix(const Tensor& x) {
  const int64_t n = x.size(0), d = x.size(1);
  const std::vector<Wide> roots = unit_roots(n * d);
  const auto v = raw::convert(x, DType::f64).to_vector<double>();
  std::vector<double> y;
  for (int64_t k = 0; k < n; ++k)
    for (int64_t l = 0; l < d; ++l) {
      long double sum = 0;
      for (int64_t s = 0; s < n; ++s)
        for (int64_t h = 0; h < d; ++h)
          sum += v[static_cast<std::size_t>(s * d + h)] *
                 roots[static_cast<std::size_t>((s * k * d + h * l * n) % (n * d))].real();
      y.push_back(static_cast<double>(sum));
    }
  return Tensor::from(y, {n, d});
}

Tensor row(const Tensor& x, int64_t batch) { return raw::contiguous(slice(x, 0, batch, batch + 1)); }
Tensor channel(const Tensor& x, int64_t c) { return raw::contiguous(slice(x, -1, c, c + 1)); }

// The Toeplitz product, and its gradients for the cotangent dy.
struct Products {
  Tensor y, dx, dt;
};
Products products(const Tensor& x, const Tensor& t, const Tensor& dy, bool causal, ToeplitzForm form) {
  Tape tape;
  const Tensor leaf_x = tape.watch(x), leaf_t = tape.watch(t);
  const Tensor y = toeplitz_product(leaf_x, leaf_t, causal, form);
  Gradients gradients;
  tape.backward(y, dy, gradients);
  return {y.detach(), gradients.of(leaf_x), gradients.of(leaf_t)};
}

Shape lags(const Shape& x, bool causal) { return {x[1], causal ? x[2] : 2 * x[2] - 1, x[3]}; }

// Returns x with row 0 multiplied by a factor.
Tensor with_loud_row(const Tensor& x, double factor) {
  return concat({scale(slice(x, 0, 0, 1), factor), slice(x, 0, 1, x.size(0))}, 0);
}
// Returns a copy of the contiguous tensor x with one element replaced. In a complex tensor, only the real part of the
// element is replaced.
Tensor with_element(const Tensor& x, int64_t at, double value) {
  const bool is_complex = x.dtype() == DType::c64 || x.dtype() == DType::c128;
  Tensor y = raw::convert(scale(x, 1), is_complex ? DType::c128 : DType::f64);
  if (is_complex) y.mutable_data<std::complex<double>>()[at].real(value);
  else y.mutable_data<double>()[at] = value;
  return raw::convert(y, x.dtype());
}

// Compares y and want (a, b, c). Returns whether they differ in the line along dim that contains position `at`, and
// have the same bits everywhere else.
bool differ_in_line_of(int64_t at, const Tensor& x, int64_t dim, const Tensor& y, const Tensor& want) {
  const int64_t other = 3 - dim;
  const int64_t place[] = {at / x.strides()[0], at / x.size(2) % x.size(1), at % x.size(2)};
  const auto line = [=](const Tensor& v, int64_t b, int64_t k) {
    return raw::contiguous(slice(slice(v, 0, b, b + 1), other, k, k + 1));
  };
  for (int64_t b = 0; b < y.size(0); ++b)
    for (int64_t k = 0; k < y.size(other); ++k)
      if (same_bits(line(y, b, k), line(want, b, k)) == (b == place[0] && k == place[other])) return false;
  return true;
}

}  // namespace

TEST_CASE("spectral: linearity, shift to modulation, Parseval, round trip for random lengths") {
  const Random random(11);
  for (int64_t i = 0; i < sweep(24, 8); ++i) {
    const auto n = 1 + static_cast<int64_t>(random.uniform(2 * i) * (i % 4 == 3 ? 4096 : 700));
    const auto shift = static_cast<int64_t>(random.uniform(2 * i + 1) * static_cast<double>(n));
    CAPTURE(n);
    for (DType dtype : real_types) {
      const double bound = transform_bound * growth(dtype, n);
      const Tensor x = complex_tensor({n, 5}, 1, dtype), z = complex_tensor({n, 5}, 2, dtype);
      const Tensor y = fft(x, 0), r = real(x);
      CHECK(relative_l2(fft(sub(scale(x, 3), z), 0), sub(scale(y, 3), fft(z, 0))) <= 2 * bound);
      CHECK(relative_l2(fft(concat({slice(x, 0, n - shift, n), slice(x, 0, 0, n - shift)}, 0), 0),
                        mul(raw::convert(y, DType::c128), modulation(n, shift))) <= 2 * bound);
      CHECK(std::abs(energy(y) / (static_cast<double>(n) * energy(x)) - 1) <= 2 * bound);
      for (int64_t dim : {0, 1}) {
        const Tensor v = dim == 0 ? x : raw::contiguous(transpose(x, 0, 1)), w = dim == 0 ? r : real(v);
        for (FftNorm norm : {FftNorm::backward, FftNorm::ortho, FftNorm::forward}) {
          CHECK(relative_l2(ifft(fft(v, dim, norm), dim, norm), v) <= 2 * bound);
          CHECK(relative_l2(irfft(rfft(w, dim, norm), n, dim, norm), w) <= 2 * bound);
        }
      }
    }
  }
}

TEST_CASE("spectral: gradients of irfft along rows equal those along columns, also for lengths that take four steps") {
  for (const int64_t n : {12, 100, 256, 512, 1024, 4096})
    for (DType dtype : real_types) {
      CAPTURE(n);
      const Tensor x = complex_tensor({2, n / 2 + 1}, 1, dtype), dy = real(complex_tensor({2, n}, 2, dtype));
      const auto gradient = [n](const Tensor& bins, const Tensor& cotangent, int64_t dim) {
        Tape tape;
        const Tensor leaf = tape.watch(bins);
        Gradients gradients;
        tape.backward(irfft(leaf, n, dim), cotangent, gradients);
        return gradients.of(leaf);
      };
      const auto turned = [](const Tensor& t) { return raw::contiguous(transpose(t, 0, 1)); };
      const Tensor rows = gradient(x, dy, 1), columns = turned(gradient(turned(x), turned(dy), 0));
      CHECK(relative_l2(rows, columns) <= 2 * transform_bound * growth(dtype, n));
    }
}

TEST_CASE("spectral: Toeplitz products by transforms equal the naive form, with both gradients") {
  for (const Shape& shape : {Shape{1, 1, 97, 5},
                             {1, 3, 128, 16},
                             {5, 1, 129, 19},
                             {2, 3, 255, 7},
                             {3, 1, 509, 3},
                             {1, 2, 500, 33},
                             {4, 2, 2, 9},
                             {2, 1, 1, 17}})
    for (bool causal : {false, true}) {
      const int64_t n = shape[2];
      const Tensor x = to_single(real_tensor(shape, 1)), t = to_single(real_tensor(lags(shape, causal), 2));
      const Tensor dy = to_single(real_tensor(shape, 3));
      const auto in = [](const Tensor& v, DType dtype) { return raw::convert(v, dtype); };
      const DType f64 = DType::f64;
      const Products want = products(in(x, f64), in(t, f64), in(dy, f64), causal, ToeplitzForm::naive);
      for (Isa isa : available_isas())
        for (DType dtype : real_types) {
          CAPTURE(to_string(shape));
          CAPTURE(std::string(isa_name(isa)));
          Context context;
          context.set_isa(isa);
          ContextScope scope(context);
          const Products got = products(in(x, dtype), in(t, dtype), in(dy, dtype), causal, ToeplitzForm::ring);
          const double bound = 2 * transform_bound * growth(dtype, 2 * n);
          CHECK(relative_l2(got.y, want.y) <= bound);
          CHECK(relative_l2(got.dx, want.dx) <= bound);
          CHECK(relative_l2(got.dt, want.dt) <= bound);
        }
    }
}

TEST_CASE("spectral: a row that is 2^20 times larger at most doubles the error of the other rows") {
  const double loud = 1 << 20;
  const Shape shape{4, 1, 150, 21};
  const Tensor x = to_single(real_tensor(shape, 1)), dy = to_single(real_tensor(shape, 3));
  const Tensor f64_x = raw::convert(x, DType::f64), f64_dy = raw::convert(dy, DType::f64);
  for (bool causal : {false, true}) {
    const Tensor t = to_single(real_tensor(lags(shape, causal), 2));
    const Products want = products(f64_x, raw::convert(t, DType::f64), f64_dy, causal, ToeplitzForm::naive);
    const Products calm = products(x, t, dy, causal, ToeplitzForm::ring);
    const Products noisy = products(with_loud_row(x, loud), t, with_loud_row(dy, loud), causal, ToeplitzForm::ring);
    for (int64_t b = 1; b < shape[0]; ++b) {
      CHECK(relative_l2(row(noisy.y, b), row(want.y, b)) <= 2 * relative_l2(row(calm.y, b), row(want.y, b)));
      CHECK(relative_l2(row(noisy.dx, b), row(want.dx, b)) <= 2 * relative_l2(row(calm.dx, b), row(want.dx, b)));
    }
  }
  const auto check_rows = [&](const auto& f) {
    const Tensor rows = reshape(x, {4, 150, 21}), want = f(raw::convert(rows, DType::f64));
    const Tensor calm = f(rows), noisy = f(with_loud_row(rows, loud));
    for (int64_t b = 1; b < 4; ++b)
      CHECK(relative_l2(row(noisy, b), row(want, b)) <= 2 * relative_l2(row(calm, b), row(want, b)));
  };
  check_rows([](const Tensor& v) { return fourier_mix(v, 1, 2); });
  for (int64_t dim : {1, 2}) {
    check_rows([=](const Tensor& v) { return rfft(v, dim); });
    check_rows([=](const Tensor& v) { return fft(v, dim); });
  }
}

TEST_CASE("spectral: NaN and infinity affect only their row and channel, forward and in the gradient for x") {
  const Shape shape{3, 2, 50, 19};
  const int64_t n = shape[2], d = shape[3], at = (n + 25) * d + 7;  // in row 0, head 1, channel 7
  for (DType dtype : real_types)
    for (ToeplitzForm form : {ToeplitzForm::naive, ToeplitzForm::matrix, ToeplitzForm::ring})
      for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        const Tensor x = real_tensor(shape, 1, dtype), t = real_tensor(lags(shape, false), 2, dtype);
        const Tensor dy = real_tensor(shape, 3, dtype);
        const Products want = products(x, t, dy, false, form);
        const Products bad_x = products(with_element(x, at, bad), t, dy, false, form);
        const Products bad_dy = products(x, t, with_element(dy, at, bad), false, form);
        CHECK(same_bits(bad_x.dx, want.dx));
        CHECK(same_bits(bad_dy.y, want.y));
        const Tensor pairs[][2] = {{bad_x.y, want.y}, {bad_dy.dx, want.dx}};
        for (const auto& [got, calm] : pairs) {
          for (int64_t b = 1; b < 3; ++b) CHECK(same_bits(row(got, b), row(calm, b)));
          CHECK(same_bits(slice(row(got, 0), 1, 0, 1), slice(row(calm, 0), 1, 0, 1)));
          for (int64_t c = 0; c < d; ++c) CHECK(same_bits(channel(got, c), channel(calm, c)) == (c != 7));
        }
        for (const Tensor& dt : {bad_x.dt, bad_dy.dt})
          for (int64_t c = 0; c < d; ++c) CHECK(same_bits(channel(dt, c), channel(want.dt, c)) == (c != 7));
      }
}

TEST_CASE("spectral: NaN and infinity affect only the transformed line or the mixed sample") {
  for (const Shape& shape : {Shape{3, 30, 37}, {3, 37, 18}})  // for radices and for Bluestein
    for (DType dtype : real_types)
      for (double bad : {std::nan(""), std::numeric_limits<double>::infinity()}) {
        const int64_t at = (shape[1] + 9) * shape[2] + 7;  // in sample 1, row 9, column 7
        const Tensor x = real_tensor(shape, 1, dtype), z = complex_tensor(shape, 2, dtype);
        const Tensor bad_x = with_element(x, at, bad), bad_z = with_element(z, at, bad);
        for (Isa isa : available_isas()) {
          CAPTURE(to_string(shape));
          CAPTURE(bad);
          CAPTURE(std::string(isa_name(isa)));
          Context context;
          context.set_isa(isa);
          ContextScope scope(context);
          for (int64_t dim : {1, 2}) {
            CAPTURE(dim);
            CHECK(differ_in_line_of(at, z, dim, fft(bad_z, dim), fft(z, dim)));
            CHECK(differ_in_line_of(at, z, dim, ifft(bad_z, dim), ifft(z, dim)));
            CHECK(differ_in_line_of(at, x, dim, rfft(bad_x, dim), rfft(x, dim)));
            for (int64_t n : {2 * z.size(dim) - 2, 2 * z.size(dim) - 1})
              CHECK(differ_in_line_of(at, z, dim, irfft(bad_z, n, dim), irfft(z, n, dim)));
          }
          const auto mix_turned = [](const Tensor& v) {  // in the layout (n, b, d)
            return transpose(fourier_mix(raw::contiguous(transpose(v, 0, 1)), 0, 2), 0, 1);
          };
          const Tensor mixed[][2] = {{fourier_mix(bad_x, 1, 2), fourier_mix(x, 1, 2)},
                                     {mix_turned(bad_x), mix_turned(x)}};
          for (const auto& [got, want] : mixed)
            for (int64_t b = 0; b < shape[0]; ++b) CHECK(same_bits(row(got, b), row(want, b)) == (b != 1));
        }
      }
}

TEST_CASE("spectral: fourier_mix equals the direct double sum, in both layouts") {
  for (int64_t n : {1, 2, 3, 7, 9, 12, 17, 32, 33})
    for (int64_t d : {1, 2, 5, 11, 15, 16, 19, 48}) {
      CAPTURE(n);
      CAPTURE(d);
      const int64_t batch = d % 3 == 0 ? 5 : 2;
      const Tensor x = to_single(real_tensor({batch, n, d}, static_cast<std::uint64_t>(n * 100 + d)));
      std::vector<Tensor> samples;
      for (int64_t b = 0; b < batch; ++b) samples.push_back(reshape(direct_mix(reshape(row(x, b), {n, d})), {1, n, d}));
      const Tensor want = concat(samples, 0);
      for (Isa isa : available_isas())
        for (DType dtype : real_types) {
          Context context;
          context.set_isa(isa);
          ContextScope scope(context);
          const Tensor v = raw::convert(x, dtype), turned = raw::contiguous(transpose(v, 0, 1));
          const double bound = transform_bound * growth(dtype, n * d);
          CHECK(relative_l2(fourier_mix(v, 1, 2), want) <= bound);
          CHECK(relative_l2(transpose(fourier_mix(turned, 0, 2), 0, 1), want) <= bound);
        }
    }
}

TEST_CASE("spectral: the bits are the same for any number of threads") {
  const Tensor x = real_tensor({6, 211, 70}, 1, DType::f32), z = complex_tensor({3, 512, 40}, 2, DType::f32);
  const Tensor long_row = complex_tensor({2, 16384}, 3, DType::f32), toeplitz_x = reshape(x, {3, 2, 211, 70});
  const Tensor t = real_tensor({2, 421, 70}, 4, DType::f32);
  const auto all = [&] {
    std::vector<Tensor> y{fft(z, 1),           ifft(z, 2),       rfft(x, 1),
                          rfft(x, 2),          fft(long_row, 1), rfft(real(long_row), 1),
                          irfft(z, 1023, 1),   irfft(z, 78, 2),  fourier_mix(x, 1, 2),
                          fourier_mix(x, 1, 0)};
    const Products p = products(toeplitz_x, t, toeplitz_x, false, ToeplitzForm::ring);
    y.insert(y.end(), {p.y, p.dx, p.dt});
    return y;
  };
  Context context;
  ContextScope scope(context);
  context.set_threads(1);
  const std::vector<Tensor> want = all();
  for (int threads : {2, 3, 8}) {
    context.set_threads(threads);
    const std::vector<Tensor> got = all();
    for (std::size_t i = 0; i < want.size(); ++i) CHECK(same_bits(got[i], want[i]));
  }
}

}  // namespace weft::test
