// Tests gemm with all small sizes and with random larger sizes, in every layout and with every option, against sums in
// f64.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "dense/gemm.h"
#include "sweep.h"
#include "weft/context.h"
#include "weft/random.h"

namespace weft::test {
using namespace detail;

namespace {

using std::int64_t;

// A sequence of random whole numbers below a bound.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  int64_t operator()(int64_t bound) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<int64_t>((state_ >> 11) % static_cast<std::uint64_t>(bound));
  }

 private:
  std::uint64_t state_;
};

// The strides of a matrix. Either the rows or the columns are contiguous, with or without gaps between them, or neither
// of them is contiguous.
struct Layout {
  int64_t row, column;
};

Layout random_layout(Dice& dice, int64_t rows, int64_t columns) {
  const int64_t step = dice(4) == 0 ? 2 + dice(3) : 1, gap = dice(3) == 0 ? 1 + dice(9) : 0;
  return dice(2) == 0 ? Layout{step * columns + gap, step} : Layout{step, step * rows + gap};
}

int64_t extent(int64_t rows, int64_t columns, const Layout& l) {
  return (rows - 1) * l.row + (columns - 1) * l.column + 1;
}

struct SizesTrial {
  int64_t m, n, k;
  Layout a, b, c;
  bool accumulate = false, epilogue = false;
  double sign = 1;
  bool bias_of_rows = false;
  Activation activation = Activation::none;  // of the epilogue: none or relu
  bool gate = false, residual = false, preactivation = false;
};

SizesTrial random_trial(int64_t m, int64_t n, int64_t k, Dice& dice) {
  SizesTrial t{m, n, k, random_layout(dice, m, k), random_layout(dice, k, n), random_layout(dice, m, n)};
  t.accumulate = dice(3) == 0;
  t.sign = dice(4) == 0 ? -1 : 1;
  t.epilogue = dice(3) == 0;
  if (!t.epilogue) return t;
  t.c = {n + dice(5), 1};
  t.bias_of_rows = dice(2) == 0;
  t.activation = dice(2) == 0 ? Activation::relu : Activation::none;
  t.gate = dice(2) == 0;
  t.residual = dice(2) == 0;
  t.preactivation = dice(2) == 0;
  return t;
}

// Random values in [-1, 1). There are enough of them for any two matrices of this test. The second matrix starts in the
// middle.
template <class T>
const T* values(int64_t count, int64_t from) {
  static const std::vector<T> all = [] {
    std::vector<T> made(std::size_t{1} << 22);
    Dice dice(7);
    constexpr int64_t half = int64_t{1} << (std::numeric_limits<T>::digits - 1);
    for (T& x : made) x = static_cast<T>(dice(2 * half) - half) / static_cast<T>(half);
    return made;
  }();
  REQUIRE(from + count <= static_cast<int64_t>(all.size()));
  return all.data() + from;
}

constexpr double untouched = 12345;

// For each element, the product in f64 and the sum of the magnitudes of its terms.
template <class T>
struct Reference {
  std::vector<double> sums, scales;

  Reference(const SizesTrial& t, const T* a, const T* b)
      : sums(static_cast<std::size_t>(t.m * t.n), 0), scales(sums.size(), 1) {
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t p = 0; p < t.k; ++p) {
        const double x = t.sign * static_cast<double>(a[i * t.a.row + p * t.a.column]);
        const T* row = b + p * t.b.row;
        double *sum = sums.data() + i * t.n, *scale = scales.data() + i * t.n;
        for (int64_t j = 0; j < t.n; ++j) {
          const double term = x * static_cast<double>(row[j * t.b.column]);
          sum[j] += term;
          scale[j] += std::abs(term);
        }
      }
  }
};

// The data of a product: its operands, and the earlier values of C and of the pre-activation.
template <class T>
struct Operands {
  const T *a, *b, *bias, *gate, *residual;
  std::vector<T> before;

  explicit Operands(const SizesTrial& t)
      : a(values<T>(extent(t.m, t.k, t.a), t.m)),
        b(values<T>(extent(t.k, t.n, t.b), (1 << 21) + t.n)),
        bias(values<T>(t.m + t.n, 50)),
        gate(values<T>(t.m * t.n, 100)),
        residual(values<T>(t.m * t.n, 200)),
        before(static_cast<std::size_t>(extent(t.m, t.n, t.c)), static_cast<T>(untouched)) {
    if (!t.accumulate) return;
    for (int64_t i = 0; i < t.m; ++i)
      for (int64_t j = 0; j < t.n; ++j) before[place(t, i, j)] = residual[i * t.n + j];
  }

