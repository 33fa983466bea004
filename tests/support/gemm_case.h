// Compares a product that gemm computes, in f32 or bf16, with f64 sums of the same numbers. The error bound of an
// element is the bound for f32 sums, (k + 2) 2^-24 Σ |a b|, increased by the error of the epilogue. It also includes k
// 2^-126, because vdpbf16ps and bfdot treat denormals as 0. If C is bf16, it includes one rounding to bf16.
#pragma once
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dense/gemm.h"
#include "dense/packing.h"
#include "weft/context.h"
#include "weft/random.h"

namespace weft::test {
using namespace detail;

using std::int64_t;

inline constexpr double u = 0x1p-24, least_normal = 0x1p-126;

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : random_(seed) {}
  int64_t operator()(int64_t bound) {
    return static_cast<int64_t>(random_.uniform(next_++) * static_cast<double>(bound));
  }

 private:
  Random random_;
  std::size_t next_ = 0;
};

struct Layout {
  int64_t row, column;
  int64_t extent(int64_t rows, int64_t columns) const {
    return rows == 0 || columns == 0 ? 0 : (rows - 1) * row + (columns - 1) * column + 1;
  }
};

// Returns a random layout. Either the rows or the columns are contiguous, with or without gaps between them, or neither
// of them is contiguous.
inline Layout random_layout(Dice& dice, int64_t rows, int64_t columns) {
  const int64_t step = dice(5) == 0 ? 2 + dice(3) : 1, gap = dice(3) == 0 ? 1 + dice(9) : 0;
  return dice(2) == 0 ? Layout{step * columns + gap, step} : Layout{step, step * rows + gap};
}

struct Trial {
  int64_t m, n, k;
  Layout a, b, c;
  int64_t batch = 1;
  bool accumulate = false, bias = false, bias_of_rows = false, gate = false, residual = false, preactivation = false;
  bool packed = false;  // whether B is packed
  Activation activation = Activation::none;
  double sign = 1;
  Triangle triangle = Triangle::none;

  bool epilogue() const { return bias || gate || residual || preactivation || activation != Activation::none; }
};

using weft::to_string;  // of shapes

// Describes a trial in messages.
inline std::string to_string(const Trial& t) {
  const auto strides = [](const Layout& x) { return std::to_string(x.row) + ":" + std::to_string(x.column); };
  return std::to_string(t.batch) + " x " + std::to_string(t.m) + "x" + std::to_string(t.n) + "x" + std::to_string(t.k) +
         ", strides " + strides(t.a) + " " + strides(t.b) + " " + strides(t.c) + (t.accumulate ? ", accumulated" : "") +
         (t.epilogue() ? ", epilogue" : "") + (t.packed ? ", packed" : "") + ", triangle " +
         std::to_string(static_cast<int>(t.triangle)) + ", sign " + std::to_string(t.sign);
}

inline Trial random_trial(int64_t m, int64_t n, int64_t k, Dice& dice) {
  Trial t{m, n, k, random_layout(dice, m, k), random_layout(dice, k, n), random_layout(dice, m, n)};
  t.accumulate = dice(3) == 0;
  t.sign = dice(6) == 0 ? -1 : 1;
  if (dice(6) == 0) t.batch = 1 + dice(3);
  if (dice(8) == 0) t.triangle = dice(2) == 0 ? Triangle::lower : Triangle::upper;
  if (dice(2) == 0 || t.batch > 1) return t;
  t.c = {n + dice(5), 1};
  t.bias = dice(2) == 0;
  t.bias_of_rows = dice(3) == 0;
  constexpr Activation some[] = {Activation::none, Activation::relu, Activation::silu};
  t.activation = some[dice(3)];
  t.gate = dice(2) == 0;
  t.residual = dice(2) == 0;
  t.preactivation = dice(2) == 0;
  t.packed = dice(3) == 0;
  return t;
}

