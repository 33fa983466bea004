// Used by all annotated programs: steps that run in file order, comparisons, measured times and printed lines.
// README.md describes the format of the programs.
#pragma once
#include <weft/tensor.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <complex>
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

// Returns the largest |a_i - b_i|, or infinity if the sizes differ or a number isn't finite.
template <class T>
double difference(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return HUGE_VAL;
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(a[i] - b[i]);
    if (!std::isfinite(d)) return HUGE_VAL;
    largest = std::max(largest, d);
  }
  return largest;
}

// Returns the largest |a_i - b_i| of two f64 or c128 tensors, or infinity if the shapes differ or a number isn't
// finite.
inline double difference(const weft::Tensor& a, const weft::Tensor& b) {
  if (a.shape() != b.shape()) return HUGE_VAL;
  using Complex = std::complex<double>;
  if (a.dtype() == weft::DType::c128)
    return difference(a.to_vector<Complex>(), b.to_vector<Complex>());
  return difference(a.to_vector<double>(), b.to_vector<double>());
}

// Prints the verdict of expect_same. The sizes are printed only if the numbers differ.
inline void print_same(const char* what, double difference, double tolerance,
                       const std::string& sizes) {
  if (difference <= tolerance) return print("%s: the same", what);
  failed() = true;
  print("%s: DIFFERENT, %s, by %g", what, sizes.c_str(), difference);
}

// Prints whether both are the same up to rounding. They are if no two elements differ by more than the tolerance. If
// they aren't, the program fails at its end.
inline void expect_same(const char* what, const weft::Tensor& a, const weft::Tensor& b,
                        double tolerance = 1e-10) {
  print_same(what, difference(a, b), tolerance,
             weft::to_string(a.shape()) + " and " + weft::to_string(b.shape()));
}
template <class T>
void expect_same(const char* what, const std::vector<T>& a, const std::vector<T>& b,
                 double tolerance = 1e-10) {
  print_same(what, difference(a, b), tolerance,
             std::to_string(a.size()) + " and " + std::to_string(b.size()));
}
inline void expect_same(const char* what, double a, double b,
                        double tolerance = 1e-10) {
  print_same(what, std::isfinite(a - b) ? std::abs(a - b) : HUGE_VAL, tolerance,
             std::to_string(a) + " and " + std::to_string(b));
}

// Prints whether a statement holds. If it doesn't, the program fails at its end.
inline void expect(const char* what, bool holds) {
  if (!holds) failed() = true;
  print("%s: %s", what, holds ? "yes" : "NO");
}

// Returns the time of f in microseconds: the median of at least 5 runs that together take at least 2 ms.
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
  std::nth_element(runs.begin(),
                   runs.begin() + static_cast<std::ptrdiff_t>(runs.size() / 2),
                   runs.end());
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
#define STEP(name)                                                     \
  static void ANNOTATED_NAME(step_, __LINE__)();                       \
  static const annotated::AddStep ANNOTATED_NAME(add_step_, __LINE__)( \
      name, ANNOTATED_NAME(step_, __LINE__));                          \
  static void ANNOTATED_NAME(step_, __LINE__)()

int main() { return annotated::run_steps(); }
