// Tests the radices and lengths that plans choose, the cache of plans, plans that many threads use, and invalid
// lengths.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <thread>

#include "op_table.h"
#include "spectral/fft_derived_plans.h"
#include "spectral/fft_roots.h"
#include "spectral/plan_cache.h"
#include "weft/context.h"
#include "weft/os.h"

namespace weft::test {
using namespace detail;

namespace {

using std::int64_t;

// A cache holds plans of up to 32 MiB in total, and always at least one plan. It has room for eight short plans of this
// class.
class LargePlan {
 public:
  explicit LargePlan(int64_t n) : n_(n) {}
  int64_t length() const noexcept { return n_; }
  std::size_t bytes() const noexcept { return std::size_t{n_ < 1000 ? 4U : 64U} << 20; }

 private:
  int64_t n_;
};

struct Caught {
  std::string message;
  bool starts_with(const std::string& op) const { return message.rfind("[" + op + "] ", 0) == 0; }
};
Caught error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return {e.what()};
  }
  return {"no error"};
}

// Runs f(index) concurrently on `count` threads. Thread `index` uses contexts[index % contexts.size()].
void run_threads(int count, const std::vector<std::unique_ptr<Context>>& contexts, const std::function<void(int)>& f) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      const ContextScope scope(*contexts[static_cast<std::size_t>(i) % contexts.size()]);
      --waiting;
      while (waiting > 0) std::this_thread::yield();  // all start together
      f(i);
    });
  for (std::thread& thread : threads) thread.join();
}

std::vector<std::unique_ptr<Context>> serial_contexts(std::size_t count) {
  std::vector<std::unique_ptr<Context>> contexts;
  for (std::size_t i = 0; i < count; ++i) {
    contexts.push_back(std::make_unique<Context>());
    contexts.back()->set_threads(1);
  }
  return contexts;
}

// A function that uses a plan. The tests use every kind of plan: complex, real, ring and, for the longest transforms,
// four steps, each with radices and with Bluestein's algorithm.
using Work = std::function<Tensor()>;
std::vector<Work> works_of(DType dtype) {
  std::vector<Work> works;
  for (int64_t n : {1, 7, 17, 60, 96, 101, 128, 202, 16384}) {
    const Tensor x = raw::convert(random_tensor({{1, n}}, static_cast<std::uint64_t>(n)), dtype);
    works.push_back([=] { return fft(x); });
    works.push_back([=] { return irfft(rfft(x), n); });
    if (n > 1000) continue;
    works.push_back([=] { return fourier_mix(x, 0, 1); });
    const Tensor columns = reshape(x, {1, 1, n, 1}), t = reshape(x, {1, n, 1});
    works.push_back([=] { return toeplitz_product(columns, t, true, ToeplitzForm::ring); });
  }
  return works;
}

// Eight threads create and use all plans concurrently, each in a different order.
void check_threads(const std::vector<std::unique_ptr<Context>>& contexts) {
  for (DType dtype : {DType::f32, DType::f64}) {
    const std::vector<Work> works = works_of(dtype);
    std::vector<Tensor> want;
    for (const Work& work : works) want.push_back(work());
    std::atomic<int> wrong{0};
    run_threads(8, contexts, [&](int thread) {
      for (std::size_t i = 0; i < 2 * works.size(); ++i) {
        const std::size_t at = (i * 5 + static_cast<std::size_t>(thread) * 3) % works.size();
        if (!same_bits(works[at](), want[at])) ++wrong;
      }
    });
    CHECK(wrong == 0);
  }
}

}  // namespace

TEST_CASE("plans: roots of unity in long tables are correct up to the last places of long double") {
  for (int64_t n : {1000, 16383, 16384, 16385, 131074, 1999966, 2097152}) {
    CAPTURE(n);
    const UnitRoots roots(n);
    long double worst = 0;
    const int64_t step = std::max<int64_t>(1, n / 2000);
    for (int64_t i = 0; i < n; i += step)
      for (int64_t k : {i, n - 1 - i}) worst = std::max(worst, std::abs(roots(k) - unit_root(k, n)));
    CHECK(worst <= (n < 16384 ? 0 : 4 * std::numeric_limits<long double>::epsilon()));
  }
}

TEST_CASE("fft of a long prime length and of a long power of two: sampled bins follow the definition") {
  for (int64_t n : {65537, 1 << 17}) {
    CAPTURE(n);
    const Tensor x = random_tensor(complex_in({n}), 5);
    const auto* from = x.data<std::complex<double>>();
    const Tensor y = fft(x, 0), single = fft(to_single(x), 0);
    double energy = 0;
    for (int64_t j = 0; j < n; ++j) energy += std::norm(from[j]);
    for (int64_t k : {int64_t{0}, int64_t{1}, n / 3, n / 2, n - 1}) {
      Complex want = 0;
      for (int64_t j = 0; j < n; ++j) want += times(Complex(from[j]), unit_root(j * k % n, n));
      const auto error = [&](std::complex<double> got) {
        return static_cast<double>(std::abs(Complex(got) - want)) / std::sqrt(energy);
      };
      CHECK(error(y.data<std::complex<double>>()[k]) <= 1e-15);
      CHECK(error(std::complex<double>(single.data<std::complex<float>>()[k])) <= 5e-7);
    }
  }
}

