// The frame of the annotated programs: steps that run in file order, comparisons, times and printed lines.
// README.md describes the format of the programs.
#pragma once
#include <weft/tensor.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

namespace annotated {

struct Step {
  const char* name;
  void (*run)();
};

inline std::vector<Step>& steps() {
  static std::vector<Step> all;
  return all;
}

inline bool& failed() {
  static bool any = false;
  return any;
}

struct AddStep {
  AddStep(const char* name, void (*run)()) { steps().push_back({name, run}); }
};

// Prints a line, like printf.
[[gnu::format(printf, 1, 2)]] inline void print(const char* format, ...) {
  std::va_list arguments;
  va_start(arguments, format);
  std::vprintf(format, arguments);
  va_end(arguments);
  std::printf("\n");
}

// The largest |a_i - b_i|; infinity if the shapes differ or a number isn't finite.
inline double difference(const weft::Tensor& a, const weft::Tensor& b) {
  if (a.shape() != b.shape()) return HUGE_VAL;
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  double largest = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double d = std::abs(x[i] - y[i]);
    if (!std::isfinite(d)) return HUGE_VAL;
    largest = std::max(largest, d);
  }
  return largest;
}

// Says that both tensors are the same up to rounding: no elements differ by more than the tolerance. Otherwise the
// program fails at its end.
inline void expect_same(const char* what, const weft::Tensor& a, const weft::Tensor& b, double tolerance = 1e-10) {
  const double d = difference(a, b);
  if (d <= tolerance) {
    print("%s: the same", what);
    return;
  }
  failed() = true;
  print("%s: DIFFERENT, %s and %s, by %g", what, weft::to_string(a.shape()).c_str(), weft::to_string(b.shape()).c_str(),
        d);
}

// Says whether a statement holds. Otherwise the program fails at its end.
inline void expect(const char* what, bool holds) {
  if (!holds) failed() = true;
  print("%s: %s", what, holds ? "yes" : "NO");
}

// The time of f in microseconds: the median of runs that together take at least 2 ms.
template <class F>
double microseconds(const F& f) {
  using Clock = std::chrono::steady_clock;
  const auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  f();  // makes plans and touches memory
  std::vector<double> runs;
  for (const auto start = Clock::now(); runs.size() < 5 || since(start) < 2000;) {
    const auto begin = Clock::now();
    f();
    runs.push_back(since(begin));
  }
  std::nth_element(runs.begin(), runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2), runs.end());
  return runs[runs.size() / 2];
}

// Runs all steps, and prints each one's name above its lines. Returns main's result.
inline int run_steps() {
  for (const Step& step : steps()) {
    print("[%s]", step.name);
    try {
      step.run();
    } catch (const std::exception& error) {
      failed() = true;
      print("ERROR: %s", error.what());
    }
    print("%s", "");
  }
  return failed() ? 1 : 0;
}

}  // namespace annotated

using annotated::expect;
using annotated::expect_same;
using annotated::microseconds;
using annotated::print;

#define ANNOTATED_JOIN(a, b) a##b
#define ANNOTATED_NAME(a, line) ANNOTATED_JOIN(a, line)

// STEP("Name") { ... } defines a step.
#define STEP(name)                                                                                            \
  static void ANNOTATED_NAME(step_, __LINE__)();                                                              \
  static const annotated::AddStep ANNOTATED_NAME(add_step_, __LINE__)(name, ANNOTATED_NAME(step_, __LINE__)); \
  static void ANNOTATED_NAME(step_, __LINE__)()

int main() { return annotated::run_steps(); }
