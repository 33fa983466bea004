// fft, ifft, rfft and irfft of many lengths against the direct sums, in every layout, on every instruction set.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "fft_plan.h"
#include "kernels/kernels.h"
#include "spectral_support.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using std::int64_t;

// The largest error, in units of error_growth.
constexpr double direct_bound = 1.5, bluestein_bound = 2;

constexpr int64_t signals = 3;

// Column c of a batch is signal c modulo 3 times a power of two: a tile of columns that were exchanged would be seen.
int64_t signal_of(int64_t column) { return column % signals; }
double scale_of(int64_t column) { return std::ldexp(1.0, static_cast<int>(column % 13) - 6); }

using Signal = std::vector<Wide>;

// Random elements, exact in T; real if asked for.
template <class T>
Signal random_signal(int64_t n, std::uint64_t seed, bool is_real) {
  const auto v = raw::convert(random_tensor(complex_in({n}), seed), DType::c128).to_vector<std::complex<double>>();
  Signal x;
  for (const auto& z : v)
    x.emplace_back(static_cast<T>(z.real()), is_real ? T(0) : static_cast<T>(z.imag()));
  return x;
}

// The whole spectrum of a real sequence, from its first n/2 + 1 bins.
Signal hermitian(const Signal& half, int64_t n) {
  Signal x;
  for (int64_t k = 0; k < n; ++k) {
    const Wide z = half[static_cast<std::size_t>(2 * k <= n ? k : n - k)];
    x.push_back(2 * k % n == 0 ? z.real() : 2 * k <= n ? z : std::conj(z));
  }
  return x;
}

// (batch, n, columns), the columns' signals along the second axis.
template <class T>
Tensor columns_of(const std::vector<Signal>& x, int64_t batch, int64_t columns, bool is_real) {
  const auto n = static_cast<int64_t>(x[0].size());
  std::vector<std::complex<double>> values;
  for (int64_t b = 0; b < batch; ++b)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t c = 0; c < columns; ++c) {
        const int64_t column = b * columns + c;
        const Wide z = x[static_cast<std::size_t>(signal_of(column))][static_cast<std::size_t>(k)];
        values.emplace_back(static_cast<std::complex<double>>(z) * scale_of(column));
      }
  const Tensor wide = Tensor::from(values, {batch, n, columns});
  const bool single = sizeof(T) == sizeof(float);
  return is_real ? raw::convert(real(wide), single ? DType::f32 : DType::f64)
                 : raw::convert(wide, single ? DType::c64 : DType::c128);
}

// The largest relative L2 error of a column of y (batch, m, columns) over the wanted elements.
template <class E>
double worst_column(const Tensor& y, const std::vector<int64_t>& wanted, const std::vector<Signal>& want) {
  const int64_t batch = y.size(0), columns = y.size(2);
  const E* p = static_cast<const E*>(y.raw());
  double worst = 0;
  for (int64_t column = 0; column < batch * columns; ++column) {
    const Signal& w = want[static_cast<std::size_t>(signal_of(column))];
    const E* from = p + column / columns * y.strides()[0] + column % columns * y.strides()[2];
    const auto scale = static_cast<long double>(scale_of(column));
    long double error = 0, size = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      error += std::norm(Wide(from[wanted[i] * y.strides()[1]]) - w[i] * scale);
      size += std::norm(w[i] * scale);
    }
    const double relative = error == 0 ? 0 : static_cast<double>(std::sqrt(error / size));
    worst = std::isnan(relative) ? std::numeric_limits<double>::infinity() : std::max(worst, relative);
  }
  return worst;
}

struct Case {
  const char* name;
  bool real_in, real_out;
  std::vector<Signal> in, want;
  std::vector<int64_t> wanted;
  std::function<Tensor(const Tensor&, int64_t dim)> run;
};

