// Tests fft, ifft, rfft and irfft of many lengths against direct sums, in every layout and on every instruction set.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

#include "spectral/fft_plan.h"
#include "spectral_support.h"
#include "sweep.h"
#include "weft/context.h"

namespace weft::test {
using namespace detail;

namespace {

using std::int64_t;

// Bounds of the largest error, in units of error_growth.
constexpr double direct_bound = 1.5, bluestein_bound = 2;

// Column c of a batch is signal c modulo the number of signals, times a power of two. If two columns of a tile were
// exchanged, the powers would reveal the mistake.
double scale_of(int64_t column) { return std::ldexp(1.0, static_cast<int>(column % 13) - 6); }

using Signal = std::vector<Wide>;

enum class Kind { fft, ifft, rfft, irfft };

// Returns the indices of the elements to check: all n if n is small, otherwise the first, the last and some in between.
std::vector<int64_t> wanted_of(int64_t n) {
  std::vector<int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  if (n <= 300) return all;
  std::vector<int64_t> some{0, 1, n / 2, n - 1};
  const int64_t last = n <= 1 << 16 ? 40 : 12;
  for (int64_t k = 2; k < last; ++k) some.push_back(k * k * k * 7919 % n);
  return some;
}

// Random signals that are exact in f32, and the elements to check of their transforms. fft and ifft transform the
// signal, rfft its real part, and irfft its first n/2 + 1 elements.
struct Reference {
  int64_t n;
  std::vector<int64_t> wanted, wanted_bins;  // elements of the n bins, and of the n/2 + 1 bins of rfft
  std::vector<Signal> in, fft, ifft, rfft, irfft;

  const std::vector<Signal>& of(Kind kind) const {
    const std::vector<Signal>* all[] = {&fft, &ifft, &rfft, &irfft};
    return *all[static_cast<int>(kind)];
  }
};

// Returns n/2 + 1 bins from which direct inverse sums give, as their real part, the real sequence of irfft. Bins that
// also represent a conjugate count twice.
Signal doubled_bins(const Signal& x, int64_t n) {
  Signal bins(x.begin(), x.begin() + n / 2 + 1);
  for (int64_t k = 0; k <= n / 2; ++k) {
    Wide& z = bins[static_cast<std::size_t>(k)];
    z = 2 * k % n == 0 ? z.real() : z * 2.0L;
  }
  return bins;
}

Reference reference_of(int64_t n, int64_t signals) {
  Reference r{n, wanted_of(n), {}, {}, {}, {}, {}, {}};
  std::copy_if(r.wanted.begin(), r.wanted.end(), std::back_inserter(r.wanted_bins),
               [n](int64_t k) { return 2 * k <= n; });
  const std::vector<Wide> roots = unit_roots(n);
  const auto count = static_cast<long double>(n);
  for (int64_t s = 0; s < signals; ++s) {
    const Tensor x = to_single(random_tensor(complex_in({n}), static_cast<std::uint64_t>(10 * n + s)));
    Signal in, fft, ifft, rfft, irfft;
    in.reserve(static_cast<std::size_t>(n));
    for (const auto& z : x.to_vector<std::complex<float>>()) in.emplace_back(z);
    const std::vector<DirectSums> sums = direct_sums(in, roots, r.wanted);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      fft.push_back(sums[i].forward());
      ifft.push_back(sums[i].inverse() / count);
      if (2 * r.wanted[i] <= n) rfft.push_back(sums[i].of_real);
    }
    for (const DirectSums& sum : direct_sums(doubled_bins(in, n), roots, r.wanted))
      irfft.emplace_back(sum.inverse().real() / count);
    r.in.push_back(std::move(in));
    r.fft.push_back(std::move(fft));
    r.ifft.push_back(std::move(ifft));
    r.rfft.push_back(std::move(rfft));
    r.irfft.push_back(std::move(irfft));
  }
  return r;
}

// Returns (batch, n, columns), with the signals of the columns along the second axis.
Tensor columns_of(const std::vector<Signal>& x, int64_t batch, int64_t columns, DType dtype) {
  const auto n = static_cast<int64_t>(x[0].size());
  std::vector<std::complex<double>> values(static_cast<std::size_t>(batch * n * columns));
  for (int64_t column = 0; column < batch * columns; ++column) {
    const Signal& signal = x[static_cast<std::size_t>(column) % x.size()];
    const double scale = scale_of(column);
    auto* to = values.data() + column / columns * n * columns + column % columns;
    for (int64_t k = 0; k < n; ++k)
      to[k * columns] = static_cast<std::complex<double>>(signal[static_cast<std::size_t>(k)]) * scale;
  }
  return raw::convert(Tensor::from(values, {batch, n, columns}), dtype);
}

// Returns the largest relative L2 error of a column of y (batch, m, columns), over the elements to check.
template <class E>
double worst_column(const Tensor& y, const std::vector<int64_t>& wanted, const std::vector<Signal>& want) {
  const int64_t batch = y.size(0), columns = y.size(2);
  const E* p = static_cast<const E*>(y.raw());
  std::vector<double> sizes;
  for (const Signal& w : want) {
    sizes.push_back(0);
    for (const Wide& z : w) sizes.back() += static_cast<double>(std::norm(z));
  }
  double worst = 0;
  for (int64_t column = 0; column < batch * columns; ++column) {
    const std::size_t signal = static_cast<std::size_t>(column) % want.size();
    const Signal& w = want[signal];
    const E* from = p + column / columns * y.strides()[0] + column % columns * y.strides()[2];
    const long double unscale = 1 / scale_of(column);
    double error = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const E value = from[wanted[i] * y.strides()[1]];
      const auto re = static_cast<double>(std::real(value) * unscale - w[i].real());
      const auto im = static_cast<double>(std::imag(value) * unscale - w[i].imag());
      error += re * re + im * im;
    }
    const double relative = error == 0 ? 0 : std::sqrt(error / sizes[signal]);
    worst = std::isnan(relative) ? std::numeric_limits<double>::infinity() : std::max(worst, relative);
  }
  return worst;
}