TEST_CASE("spectral plans: radices for smooth lengths, Bluestein for other lengths") {
  const auto sorted = [](int64_t n) {
    std::vector<int64_t> radices = fft_radices(n);
    std::sort(radices.begin(), radices.end());
    return radices;
  };
  using Radices = std::vector<int64_t>;
  CHECK(sorted(1) == Radices{1});
  CHECK(sorted(2) == Radices{2});
  CHECK(sorted(16) == Radices{16});
  CHECK(sorted(256) == Radices{16, 16});
  CHECK(sorted(512) == Radices{8, 8, 8});
  CHECK(sorted(96) == Radices{3, 4, 8});
  CHECK(sorted(360) == Radices{3, 3, 5, 8});
  CHECK(sorted(1000) == Radices{5, 5, 5, 8});
  CHECK(sorted(1001) == Radices{7, 11, 13});
  for (int64_t twos = 1; twos <= 24; ++twos)  // no more passes than with radix 8 alone
    CHECK(static_cast<int64_t>(fft_radices(int64_t{1} << twos).size()) <= (twos + 2) / 3);
  for (int64_t n : {96, 360, 768, 1000, 1001, 1536}) {
    const FftPlan<float> plan(n);
    CHECK(plan.view().convolution == nullptr);
    CHECK(plan.view().passes == static_cast<int64_t>(fft_radices(n).size()));
    CHECK(plan.rows() == n);
  }
  for (int64_t n : {17, 34, 97, 289, 509, 1009, 8191}) {
    CHECK(fft_radices(n).empty());
    const FftPlan<float> plan(n);
    REQUIRE(plan.view().convolution != nullptr);
    CHECK(plan.view().passes == 0);
    CHECK(plan.view().convolution->n == fft_fast_length(2 * n - 1));
    CHECK(plan.rows() == fft_fast_length(2 * n - 1));
  }
}

TEST_CASE("spectral plans: the fast length is the cheapest one according to the cost model") {
  for (int64_t n = 1; n <= 1200; ++n) {
    const double cost = fft_cost(fft_fast_length(n));
    double least = cost;
    for (int64_t m = n; m <= 2 * n; ++m)
      if (!fft_radices(m).empty()) least = std::min(least, fft_cost(m));
    CAPTURE(n);
    CHECK(cost == least);
  }
}

TEST_CASE("spectral plans: the cache is bounded, and dropped plans remain valid for their users") {
  Context context;
  const ContextScope scope(context);
  const auto used = cached_plan<LargePlan>("test", 1);
  std::vector<std::weak_ptr<const LargePlan>> made;
  const auto held = [&] { return std::count_if(made.begin(), made.end(), [](const auto& p) { return !p.expired(); }); };
  for (int64_t n = 2; n < 40; ++n) {
    made.push_back(cached_plan<LargePlan>("test", n));
    CHECK(held() <= 8);
    CHECK_FALSE(made.back().expired());
  }
  CHECK(held() == 8);
  CHECK(used->length() == 1);
  CHECK(cached_plan<LargePlan>("test", 1) != used);
  CHECK(cached_plan<LargePlan>("test", 39) == made.back().lock());
  for (int64_t n = 50; n < 56; ++n) (void)cached_plan<LargePlan>("test", n);  // the most recently used plans stay
  CHECK_FALSE(made.back().expired());
  made.push_back(cached_plan<LargePlan>("test", 1000));  // larger than the cache allows for all plans together
  CHECK(held() == 1);
  CHECK(cached_plan<LargePlan>("test", 1000) == made.back().lock());
}

TEST_CASE("spectral plans: the least recently used plan is dropped first") {
  Context context;
  const ContextScope scope(context);
  std::vector<std::weak_ptr<const LargePlan>> made;
  for (int64_t n = 1; n <= 8; ++n) made.push_back(cached_plan<LargePlan>("test", n));  // as many plans as fit
  (void)cached_plan<LargePlan>("test", 1);
  (void)cached_plan<LargePlan>("test", 9);
  CHECK_FALSE(made[0].expired());
  CHECK(made[1].expired());
  CHECK_FALSE(made[2].expired());
}

TEST_CASE("spectral plans: concurrent use of one context" * doctest::test_suite("threads")) {
  check_threads(serial_contexts(1));
}
TEST_CASE("spectral plans: concurrent use of several contexts" * doctest::test_suite("threads")) {
  check_threads(serial_contexts(3));
}

