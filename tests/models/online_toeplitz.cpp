// Tests of Toeplitz products that are computed row by row, against their definition in f64.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "op_table.h"
#include "streaming/online_toeplitz.h"
#include "sweep.h"
#include "weft/context.h"
#include "weft/ops.h"
#include "weft/profile.h"

namespace weft::test {
namespace {

using detail::OnlineToeplitz;
using detail::ToeplitzLags;
using Index = std::int64_t;

constexpr Index all_lags = std::numeric_limits<Index>::max();

// The significant coefficients t_0 … t_(n-1) and the rows of v, in the order in which a sequence provides them.
struct Product {
  Tensor t, v;  // (n, d), f64
  Index n, d, significant;
  DType dtype;
  Index made = 0;  // number of lags

  Product(Index length, Index channels, Index significant_lags, DType type)
      : t(Random(3).normal({2 * length + 600, channels}, 0, 1)),
        v(Random(4).normal({length, channels}, 0, 1)),
        n(length),
        d(channels),
        significant(significant_lags),
        dtype(type) {
    t = raw::convert(raw::convert(t, dtype), DType::f64);
    v = raw::convert(raw::convert(v, dtype), DType::f64);
    if (significant >= t.size(0)) return;
    Tensor rest = slice(t, 0, significant, t.size(0));
    raw::fill(rest, 0);
  }

  Tensor rows(Index first, Index last) const { return raw::convert(slice(v, 0, first, last), dtype); }

  std::shared_ptr<ToeplitzLags> lags() {
    return std::make_shared<ToeplitzLags>(
        [this](Index first, Index last) {
          made += last - first;
          return raw::convert(slice(t, 0, first, last), dtype);
        },
        [this] { return significant; });
  }

  // Computes row i according to the definition, and Σ |t v|.
  void row(Index i, std::vector<double>& y, std::vector<double>& size) const {
    const double *lag = t.data<double>(), *x = v.data<double>();
    y.assign(static_cast<std::size_t>(d), 0);
    size = y;
    for (Index j = 0; j <= i; ++j)
      for (Index c = 0; c < d; ++c) {
        const double term = lag[(i - j) * d + c] * x[j * d + c];
        y[static_cast<std::size_t>(c)] += term;
        size[static_cast<std::size_t>(c)] += std::abs(term);
      }
  }

