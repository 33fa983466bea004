// How gemm cuts matrices changes no bit of a product: blocks of k, tasks' shares of C, the CPU's caches.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "dense/gemm.h"
#include "dense/packing.h"
#include "every_isa.h"
#include "weft/random.h"

namespace weft::test {
using namespace detail;

namespace {

using std::int64_t;

template <class T>
std::vector<T> some_values(int64_t count, std::uint64_t seed) {
  const Random random(seed);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = T(static_cast<float>(2 * random.uniform(i) - 1));
  return values;
}

struct BlockTrial {
  int64_t m, n, k;
  bool transposed_a, transposed_c, accumulate, epilogue;
};

template <class T>
std::vector<GemmOut<T>> product(const BlockTrial& t, const GemmKernels<T>& kernel) {
  using Out = GemmOut<T>;
  const auto a = some_values<GemmIn<T>>(t.m * t.k, 1), b = some_values<GemmIn<T>>(t.k * t.n, 2);
  const auto bias = some_values<GemmSum<T>>(t.n, 3);
  const auto residual = some_values<Out>(t.m * t.n, 4);
  auto c = some_values<Out>(t.m * t.n, 5);
  GemmProblem<T> g{t.m,
                   t.n,
                   t.k,
                   {a.data(), t.transposed_a ? 1 : t.k, t.transposed_a ? t.m : 1},
                   {b.data(), t.n, 1},
                   {c.data(), t.transposed_c ? 2 * t.n : t.n, 1}};
  if (t.transposed_c) {  // neither rows nor columns are contiguous
    c.resize(static_cast<std::size_t>(2 * t.m * t.n), Out(0.5f));
    g.c = {c.data(), 2 * t.n, 2};
  }
  g.accumulate = t.accumulate;
  if (t.epilogue) g.epilogue = {bias.data(), 0, 1, Activation::relu, nullptr, 0, residual.data(), t.n};
  gemm(g, kernel);
  return c;
}

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void check_blocks() {
  const GemmKernels<T> usual = gemm_kernels<T>();
  for (const BlockTrial& t : {BlockTrial{37, 70, 301, false, false, false, false},
                              {37, 70, 301, true, false, true, false},
                              {50, 33, 130, false, false, true, true},
                              {29, 41, 97, false, true, true, false},
                              {29, 41, 98, true, true, false, false},
                              {260, 40, 64, false, false, false, true}}) {
    if (t.transposed_c && t.epilogue) continue;
    const auto whole = product(t, usual);
    for (const int64_t kc : {2, 16, 50, 96}) {
      GemmKernels<T> kernel = usual;
      kernel.kc = kc;
      kernel.mc = 2 * kernel.mr;
      kernel.nc = 2 * kernel.nr;
      CHECK_MESSAGE(same_bits(product(t, kernel), whole), "m ", t.m, " n ", t.n, " k ", t.k, " kc ", kc);
    }
  }
}

}  // namespace

TEST_CASE("blocks: how gemm cuts k, rows and columns changes no bit") {
  for_every_isa([] {
    check_blocks<float>();
    check_blocks<double>();
    check_blocks<bfloat16>();
    check_blocks<Bf16ToF32>();
  });
}

TEST_CASE("blocks: they follow the second cache, no longer than the table's, no shorter than for 256 KiB of B") {
  for_every_isa([] {
    const GemmKernels<float>& table = kernels<GemmKernels<float>>();
    const auto bytes = [&](int64_t cache) { return gemm_kernels<float>(cache).kc * table.nc * int64_t{sizeof(float)}; };
    CHECK(gemm_kernels<float>(int64_t{1} << 30).kc == table.kc);
    CHECK(gemm_kernels<float>(int64_t{1} << 20).kc == table.kc);
    CHECK(bytes(512 << 10) == std::max<int64_t>(table.kc * table.nc * int64_t{sizeof(float)} / 2, 256 << 10));
    CHECK(bytes(0) == 256 << 10);
  });
}

}  // namespace weft::test
