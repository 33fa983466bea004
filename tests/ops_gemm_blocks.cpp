// How gemm cuts matrices changes no bit of a product: blocks of k, tasks' shares of C, and so the CPU's caches.
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
  t.packed = false;  // its panels are those of the usual blocks
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

}  // namespace

TEST_CASE("gemm blocks: how k, rows and columns are cut changes no bit") {
  for_every_isa([] {
    for (std::uint64_t seed = 1; seed <= sweep(40u, 6u); ++seed) {
      check_blocks<float>(seed);
      check_blocks<double>(seed);
      check_blocks<bfloat16>(seed);
      check_blocks<Bf16ToF32>(seed);
    }
  });
}

TEST_CASE("gemm blocks: they follow L2, no longer than the table's and no shorter than for 256 KiB of B") {
  for_every_isa([] {
    const GemmKernels<float>& table = kernels<GemmKernels<float>>();
    const auto bytes = [&](int64_t kc) { return kc * table.nc * int64_t{sizeof(float)}; };
    CHECK(gemm_kernels<float>(int64_t{1} << 30).kc == table.kc);
    CHECK(gemm_kernels<float>(int64_t{1} << 20).kc == table.kc);
    CHECK(bytes(gemm_kernels<float>(512 << 10).kc) == std::max<int64_t>(bytes(table.kc) / 2, 256 << 10));
    CHECK(bytes(gemm_kernels<float>(0).kc) == 256 << 10);
  });
}

}  // namespace weft::test