  static std::size_t place(const SizesTrial& t, int64_t i, int64_t j) {
    return static_cast<std::size_t>(i * t.c.row + j * t.c.column);
  }
};

// Divides each element's error by the sum of the magnitudes of the element's terms, and returns the largest quotient.
// NaN and writes outside C count as infinite errors.
template <class T>
double error_of(const SizesTrial& t, const Operands<T>& in, const Reference<T>& want) {
  std::vector<T> c = in.before, hidden(static_cast<std::size_t>(t.m * t.n));
  GemmProblem<T> g{
      t.m, t.n, t.k, {in.a, t.a.row, t.a.column}, {in.b, t.b.row, t.b.column}, {c.data(), t.c.row, t.c.column}};
  g.accumulate = t.accumulate;
  g.sign = static_cast<T>(t.sign);
  if (t.epilogue) g.epilogue = {in.bias, t.bias_of_rows, !t.bias_of_rows, t.activation};
  if (t.gate) g.epilogue.gate = in.gate;
  if (t.residual) g.epilogue.residual = in.residual;
  if (t.preactivation) g.epilogue.preactivation = hidden.data();
  g.epilogue.gate_row = g.epilogue.residual_row = g.epilogue.preactivation_row = t.n;
  gemm(g);
  double worst = 0;
  const auto check = [&](double got, double expected, double scale) {
    const double error = std::abs(got - expected) / scale;
    if (!(error <= worst)) worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  };
  for (int64_t i = 0; i < t.m; ++i)
    for (int64_t j = 0; j < t.n; ++j) {
      const auto at = static_cast<std::size_t>(i * t.n + j);
      double y = want.sums[at];
      if (t.accumulate) y += static_cast<double>(in.before[in.place(t, i, j)]);
      if (t.epilogue) y += static_cast<double>(in.bias[t.bias_of_rows ? i : j]);
      if (t.preactivation) check(hidden[at], y, want.scales[at]);
      if (t.activation == Activation::relu) y = std::max(y, 0.0);
      if (t.gate) y *= static_cast<double>(in.gate[at]);
      if (t.residual) y += static_cast<double>(in.residual[at]);
      T& got = c[in.place(t, i, j)];
      check(got, y, want.scales[at]);
      got = static_cast<T>(untouched);
    }
  if (std::any_of(c.begin(), c.end(), [](T x) { return x != static_cast<T>(untouched); }))
    worst = std::numeric_limits<double>::infinity();
  return worst;
}

// All instruction sets, each with its own Context.
class Contexts {
 public:
  Contexts() {
    for (Isa isa : available_isas()) {
      all_.push_back(std::make_unique<Context>());
      all_.back()->set_isa(isa);
    }
  }
  template <class F>
  void each(F f) {
    for (const auto& context : all_) {
      const ContextScope scope(*context);
      f(context->isa());
    }
  }

 private:
  std::vector<std::unique_ptr<Context>> all_;
};

template <class T>
void check_trial(const SizesTrial& t, Contexts& contexts, double tolerance) {
  const Operands<T> in(t);
  const Reference<T> want(t, in.a, in.b);
  contexts.each([&](Isa isa) {
    const double error = error_of(t, in, want);
    if (error <= tolerance) return;
    CAPTURE(isa_name(isa));
    CAPTURE(t.m);
    CAPTURE(t.n);
    CAPTURE(t.k);
    CAPTURE(t.accumulate);
    CAPTURE(t.epilogue);
    CHECK(error <= tolerance);
  });
}

void check_random_trial(int64_t m, int64_t n, int64_t k, std::uint64_t seed, Contexts& contexts) {
  Dice dice(seed);
  const bool is_double = dice(4) == 0;
  const SizesTrial t = random_trial(m, n, k, dice);
  if (is_double) check_trial<double>(t, contexts, 2e-15);
  else check_trial<float>(t, contexts, 1e-6);
}

}  // namespace