// The transformed axis is the axis before a contiguous axis (columns) or the last axis (rows). Each kind is tested with
// a contiguous tensor and with a transposed view.
enum class Layout { columns, columns_view, rows, rows_view };

using Transform = std::function<Tensor(const Tensor& x, int64_t dim)>;

// x and rows are (b, n, c) and (b, c, n), both contiguous. Returns (b, m, c).
Tensor run_in(Layout layout, const Transform& run, const Tensor& x, const Tensor& rows) {
  switch (layout) {
    case Layout::columns: return run(x, 1);
    case Layout::columns_view: return run(transpose(rows, 1, 2), 1);
    case Layout::rows: return transpose(run(rows, 2), 1, 2);
    case Layout::rows_view: break;
  }
  return transpose(run(transpose(x, 1, 2), 2), 1, 2);
}

const std::vector<Layout> all_layouts{Layout::columns, Layout::columns_view, Layout::rows, Layout::rows_view};

struct Runs {
  int64_t batch, columns;
  std::vector<Isa> isas;
  std::vector<Layout> layouts;
};

template <class T>
void check_length(const Reference& reference, const Runs& runs) {
  const int64_t n = reference.n;
  CAPTURE(n);
  CAPTURE(sizeof(T));
  Context context;
  ContextScope scope(context);
  const bool single = sizeof(T) == sizeof(float);
  const double bound = (fft_radices(n).empty() ? bluestein_bound : direct_bound) * error_growth<T>(n);
  const Tensor x = columns_of(reference.in, runs.batch, runs.columns, single ? DType::c64 : DType::c128);
  const struct {
    Kind kind;
    const char* name;
    Tensor in;
    Transform run;
  } cases[] = {{Kind::fft, "fft", x, [](const Tensor& v, int64_t dim) { return fft(v, dim); }},
               {Kind::ifft, "ifft", x, [](const Tensor& v, int64_t dim) { return ifft(v, dim); }},
               {Kind::rfft, "rfft", real(x), [](const Tensor& v, int64_t dim) { return rfft(v, dim); }},
               {Kind::irfft, "irfft", raw::contiguous(slice(x, 1, 0, n / 2 + 1)),
                [n](const Tensor& v, int64_t dim) { return irfft(v, n, dim); }}};
  for (const auto& c : cases) {
    CAPTURE(c.name);
    const std::vector<int64_t>& wanted = c.kind == Kind::rfft ? reference.wanted_bins : reference.wanted;
    const Tensor rows = raw::contiguous(transpose(c.in, 1, 2));
    for (Isa isa : runs.isas) {
      CAPTURE(std::string(isa_name(isa)));
      context.set_isa(isa);
      for (Layout layout : runs.layouts) {
        CAPTURE(static_cast<int>(layout));
        const Tensor y = run_in(layout, c.run, c.in, rows);
        const double error = c.kind == Kind::irfft ? worst_column<T>(y, wanted, reference.of(c.kind))
                                                   : worst_column<std::complex<T>>(y, wanted, reference.of(c.kind));
        CHECK(error <= bound);
      }
    }
  }
}

}  // namespace

TEST_CASE("spectral: every length from 1 to 300 equals the direct sums") {
  for (int64_t n = 1; n <= 300; n += n < 40 ? 1 : sweep(1, 7)) {
    const Reference reference = reference_of(n, 3);
    const Runs runs{n <= 64 || n % 8 == 0 ? 2 : 1, 19, available_isas(), all_layouts};
    check_length<float>(reference, runs);
    check_length<double>(reference, runs);
  }
}

// Tests few rows, and full and partial tiles of rows. Some lengths need one pass, some need several passes or four
// steps, and some are prime.
TEST_CASE("spectral: any number of short rows equals the direct sums") {
  for (int64_t n : {16, 17, 32, 48, 64, 100, 128, 256, 360, 512}) {
    const Reference reference = reference_of(n, 3);
    for (int64_t rows : {1, 7, 8, 9, 15, 16, 17, 63, 64, 65}) {
      CAPTURE(rows);
      const Runs runs{1, rows, available_isas(), {Layout::rows, Layout::columns}};
      check_length<float>(reference, runs);
      check_length<double>(reference, runs);
    }
  }
}

