// Tests that the way in which gemm splits matrices does not change a product's bits. gemm splits k into blocks and C
// into tasks, and the sizes depend on the CPU's caches.
#include <doctest/doctest.h>

#include "every_isa.h"
#include "gemm_case.h"
#include "sweep.h"

namespace weft::test {

namespace {

template <class T>
void check_blocks(std::uint64_t seed) {
  Dice dice(seed);
  const int64_t m = 1 + dice(60), n = 1 + dice(90), k = 1 + dice(300);
  Trial t = random_trial(m, n, k, dice);
  t.packed = false;  // packed panels always have the default blocks
  const Case<T> product(t);
  const auto usual = product.run();
  for (const int64_t kc : {2, 16, 50, 96}) {
    GemmKernels<T> kernel = gemm_kernels<T>();
    kernel.kc = kc;
    kernel.mc = (1 + dice(3)) * kernel.mr;
    kernel.nc = (1 + dice(3)) * kernel.nr;
    const auto cut = product.run(kernel);
    CHECK_MESSAGE(same(cut.first, usual.first), "blocks of ", kc, ": ", to_string(t));
    CHECK_MESSAGE(same(cut.second, usual.second), "pre-activation, blocks of ", kc, ": ", to_string(t));
  }
}

template <class T>
void check_parts(std::uint64_t seed) {
  Dice dice(seed);
  const int64_t m = 17 + dice(20), n = 17 + dice(20), k = 4097 + dice(5000);
  Trial t{m, n, k, random_layout(dice, m, k), random_layout(dice, k, n), random_layout(dice, m, n)};
  t.accumulate = seed % 2 == 0;
  t.sign = seed % 3 == 0 ? -1 : 1;
  const Case<T> product(t);
  for_every_isa([&](Context& context) {
    context.set_threads(1);
    const auto alone = product.run();
    CHECK_MESSAGE(product.wrong(alone) == 0, to_string(t));
    context.set_threads(2);
    CHECK_MESSAGE(same(product.run().first, alone.first), to_string(t));
  });
}

}  // namespace

TEST_CASE("gemm blocks: a sum of many products is a sum of parts, with any strides") {
  for (std::uint64_t seed = 1; seed <= sweep(6u, 2u); ++seed) {
    check_parts<float>(seed);
    check_parts<double>(seed);
    check_parts<Bf16ToF32>(seed);
  }
}

// A single chain of additions would have an error of 1e-3, because many consecutive additions round in the same
// direction.
TEST_CASE("gemm blocks: a sum of many products of the same sign keeps its digits") {
  constexpr int64_t m = 18, k = 1 << 17, row = m + 3;
  const std::vector<float> a(m * k, 0.1f), b(k * m, 1.0f);
  for_every_isa([&] {
    for (const bool c_lower : {false, true}) {
      std::vector<float> c(m * row, -1);
      GemmProblem<float> g{m, m, k, {a.data(), k, 1}, {b.data(), m, 1}, {c.data(), row, 1}};
      g.c_lower = c_lower;
      gemm(g);
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < row; ++j) {
          const double got = c[static_cast<std::size_t>(i * row + j)];
          if (j >= m) CHECK(got == -1);
          else if (!c_lower || j <= i) CHECK(std::abs(got / (k * static_cast<double>(0.1f)) - 1) < 5e-5);
        }
    }
  });
}

TEST_CASE("gemm blocks: other splits of k, rows and columns don't change a bit") {
  for_every_isa([] {
    for (std::uint64_t seed = 1; seed <= sweep(40u, 6u); ++seed) {
      check_blocks<float>(seed);
      check_blocks<double>(seed);
      check_blocks<bfloat16>(seed);
      check_blocks<Bf16ToF32>(seed);
    }
  });
}

TEST_CASE("gemm blocks: they follow L2, are at most as long as the table's, and hold at least 256 KiB of B") {
  for_every_isa([] {
    const GemmKernels<float>& table = kernels<GemmKernels<float>>();
    const int64_t least = std::min(table.kc, (256 << 10) / (table.nc * int64_t{sizeof(float)}));
    CHECK(gemm_kernels<float>(int64_t{1} << 30).kc == table.kc);
    CHECK(gemm_kernels<float>(int64_t{1} << 20).kc == table.kc);
    CHECK(gemm_kernels<float>(512 << 10).kc == std::max(table.kc / 2, least));
    CHECK(gemm_kernels<float>(0).kc == least);
  });
}

}  // namespace weft::test