TEST_CASE("spectral plans: concurrent threads fill and empty one cache" * doctest::test_suite("threads")) {
  std::atomic<int> wrong{0};
  run_threads(8, serial_contexts(1), [&](int thread) {
    for (int64_t i = 0; i < 400; ++i) {
      const int64_t n = 1 + (i * 7 + thread * 3) % 24;
      if (cached_plan<LargePlan>("test", n)->length() != n) ++wrong;
    }
  });
  CHECK(wrong == 0);
}

TEST_CASE("spectral plans: empty and mismatched lengths give errors that name the operation") {
  const Tensor none = Tensor::zeros({3, 0}), bins = Tensor::zeros({3, 4}, DType::c64);
  const Tensor x = Tensor::zeros({2, 1, 5, 3});
  CHECK(error_of([&] { (void)fft(none); }).starts_with("fft"));
  CHECK(error_of([&] { (void)ifft(none); }).starts_with("ifft"));
  CHECK(error_of([&] { (void)rfft(none, -1); }).starts_with("rfft"));
  for (int64_t n : {-6, -1, 0, 5, 8, 1000})  // 4 bins belong to lengths 6 and 7
    CHECK(error_of([&] { (void)irfft(bins, n); }).starts_with("irfft"));
  CHECK(error_of([&] { (void)irfft(Tensor::zeros({3, 0}, DType::c64), 0); }).starts_with("irfft"));
  CHECK(error_of([&] { (void)fourier_mix(none, 0, 1); }).starts_with("fourier_mix"));
  CHECK(error_of([&] { (void)fourier_mix(none, 1, 0); }).starts_with("fourier_mix"));
  for (ToeplitzForm form : {ToeplitzForm::automatic, ToeplitzForm::naive, ToeplitzForm::matrix, ToeplitzForm::ring})
    for (const Shape& t : {Shape{1, 0, 3}, {1, 4, 3}, {1, 6, 3}, {1, 9, 3}, {2, 5, 3}, {1, 5, 2}, {5, 3}})
      CHECK(error_of([&] { (void)toeplitz_product(x, Tensor::zeros(t), true, form); }).starts_with("toeplitz_product"));
  CHECK(error_of([&] {
          (void)toeplitz_product(x, ToeplitzCoefficients(Tensor::zeros({1, 4, 3}), true));
        }).starts_with("toeplitz_product"));
  CHECK(error_of([&] {
          (void)circulant_product(Tensor::zeros({2, 0, 3}), Tensor::zeros({0, 3}));
        }).starts_with("circulant_product"));
  CHECK(error_of([&] {
          (void)circulant_product(Tensor::zeros({2, 5, 3}), Tensor::zeros({4, 3}));
        }).starts_with("circulant_product"));
}

TEST_CASE("spectral plans: sizes beyond memory give an error before any memory is touched") {
  [[maybe_unused]] const std::uint64_t before = os::peak_resident_memory();
  int64_t tables = 1 << 10;  // a length for which the tables can't be allocated, not even for half as many elements
  while (static_cast<std::uint64_t>(tables) * 48 <= os::physical_memory()) tables *= 2;
  const Tensor one = Tensor::zeros({1}), two = Tensor::zeros({1}, DType::c64);
  for (int64_t n : {tables, tables - 1, int64_t{1} << 31, int64_t{1} << 40}) {
    CAPTURE(n);
    const Tensor x = expand(one, {n, 1}), t = expand(one, {1, n, 1});
    const std::function<void()> runs[] = {
        [&] { (void)fft(x, 0); },
        [&] { (void)ifft(x, 0); },
        [&] { (void)rfft(x, 0); },
        [&] {
          (void)irfft(expand(two, {n / 2 + 1, 1}), n, 0);
        },
        [&] { (void)fourier_mix(x, 0, 1); },
        [&] { (void)fourier_mix(x, 1, 0); },
        [&] {
          (void)toeplitz_product(expand(one, {1, 1, n, 1}), t, true, ToeplitzForm::ring);
        },
        [&] { (void)ToeplitzCoefficients(t, true, 1, ToeplitzForm::ring); }};
    for (const auto& run : runs) CHECK_THROWS_AS(run(), Error);
  }
  const Tensor wide = expand(one, {64, int64_t{1} << 40});  // few elements per transform, but too many transforms
  CHECK_THROWS_AS(fft(wide, 0), Error);
  CHECK_THROWS_AS(rfft(wide, 0), Error);
  CHECK_THROWS_AS(fourier_mix(expand(one, {int64_t{1} << 36, 8, 8}), 1, 2), Error);
#ifndef __SANITIZE_ADDRESS__  // the sanitizer uses memory for an eighth of the reserved addresses
  CHECK(os::peak_resident_memory() < before + (std::uint64_t{256} << 20));
#endif
}

}  // namespace weft::test