TEST_CASE("gemm: all sizes from 1 to 40, with varying layouts and epilogues, on every instruction set") {
  Contexts contexts;
  const unsigned step = sweep(1u, 13u);  // even the short sweep has every pair of sizes
  std::uint64_t seed = 0;
  for (int64_t m = 1; m <= 40; ++m)
    for (int64_t n = 1; n <= 40; ++n)
      for (int64_t k = 1; k <= 40; ++k)
        if (++seed % step == 0) check_random_trial(m, n, k, seed, contexts);
  CHECK(seed == 64000);
}

TEST_CASE("gemm: random sizes up to 700") {
  Contexts contexts;
  Dice dice(11);
  const auto size = [&] { return 1 + (dice(4) == 0 ? dice(20) : dice(700)); };
  for (std::uint64_t seed = 0; seed < sweep(24u, 5u); ++seed) {
    const int64_t m = size(), n = size(), k = size();
    check_random_trial(m, n, k, seed, contexts);
  }
}

// Compares only the class of each element: finite, infinite or NaN. As long as products and sums in f64 don't overflow,
// they have the same class as the exact values.
TEST_CASE("gemm: NaN and infinity affect the right elements and no others") {
  Contexts contexts;
  const float inf = std::numeric_limits<float>::infinity(), special[] = {inf, -inf, std::nanf(""), 0, 0, 0};
  for (std::uint64_t seed = 1; seed <= sweep(150u, 30u); ++seed) {
    Dice dice(seed);
    const int64_t m = 1 + dice(seed % 3 ? 60 : 8), n = 1 + dice(90), k = 1 + dice(60);
    const SizesTrial t{m, n, k, random_layout(dice, m, k), random_layout(dice, k, n), random_layout(dice, m, n)};
    const Operands<float> in(t);
    std::vector<float> a(in.a, in.a + extent(m, k, t.a)), b(in.b, in.b + extent(k, n, t.b));
    for (std::vector<float>* x : {&a, &b})
      for (int i = 0; i < 3; ++i)
        (*x)[static_cast<std::size_t>(dice(static_cast<int64_t>(x->size())))] = special[dice(6)];
    const Reference<float> want(t, a.data(), b.data());
    contexts.each([&](Isa isa) {
      std::vector<float> c(in.before);
      gemm(GemmProblem<float>{
          m, n, k, {a.data(), t.a.row, t.a.column}, {b.data(), t.b.row, t.b.column}, {c.data(), t.c.row, t.c.column}});
      int wrong = 0;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const auto at = static_cast<std::size_t>(i * n + j);
          const double x = c[in.place(t, i, j)], y = want.sums[at];
          if (std::isfinite(y)) wrong += !(std::abs(x - y) <= 1e-6 * want.scales[at]);
          else wrong += std::isnan(y) ? !std::isnan(x) : x != y;
        }
      CAPTURE(isa_name(isa));
      CAPTURE(seed);
      CHECK(wrong == 0);
    });
  }
}

// Multiplies multiples of the smallest positive number by small whole numbers, so that every sum is exact.
TEST_CASE("gemm: denormal numbers are neither lost nor rounded") {
  Contexts contexts;
  const float smallest = std::numeric_limits<float>::denorm_min();
  for (const int64_t m : {1, 5, 8, 9, 40})
    for (const int64_t n : {1, 7, 16, 50})
      for (const int layout : {0, 1, 2, 3}) {
        const int64_t k = 21;
        std::vector<float> a(static_cast<std::size_t>(m * k)), b(static_cast<std::size_t>(k * n));
        Dice dice(static_cast<std::uint64_t>(m * 100 + n));
        for (float& x : a) x = static_cast<float>(dice(201) - 100) * smallest;
        for (float& x : b) x = static_cast<float>(dice(7) - 3);
        const Layout la = layout & 1 ? Layout{1, m} : Layout{k, 1}, lb = layout & 2 ? Layout{1, k} : Layout{n, 1};
        const Reference<float> want({m, n, k, la, lb, {n, 1}}, a.data(), b.data());
        contexts.each([&](Isa) {
          std::vector<float> c(static_cast<std::size_t>(m * n));
          gemm(GemmProblem<float>{
              m, n, k, {a.data(), la.row, la.column}, {b.data(), lb.row, lb.column}, {c.data(), n, 1}});
          CHECK(std::equal(c.begin(), c.end(), want.sums.begin(), [](float x, double y) { return x == y; }));
        });
      }
}

}  // namespace weft::test