  // Returns the largest error of the rows (n, d), the first of which is row `at`. The error is a multiple of the unit
  // roundoff times √(Σt² Σv²) + Σ |t v|.
  double error(Index at, const Tensor& rows) const {
    const auto got = raw::convert(rows, DType::f64).to_vector<double>();
    const double unit = dtype == DType::f32 ? 0x1p-24 : 0x1p-53;
    double worst = 0;
    std::vector<double> y, size;
    for (Index i = 0; i < rows.size(0); ++i) {
      row(at + i, y, size);
      for (Index c = 0; c < d; ++c) {
        const auto at_c = static_cast<std::size_t>(c);
        const double scale = unit * (size[at_c] + norm(at + rows.size(0) - 1));
        worst = std::max(worst, std::abs(got[static_cast<std::size_t>(i * d + c)] - y[at_c]) / scale);
      }
    }
    return worst;
  }
  // Approximates ‖t‖₂ ‖v‖₂ for this many standard normal numbers.
  double norm(Index i) const {
    return static_cast<double>(significant == all_lags ? i + 1 : std::min(i + 1, 2 * significant));
  }
};

// The measured error is below 3. The sum of the bounds of the parts is much larger.
constexpr double most = 8;

}  // namespace

TEST_CASE("online Toeplitz product: each row follows the definition") {
  for (const DType dtype : {DType::f64, DType::f32})
    for (const Index significant : {all_lags, Index{1}, Index{2}, Index{64}, Index{65}, Index{66}, Index{100},
                                    Index{129}, Index{130}, Index{131}, Index{300}, Index{700}, Index{5000}}) {
      if (significant != all_lags && significant > sweep(5000, 131)) continue;
      const Index n = significant == all_lags ? sweep(3000, 900) : 1100;
      Product product(n, 3, significant, dtype);
      CAPTURE(significant);
      OnlineToeplitz online(product.lags(), 0.5);
      double worst = 0;
      for (Index i = 0; i < n; ++i) worst = std::max(worst, product.error(i, online.append(i, product.rows(i, i + 1))));
      CHECK(worst <= most);
      if (significant != all_lags) CHECK(product.made <= significant + 63);
      else CHECK(product.made <= n + 2 * n / 5 + 3 * 64);
    }
}

TEST_CASE("online Toeplitz product: many channels, and any number of rows per call") {
  for (const Index d : {1, 15, 64, 65, 150}) {
    Product product(900, d, d == 65 ? 150 : all_lags, DType::f64);
    CAPTURE(d);
    for (const Index first : {0, 1, 2, 63, 64, 65, 127, 128, 384, 400, 640, 768, 895}) {
      if (d > sweep(150, 1) && first > 65) continue;
      CAPTURE(first);
      OnlineToeplitz online(product.lags(), 0.1);
      double worst = 0;
      if (first > 0) worst = product.error(0, online.append(0, product.rows(0, first)));
      if (first % 2 == 0) online.prepare(first);
      Index at = first;
      for (const Index count : {1, 1, 7, 1, 64, 1, 2, 3, 1, 129, 5, 1, 1, 700}) {
        const Index end = std::min(at + count, product.n);
        if (at < end) worst = std::max(worst, product.error(at, online.append(at, product.rows(at, end))));
        at = end;
      }
      CHECK(worst <= most);
    }
  }
}

TEST_CASE("online Toeplitz product: copies are independent, and a recomputed row is the same") {
  Product product(800, 5, all_lags, DType::f32), other(800, 5, all_lags, DType::f32);
  other.v = raw::convert(Random(9).normal({800, 5}, 0, 1), DType::f64);
  for (const Index shared : {1, 60, 64, 130, 500, 511}) {
    CAPTURE(shared);
    Tensor beginning = slice(other.v, 0, 0, shared);
    raw::copy(slice(product.v, 0, 0, shared), beginning);
    other.v = raw::convert(raw::convert(other.v, DType::f32), DType::f64);
    OnlineToeplitz a(product.lags(), 0), alone(product.lags(), 0);
    for (Index i = 0; i < shared; ++i) {
      (void)a.append(i, product.rows(i, i + 1));
      (void)alone.append(i, product.rows(i, i + 1));
    }
    OnlineToeplitz b = a;
    double worst = 0;
    bool same = true;
    for (Index i = shared; i < std::min<Index>(shared + 200, 800); ++i) {
      if (i % 7 == 0) {  // these rows are discarded, as if an append() had failed
        (void)a.append(i, other.rows(i, std::min<Index>(800, i + 1 + i % 91)));
        a.prepare(std::min<Index>(800, i + 1 + i % 91));
      }
      const Tensor y = a.append(i, product.rows(i, i + 1));
      same = same && same_bits(y, alone.append(i, product.rows(i, i + 1)));
      worst = std::max(worst, product.error(i, y));
      worst = std::max(worst, other.error(i, b.append(i, other.rows(i, i + 1))));
    }
    CHECK(same);
    CHECK(worst <= most);
  }
}

TEST_CASE("online Toeplitz product: rows that are appended again replace earlier rows") {
  Product product(1500, 5, all_lags, DType::f32);
  for (const Index first : {100, 600, 1300}) {
    CAPTURE(first);
    OnlineToeplitz online(product.lags(), 0.5);
    (void)online.append(0, raw::convert(Random(9).normal({first, 5}, 0, 1), DType::f32));
    online.prepare(first);
    (void)online.append(0, product.rows(0, first));
    online.prepare(first);
    double worst = 0;
    for (Index i = first; i < first + 150; ++i)
      worst = std::max(worst, product.error(i, online.append(i, product.rows(i, i + 1))));
    CHECK(worst <= most);
  }
}

TEST_CASE("online Toeplitz product: work is spread over the rows, and no row after a long append waits") {
  const Index n = 3000, d = 130;  // 3 pieces per block
  Product product(n, d, all_lags, DType::f32);
  OnlineToeplitz online(product.lags(), 0.3);
  const auto calls = [](auto body) {
    const Profile profile;
    body();
    const auto found = profile.ops().find("toeplitz_product");
    return found == profile.ops().end() ? 0 : found->second.calls;
  };
  Index all = 0, most_calls = 0, after = 0;
  for (Index i = 0; i < n; ++i) {
    const Index made = product.made;
    const Index here = calls([&] { (void)online.append(i, product.rows(i, i + 1)); });
    all += here;
    most_calls = std::max(most_calls, here);
    CHECK(product.made - made <= (i == 0 ? 3 * 64 : 64));
  }
  CHECK(most_calls <= 5);  // one call per level
  CHECK(all <= n);
  for (const Index first : {64, 127, 600, 768, 1535, 2000}) {
    OnlineToeplitz prompted(product.lags(), 0.3);
    (void)prompted.append(0, product.rows(0, first));
    prompted.prepare(first);
    const Index made = product.made;
    for (Index i = first; i < first + 70; ++i)
      after = std::max<Index>(after, calls([&] { (void)prompted.append(i, product.rows(i, i + 1)); }));
    CHECK(product.made - made <= 3 * 64);
  }
  CHECK(after <= 5);
}

TEST_CASE("online Toeplitz product: with few significant lags, memory doesn't grow") {
  Product product(6000, 20, 200, DType::f32);
  OnlineToeplitz online(product.lags(), 0);
  std::size_t used = 0;
  for (Index i = 0; i < product.n; ++i) {
    (void)online.append(i, product.rows(i, i + 1));
    if (i == 1500 + 63) used = Context::current().memory().use().current;
  }
  CHECK(Context::current().memory().use().current <= used);
  CHECK(product.error(5999, online.append(5999, product.rows(5999, 6000))) <= most);
}

}  // namespace weft::test