template <class T>
std::vector<T> numbers(int64_t count, std::uint64_t seed) {
  const Random random(seed);
  std::vector<T> all(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = T(static_cast<float>(2 * random.uniform(i) - 1));
  return all;
}

// A number and the bound on its error.
struct Known {
  double value, error;
};

template <class Out>
bool is(Out got, const Known& want) {
  const double rounding = std::is_same_v<Out, float> ? 0 : 0x1p-8 * (std::abs(want.value) + want.error) + least_normal;
  return std::abs(static_cast<double>(static_cast<float>(got)) - want.value) <= want.error + rounding;
}

// The matrices of a trial, and the expected product.
template <class T>
struct Case {
  using In = GemmIn<T>;
  using Out = GemmOut<T>;
  Trial t;
  std::vector<In> a, b;
  std::vector<GemmSum<T>> bias;
  std::vector<Out> gate, residual, before;
  std::vector<Known> hidden, want;  // (batch, m, n)

  explicit Case(const Trial& trial)
      : t(trial),
        a(numbers<In>(t.batch * t.a.extent(t.m, t.k), 1)),
        b(numbers<In>(t.batch * t.b.extent(t.k, t.n), 2)),
        bias(numbers<GemmSum<T>>(t.m + t.n, 3)),
        gate(numbers<Out>(t.m * t.n, 4)),
        residual(numbers<Out>(t.m * t.n, 5)),
        before(numbers<Out>(t.batch * t.c.extent(t.m, t.n), 6)) {
    if (t.triangle != Triangle::none)
      for (int64_t item = 0; item < t.batch; ++item)
        for (int64_t i = 0; i < t.m; ++i)
          for (int64_t p = 0; p < t.k; ++p)
            if (t.triangle == Triangle::lower ? p > i : p < i) a[at(item, t.a, t.m, t.k, i, p)] = In(0.f);
    for (int64_t item = 0; item < t.batch; ++item)
      for (int64_t i = 0; i < t.m; ++i)
        for (int64_t j = 0; j < t.n; ++j) add_element(item, i, j);
  }

  static std::size_t at(int64_t item, const Layout& l, int64_t rows, int64_t columns, int64_t i, int64_t j) {
    return static_cast<std::size_t>(item * l.extent(rows, columns) + i * l.row + j * l.column);
  }

  void add_element(int64_t item, int64_t i, int64_t j) {
    double sum = 0, scale = 0;
    const auto add = [&](double x) {
      sum += x;
      scale += std::abs(x);
    };
    for (int64_t p = 0; p < t.k; ++p)
      add(t.sign * static_cast<double>(float(a[at(item, t.a, t.m, t.k, i, p)])) *
          static_cast<double>(float(b[at(item, t.b, t.k, t.n, p, j)])));
    if (t.accumulate) add(float(before[at(item, t.c, t.m, t.n, i, j)]));
    if (t.bias) add(bias[static_cast<std::size_t>(t.bias_of_rows ? i : j)]);
    const auto k = static_cast<double>(t.k);
    Known y{sum, (k + 2) * u * scale + k * least_normal};
    hidden.push_back(y);
    if (t.activation == Activation::relu) y.value = std::max(y.value, 0.0);
    if (t.activation == Activation::silu) y = {sum / (1 + std::exp(-sum)), 1.1 * y.error + 8 * u * std::abs(sum)};
    const auto place = static_cast<std::size_t>(i * t.n + j);
    if (t.gate) {
      const double g = float(gate[place]);
      y = {y.value * g, (y.error + u * std::abs(y.value)) * std::abs(g)};
    }
    if (t.residual) {
      y.value += float(residual[place]);
      y.error += u * std::abs(y.value);
    }
    want.push_back(y);
  }

  // Returns C and the pre-activation.
  std::pair<std::vector<Out>, std::vector<Out>> run(const GemmKernels<T>& kernel = gemm_kernels<T>()) const {
    std::vector<Out> c = before, p(hidden.size());
    std::vector<In> panels;
    GemmProblem<T> g{t.m,
                     t.n,
                     t.k,
                     {a.data(), t.a.row, t.a.column},
                     {b.data(), t.b.row, t.b.column},
                     {c.data(), t.c.row, t.c.column}};
    g.accumulate = t.accumulate;
    g.sign = static_cast<float>(t.sign);
    g.a_triangle = t.triangle;
    if (t.batch > 1) g.batch = {{t.batch, t.a.extent(t.m, t.k), t.b.extent(t.k, t.n), t.c.extent(t.m, t.n)}};
    if (t.bias) g.epilogue = {bias.data(), t.bias_of_rows, !t.bias_of_rows};
    g.epilogue.activation = t.activation;
    if (t.gate) g.epilogue.gate = gate.data();
    if (t.residual) g.epilogue.residual = residual.data();
    if (t.preactivation) g.epilogue.preactivation = p.data();
    g.epilogue.gate_row = g.epilogue.residual_row = g.epilogue.preactivation_row = t.n;
    if (t.packed) {
      panels.resize(static_cast<std::size_t>(panel_layout<In>(t.k, t.n).elements()));
      pack_b<In>(t.k, t.n, g.b, panels.data());
      g.packed_b = panels.data();
    }
    gemm(g, kernel);
    return {c, p};
  }

  int64_t wrong(const std::pair<std::vector<Out>, std::vector<Out>>& got) const {
    int64_t count = 0;
    std::vector<bool> written(before.size(), false);
    std::size_t next = 0;
    for (int64_t item = 0; item < t.batch; ++item)
      for (int64_t i = 0; i < t.m; ++i)
        for (int64_t j = 0; j < t.n; ++j, ++next) {
          const std::size_t to = at(item, t.c, t.m, t.n, i, j);
          written[to] = true;
          count += !is(got.first[to], want[next]) || (t.preactivation && !is(got.second[next], hidden[next]));
        }
    for (std::size_t i = 0; i < before.size(); ++i)
      count += !written[i] && std::memcmp(&before[i], &got.first[i], sizeof(Out)) != 0;
    return count;
  }
};

template <class X>
bool same(const std::vector<X>& a, const std::vector<X>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(X)) == 0);
}

// Contexts of every instruction set, each with one and with two threads.
class Contexts {
 public:
  Contexts() {
    for (Isa isa : available_isas())
      for (int threads : {1, 2}) {
        all_.push_back(std::make_unique<Context>());
        all_.back()->set_isa(isa);
        all_.back()->set_threads(threads);
      }
  }
  template <class F>
  void each(F f) {
    for (const auto& context : all_) {
      const ContextScope scope(*context);
      f(*context);
    }
  }

 private:
  std::vector<std::unique_ptr<Context>> all_;
};

template <class T>
void check_of(const Trial& t, Contexts& contexts) {
  const Case<T> c(t);
  std::pair<std::vector<GemmOut<T>>, std::vector<GemmOut<T>>> single;
  contexts.each([&](Context& context) {
    const auto got = c.run();
    const int64_t wrong = c.wrong(got);
    const bool repeats = context.threads() == 1 || (same(got.first, single.first) && same(got.second, single.second));
    if (context.threads() == 1) single = got;
    if (wrong == 0 && repeats) return;
    CAPTURE(isa_name(context.isa()));
    CAPTURE(to_string(t));
    CHECK(wrong == 0);
    CHECK(repeats);
  });
}

inline void check(const Trial& t, Contexts& contexts) {
  check_of<bfloat16>(t, contexts);
  check_of<Bf16ToF32>(t, contexts);
}

}  // namespace weft::test