TEST_CASE("spectral: a short row gives the same bits at any position among other rows") {
  Context context;
  ContextScope scope(context);
  const auto check = [](const Tensor& y) {  // the rows of y are transforms of one signal
    const std::size_t bytes = static_cast<std::size_t>(y.numel() / y.size(0)) * dtype_size(y.dtype());
    const char* first = static_cast<const char*>(raw::contiguous(y).raw());
    for (int64_t row = 1; row < y.size(0); ++row)
      CHECK(std::memcmp(first, first + static_cast<std::size_t>(row) * bytes, bytes) == 0);
  };
  for (Isa isa : available_isas()) {
    context.set_isa(isa);
    CAPTURE(std::string(isa_name(isa)));
    for (DType dtype : {DType::c64, DType::c128})
      for (int64_t n : {16, 17, 32, 48, 64, 100, 128, 256, 360, 512})
        for (int64_t rows : {3, 15, 16, 37}) {
          CAPTURE(n);
          CAPTURE(rows);
          const Tensor signal = raw::convert(random_tensor(complex_in({1, n}), 7), dtype);
          const Tensor x = raw::contiguous(expand(signal, {rows, n}));
          check(fft(x, 1));
          check(ifft(x, 1));
          check(rfft(real(x), 1));
          check(irfft(raw::contiguous(slice(x, 1, 0, n / 2 + 1)), n, 1));
        }
  }
}

TEST_CASE("spectral: long transforms equal the direct sums") {
  std::vector<int64_t> lengths{768,  1000, 1536, 2310,  509,  1009, 1021,  8191,  1331,
                               1573, 1859, 2197, 20449, 8448, 8960, 10125, 15625, 36608};
  for (int64_t n = 512; n <= 1 << 16; n *= 2) lengths.push_back(n);
  for (int64_t n : lengths) {
    if (n > sweep(1 << 16, 1 << 14)) continue;
    const Reference reference = reference_of(n, n <= 4096 ? 3 : 2);
    // 17 or 5 columns give full tiles and a partial tile.
    Runs runs{1, n <= 16384 ? 17 : 5, available_isas(), {Layout::columns, Layout::rows}};
    if (n <= 4096) runs.layouts = all_layouts;
    check_length<float>(reference, runs);
    if (n > 4096) runs.columns = std::min(runs.columns, int64_t{9});
    check_length<double>(reference, runs);
  }
}

TEST_CASE("spectral: transforms of 2^18 elements equal the direct sums") {
  const Reference reference = reference_of(1 << 18, 1);
  const Runs columns{1, 3, {best_isa()}, {Layout::columns}}, row{1, 1, {best_isa()}, {Layout::rows}};
  check_length<float>(reference, columns);
  check_length<float>(reference, row);
  check_length<double>(reference, row);
}

TEST_CASE("spectral: transforms of impulses among 2^20 elements equal the short sums") {
  const int64_t n = 1 << 20, impulses = 16;
  const auto height = to_single(random_tensor(complex_in({impulses}), 1)).to_vector<std::complex<float>>();
  const auto place = [](int64_t i) { return (i * i * i * 7919 + i * 65521) % n; };
  Tensor x = Tensor::zeros({1, n}, DType::c64), columns = Tensor::zeros({n, 3}, DType::c64);
  auto *in_row = x.mutable_data<std::complex<float>>(), *in_columns = columns.mutable_data<std::complex<float>>();
  for (int64_t i = 0; i < impulses; ++i)
    in_row[place(i)] = in_columns[3 * place(i) + 1] = height[static_cast<std::size_t>(i)];
  const Tensor row = fft(x, 1), column = slice(fft(columns, 0), 1, 1, 2);
  std::vector<std::complex<double>> of_row, of_column, want;
  for (int64_t s = 0; s < 1000; ++s) {
    const int64_t k = s * s * s * 7919 % n;
    of_row.emplace_back(static_cast<const std::complex<float>*>(row.raw())[k]);
    of_column.emplace_back(static_cast<const std::complex<float>*>(column.raw())[k * column.strides()[0]]);
    Wide sum = 0;
    for (int64_t i = 0; i < impulses; ++i) {
      const long double angle = -turn * static_cast<long double>(k * place(i) % n) / static_cast<long double>(n);
      sum += Wide(height[static_cast<std::size_t>(i)]) * Wide(std::cos(angle), std::sin(angle));
    }
    want.emplace_back(sum);
  }
  const double bound = direct_bound * error_growth<float>(n);
  CHECK(relative_l2(Tensor::from(of_row, {1000}), Tensor::from(want, {1000})) <= bound);
  CHECK(relative_l2(Tensor::from(of_column, {1000}), Tensor::from(want, {1000})) <= bound);
}

}  // namespace weft::test
