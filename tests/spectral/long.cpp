// Tests Toeplitz products and Fourier mixing of long sequences against direct sums at sampled positions.
#include <doctest/doctest.h>

#include <algorithm>

#include "spectral_support.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using std::int64_t;

// Random elements that are exact in f32, and the same numbers in long double.
struct Numbers {
  Tensor tensor;
  std::vector<double> values;

  Numbers(const Shape& shape, std::uint64_t seed) : tensor(to_single(random_tensor({shape}, seed))) {
    values = raw::convert(tensor, DType::f64).to_vector<double>();
  }
  long double operator[](int64_t i) const { return values[static_cast<std::size_t>(i)]; }
  Tensor in(DType dtype) const { return raw::convert(tensor, dtype); }
};

// Of n positions, returns the first, the last, their neighbors, the middle, and random ones.
std::vector<int64_t> sampled_places(int64_t n, int64_t count) {
  std::vector<int64_t> places{0, 1, n / 2 - 1, n / 2, n - 2, n - 1};
  const Random random(static_cast<std::uint64_t>(n));
  for (int64_t i = 0; i < count - 6; ++i)
    places.push_back(static_cast<int64_t>(random.uniform(static_cast<std::uint64_t>(i)) * static_cast<double>(n)));
  return places;
}

struct Sample {
  int64_t at;  // index in the contiguous tensor
  double value;
};

// Returns the largest error relative to the largest value.
double worst_sample(const Tensor& y, const std::vector<Sample>& samples) {
  const std::vector<double> values = raw::convert(raw::contiguous(y), DType::f64).to_vector<double>();
  double worst = 0, size = 0;
  for (const Sample& s : samples) {
    const double error = std::abs(values[static_cast<std::size_t>(s.at)] - s.value);
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
    size = std::max(size, std::abs(s.value));
  }
  return worst / size;
}

// x and dy (b, 1, n, d), t (1, n or 2n-1, d)
struct ToeplitzCase {
  int64_t b, n, d;
  bool causal;
  Numbers x, t, dy;
  std::vector<Sample> y, dx, dt;

  ToeplitzCase(int64_t batch, int64_t length, int64_t channels, bool is_causal)
      : b(batch),
        n(length),
        d(channels),
        causal(is_causal),
        x({b, 1, n, d}, 1),
        t({1, causal ? n : 2 * n - 1, d}, 2),
        dy({b, 1, n, d}, 3) {
    const int64_t before = causal ? 0 : n - 1;
    int64_t count = 0;
    for (int64_t i : sampled_places(n, 20)) {
      const int64_t c = count * 5 % d, first = count++ % b * n;
      const auto element = [&](int64_t k) { return (first + k) * d + c; };
      long double sum_y = 0, sum_dx = 0;
      for (int64_t j = 0; j < n; ++j) {
        if (!causal || j <= i) sum_y += t[(before + i - j) * d + c] * x[element(j)];
        if (!causal || j >= i) sum_dx += t[(before + j - i) * d + c] * dy[element(j)];
      }
      y.push_back({element(i), static_cast<double>(sum_y)});
      dx.push_back({element(i), static_cast<double>(sum_dx)});
    }
    for (int64_t k : sampled_places(t.tensor.size(1), 20)) {
      const int64_t c = count++ * 5 % d, lag = k - before;
      long double sum = 0;
      for (int64_t row = 0; row < b; ++row)
        for (int64_t i = std::max(lag, int64_t{0}); i < std::min(n, n + lag); ++i)
          sum += dy[(row * n + i) * d + c] * x[(row * n + i - lag) * d + c];
      dt.push_back({k * d + c, static_cast<double>(sum)});
    }
  }

