// Tests of random numbers: Philox's published vectors, distributions, independence of threads and order.
#include "weft/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "weft/context.h"

namespace {

using weft::DType;
using weft::Random;
using weft::Shape;
using weft::Tensor;

using Words = std::array<std::uint32_t, 4>;

double mean_of(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// The mean of x^power.
double moment(std::vector<double> x, int power) {
  for (double& v : x) v = std::pow(v, power);
  return mean_of(x);
}

}  // namespace

// From the file kat_vectors of Random123, lines "philox4x32 10".
TEST_CASE("random: Philox4x32-10 gives the published words") {
  CHECK(weft::philox(0, 0, 0) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(weft::philox(~0ull, ~0ull, ~0ull) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(weft::philox(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("random: elements are the words of Philox in order") {
  CHECK(Random(0).bits(0) == 0xe169c58d6627e8d5);
  CHECK(Random(0).bits(1) == 0x9b00dbd8bc57ac4c);
  CHECK(Random(7, 3).bits(10) == ((std::uint64_t{weft::philox(5, 3, 7)[1]} << 32) | weft::philox(5, 3, 7)[0]));
  CHECK(Random(0).uniform(0) == static_cast<double>(0xe169c58d6627e8d5 >> 11) / 9007199254740992.0);
}

TEST_CASE("random: normal numbers follow Box and Muller within 1e-14, with the same bits on every machine") {
  const double pi = std::acos(-1.0);
  const Random random(11, 2);
  for (std::uint64_t i = 0; i < 20000; i += 2) {
    const double u = static_cast<double>((random.bits(i) >> 11) + 1) / 9007199254740992.0;
    const double r = std::sqrt(-2 * std::log(u)), angle = 2 * pi * random.uniform(i + 1);
    CHECK(std::fabs(random.normal(i) - r * std::cos(angle)) < 1e-14);
    CHECK(std::fabs(random.normal(i + 1) - r * std::sin(angle)) < 1e-14);
  }
  CHECK(Random(0).normal(0) == -0x1.973628c131c04p-2);
  CHECK(Random(0).normal(1) == -0x1.3dd84ff91e709p-2);
  CHECK(Random(1, 2).normal(1000000007) == 0x1.f84cd1b1d78a3p-1);
}

TEST_CASE("random: moments of uniform and normal numbers") {
  const std::int64_t n = 1 << 20;
  const std::vector<double> u = Random(5).uniform({n}, 0, 1, DType::f64).to_vector<double>();
  CHECK(mean_of(u) == doctest::Approx(0.5).epsilon(0.002));
  CHECK(moment(u, 2) == doctest::Approx(1.0 / 3).epsilon(0.003));
  CHECK(*std::min_element(u.begin(), u.end()) >= 0);
  CHECK(*std::max_element(u.begin(), u.end()) < 1);
  const std::vector<double> z = Random(5, 1).normal({n}, 0, 1, DType::f64).to_vector<double>();
  CHECK(std::fabs(mean_of(z)) < 0.004);
  CHECK(moment(z, 2) == doctest::Approx(1).epsilon(0.006));
  CHECK(std::fabs(moment(z, 3)) < 0.02);
  CHECK(moment(z, 4) == doctest::Approx(3).epsilon(0.015));
  double neighbors = 0;
  for (std::size_t i = 1; i < z.size(); ++i) neighbors += z[i] * z[i - 1];
  CHECK(std::fabs(neighbors / static_cast<double>(n)) < 0.004);
}

TEST_CASE("random: tensors contain the stream's elements for any number of threads") {
  const Random random(3, 9);
  weft::Context context;
  const weft::ContextScope scope(context);
  for (int threads : {1, 2, 5}) {
    context.set_threads(threads);
    for (std::int64_t n : {0, 1, 2, 7, 16384, 50001}) {
      const Tensor u = random.uniform({n}, -2, 3, DType::f64), z = random.normal({n}, 1, 0.5, DType::f64);
      const auto a = u.to_vector<double>(), b = z.to_vector<double>();
      for (std::size_t i = 0; i < a.size(); i += (i < 100 ? 1 : 997)) {
        CHECK(a[i] == -2 + 5 * random.uniform(i));
        CHECK(b[i] == 1 + 0.5 * random.normal(i));
      }
    }
  }
  const auto f = random.normal({3, 5}, 0, 1).to_vector<float>();
  for (std::size_t i = 0; i < f.size(); ++i) CHECK(f[i] == static_cast<float>(random.normal(i)));
  CHECK(random.normal({}, 0, 1).rank() == 0);
}

TEST_CASE("random: uniform numbers stay below the upper bound in f32, too") {
  const float high = 1.0f + 0x1p-23f;
  const auto x = Random(1).uniform({4096}, 1.0, high).to_vector<float>();
  CHECK(std::all_of(x.begin(), x.end(), [](float v) { return v == 1.0f; }));
  const auto same = Random(1).uniform({4}, 2.5, 2.5).to_vector<float>();
  CHECK(std::all_of(same.begin(), same.end(), [](float v) { return v == 2.5f; }));
}

TEST_CASE("random: whole numbers below n") {
  const Random random(8);
  std::vector<int> seen(7);
  for (std::uint64_t i = 0; i < 70000; ++i) {
    const std::uint64_t k = random.below(i, 7);
    REQUIRE(k < 7);
    ++seen[k];
  }
  for (int count : seen) CHECK(std::abs(count - 10000) < 500);
  CHECK(random.below(5, 1) == 0);
  CHECK(random.below(5, ~0ull) < ~0ull);
}

TEST_CASE("random: different seeds, streams and children give different numbers") {
  std::set<std::uint64_t> first;
  std::size_t generators = 0;
  for (std::uint64_t k = 0; k < 100; ++k) {
    const Random parent(k);
    for (const Random& r : {parent, Random(0, k + 1), parent.split(0), parent.split(1), parent.split(0).split(0),
                            parent.split(1).split(0)}) {
      for (std::uint64_t i = 0; i < 3; ++i) first.insert(r.bits(i));
      ++generators;
    }
  }
  CHECK(first.size() == 3 * generators);
  CHECK(Random(4).split(2).bits(0) == Random(4).split(2).bits(0));
}

TEST_CASE("random: invalid arguments are errors") {
  CHECK_THROWS_AS(Random(1).uniform({2}, 1, 0), weft::Error);
  CHECK_THROWS_AS(Random(1).uniform({2}, 0, INFINITY), weft::Error);
  CHECK_THROWS_AS(Random(1).uniform({2}, NAN, 1), weft::Error);
  CHECK_THROWS_AS(Random(1).uniform({2}, -1e39, 0), weft::Error);  // below the range of f32
  CHECK_THROWS_AS(Random(1).uniform({2}, 0, 1e39), weft::Error);
  CHECK(Random(1).uniform({2}, -1e39, 1e39, DType::f64).numel() == 2);
  CHECK_THROWS_AS(Random(1).uniform({2}, 0, 1, DType::i64), weft::Error);
  CHECK_THROWS_AS(Random(1).normal({2}, 0, 1, DType::c64), weft::Error);
  CHECK_THROWS_AS(Random(1).normal({-2}, 0, 1), weft::Error);
}