// What is wanted of m elements: all of few, the first and last and some between of many.
std::vector<int64_t> wanted_of(int64_t m) {
  std::vector<int64_t> all(static_cast<std::size_t>(m));
  std::iota(all.begin(), all.end(), 0);
  if (m <= 300) return all;
  std::vector<int64_t> some{0, 1, m / 2, m - 1};
  for (int64_t k = 2; k < 40; ++k) some.push_back(k * k * k * 7919 % m);
  return some;
}

template <class T>
std::vector<Case> cases_of(int64_t n) {
  std::vector<Case> cases{
      {"fft", false, false, {}, {}, wanted_of(n), [](const Tensor& x, int64_t dim) { return fft(x, dim); }},
      {"ifft", false, false, {}, {}, wanted_of(n), [](const Tensor& x, int64_t dim) { return ifft(x, dim); }},
      {"rfft", true, false, {}, {}, wanted_of(n / 2 + 1), [](const Tensor& x, int64_t dim) { return rfft(x, dim); }},
      {"irfft", false, true, {}, {}, wanted_of(n), [n](const Tensor& x, int64_t dim) { return irfft(x, n, dim); }}};
  const std::vector<Wide> roots = unit_roots(n);
  for (Case& c : cases)
    for (std::uint64_t s = 0; s < signals; ++s) {
      const bool inverse = std::string(c.name) == "ifft" || c.real_out;
      c.in.push_back(random_signal<T>(c.real_out ? n / 2 + 1 : n, 10 * static_cast<std::uint64_t>(n) + s, c.real_in));
      c.want.push_back(direct_sums(c.real_out ? hermitian(c.in[s], n) : c.in[s], roots, inverse, c.wanted));
      for (Wide& z : c.want[s]) z = (c.real_out ? z.real() : z) / (inverse ? static_cast<long double>(n) : 1);
    }
  return cases;
}

// The axis before a contiguous one and the axis last; each from a contiguous tensor and from a transposed view.
template <class T>
void check_length(int64_t n, int64_t batch, int64_t columns) {
  CAPTURE(n);
  CAPTURE(sizeof(T));
  Context context;
  ContextScope scope(context);
  const double bound = (fft_radices(n).empty() ? bluestein_bound : direct_bound) * error_growth<T>(n);
  for (const Case& c : cases_of<T>(n)) {
    CAPTURE(c.name);
    const Tensor x = columns_of<T>(c.in, batch, columns, c.real_in), rows = raw::contiguous(transpose(x, 1, 2));
    for (Isa isa : available_isas()) {
      CAPTURE(std::string(isa_name(isa)));
      context.set_isa(isa);
      const Tensor results[] = {c.run(x, 1), c.run(transpose(rows, 1, 2), 1), transpose(c.run(rows, 2), 1, 2),
                                transpose(c.run(transpose(x, 1, 2), 2), 1, 2)};
      for (const Tensor& y : results) {
        CAPTURE(&y - results);
        const double error = c.real_out ? worst_column<T>(y, c.wanted, c.want)
                                        : worst_column<std::complex<T>>(y, c.wanted, c.want);
        CHECK(error <= bound);
      }
    }
  }
}

}  // namespace

TEST_CASE("spectral: every length from 1 to 300 equals the direct sums") {
  for (int64_t n = 1; n <= 300; ++n) {
    check_length<float>(n, 2, 19);
    check_length<double>(n, 2, 19);
  }
}

TEST_CASE("spectral: long transforms equal the direct sums") {
  std::vector<int64_t> lengths{1000, 1536, 509, 1009, 8191, 1331, 1573, 1859, 2197, 20449, 8448, 8960, 36608};
  for (int64_t n = 512; n <= 1 << 16; n *= 2) lengths.push_back(n);
  for (int64_t n : lengths) {
    check_length<float>(n, 1, n <= 4096 ? 19 : 17);
    check_length<double>(n, 1, n <= 4096 ? 19 : 9);
  }
}

}  // namespace weft::test