  void check(DType dtype, Isa isa) const {
    CAPTURE(n);
    CAPTURE(causal);
    CAPTURE(std::string(isa_name(isa)));
    Context context;
    context.set_isa(isa);
    ContextScope scope(context);
    Tape tape;
    const Tensor leaf_x = tape.watch(x.in(dtype)), leaf_t = tape.watch(t.in(dtype));
    const Tensor product = toeplitz_product(leaf_x, leaf_t, causal, ToeplitzForm::ring);
    Gradients gradients;
    tape.backward(product, dy.in(dtype), gradients);
    const double bound = dtype == DType::f32 ? 1e-5 : 1e-12;
    CHECK(worst_sample(product.detach(), y) <= bound);
    CHECK(worst_sample(gradients.of(leaf_x), dx) <= bound);
    CHECK(worst_sample(gradients.of(leaf_t), dt) <= bound);
  }
};

// Returns Σ_s Σ_h x_sh cos(2π(sk/n + hl/d)) at (sample, k, l), for x (b, n, d).
double mixed_element(const Numbers& x, const std::vector<Wide>& sequence, const std::vector<Wide>& hidden,
                     int64_t sample, int64_t k, int64_t l) {
  const auto n = static_cast<int64_t>(sequence.size()), d = static_cast<int64_t>(hidden.size());
  long double sum = 0;
  for (int64_t s = 0; s < n; ++s) {
    Wide row = 0;
    for (int64_t h = 0, at = 0; h < d; ++h, at = (at + l) % d)
      row += x[(sample * n + s) * d + h] * hidden[static_cast<std::size_t>(at)];
    const Wide& w = sequence[static_cast<std::size_t>(s * k % n)];
    sum += row.real() * w.real() - row.imag() * w.imag();
  }
  return static_cast<double>(sum);
}

std::vector<Sample> mixed_samples(const Numbers& x) {
  const int64_t b = x.tensor.size(0), n = x.tensor.size(1), d = x.tensor.size(2);
  const std::vector<Wide> sequence = unit_roots(n), hidden = unit_roots(d);
  std::vector<Sample> samples;
  for (int64_t k : sampled_places(n, 20)) {
    const auto count = static_cast<int64_t>(samples.size());
    const int64_t sample = count % b, l = count * count * 61 % d;
    samples.push_back({(sample * n + k) * d + l, mixed_element(x, sequence, hidden, sample, k, l)});
  }
  return samples;
}

}  // namespace

TEST_CASE("spectral: Toeplitz products of length 2048 and their gradients equal the direct sums") {
  for (bool causal : {false, true}) {
    const ToeplitzCase c(2, 2048, 17, causal);
    for (Isa isa : available_isas())
      for (DType dtype : {DType::f32, DType::f64}) c.check(dtype, isa);
  }
}

TEST_CASE("spectral: Toeplitz products of length 10007 and 16384 and their gradients equal the direct sums") {
  for (int64_t n : {10007, 16384})
    for (bool causal : {false, true}) {
      const ToeplitzCase c(2, n, 17, causal);
      for (DType dtype : {DType::f32, DType::f64}) c.check(dtype, best_isa());
    }
}

TEST_CASE("spectral: fourier_mix of 512 x 768 equals the direct double sum, in both layouts") {
  const Numbers x({1, 512, 768}, 1);
  const std::vector<Sample> want = mixed_samples(x);
  for (DType dtype : {DType::f32, DType::f64}) {
    const double bound = dtype == DType::f32 ? 1e-6 : 2e-15;
    const Tensor turned = raw::contiguous(transpose(x.in(dtype), 0, 1));  // (n, b, d)
    CHECK(worst_sample(fourier_mix(x.in(dtype), 1, 2), want) <= bound);
    CHECK(worst_sample(transpose(fourier_mix(turned, 0, 2), 0, 1), want) <= bound);
  }
}

TEST_CASE("spectral: fourier_mix along a contiguous sequence equals the direct double sum") {
  const Numbers x({2, 16384, 3}, 2);
  const std::vector<Sample> want = mixed_samples(x);
  for (DType dtype : {DType::f32, DType::f64}) {
    const Tensor turned = raw::contiguous(transpose(x.in(dtype), 1, 2));  // (b, hidden, sequence)
    CHECK(worst_sample(transpose(fourier_mix(turned, 2, 1), 1, 2), want) <= (dtype == DType::f32 ? 1e-6 : 2e-15));
  }
}

}  // namespace weft::test
