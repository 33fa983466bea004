// gemm of bf16 as the instruction set amx does it, its driver and its kernel, with tiles in plain C++: against sums in f64.
#include <doctest/doctest.h>

#include <limits>

#include "bf16_gemm_case.h"
#include "dense/gemm_product.h"
#include "dense/kernels/gemm_tiles.h"
#include "dense/kernels/quantized.h"
#include "emulated_tiles.h"

namespace weft::test {
using namespace detail;

namespace {

using emulated::EmulatedTiles;

template <class T>
void tile(const GemmTile<T>& t) noexcept {
  emulated::add_by_tiles<EmulatedTiles>(t);
  if (t.epilogue)
    kernels<GemmKernels<T>>().epilogue(*t.epilogue, t.rows, t.columns, t.sums, t.sums_row, t.c, t.c_row, t.add_to_c);
}

// The table of amx, but for its tiles, and for those of its members that are as on other instruction sets.
template <class T>
GemmKernels<T> emulated_kernels() {
  GemmKernels<T> table = kernels<GemmKernels<T>>();
  emulated::use_tiles<T>(table, tile<T>);
  return table;
}

// Those, and where AVX512-BF16 runs those of amx itself, but for the tiles: what else is in them needs no AMX.
template <class T>
std::vector<GemmKernels<T>> all_kernels() {
  std::vector<GemmKernels<T>> all = {emulated_kernels<T>()};
  if (is_built(Isa::amx) && cpu_has(Isa::avx512bf16)) {
    all.push_back(*kernel_tables<GemmKernels<T>>[index_of(Isa::amx)]);
    all.back().tile = tile<T>;
  }
  return all;
}

// As run_batch of dense/gemm.cpp, B always in panels.
template <class T>
void multiply(const GemmKernels<T>& kernel, const GemmProblem<T>& g) {
  for (int64_t item = 0; item < (g.batch.empty() ? 1 : g.batch[0].size); ++item) {
    const BatchAxis axis = g.batch.empty() ? BatchAxis{} : g.batch[0];
    const Product<T> product{kernel, g, g.a.data + item * axis.a, g.b.data + item * axis.b, g.c.data + item * axis.c};
    // Nothing is added to what the scratch holds, and nothing of it is multiplied.
    std::vector<GemmIn<T>> a(static_cast<std::size_t>(product.a_elements()), GemmIn<T>(std::nanf("")));
    std::vector<GemmIn<T>> b(static_cast<std::size_t>(product.b_elements()), GemmIn<T>(std::nanf("")));
    std::vector<GemmSum<T>> sums(static_cast<std::size_t>(product.partial_elements()), std::nanf(""));
    product.run_packed(a.data(), b.data(), sums.data());
  }
}

template <class T>
void check_tiles(const Case<T>& c, const GemmKernels<T>& kernel) {
  const Trial& t = c.t;
  std::pair<std::vector<GemmOut<T>>, std::vector<GemmOut<T>>> single;
  for (const int threads : {1, 2}) {
    Context context;
    context.set_threads(threads);
    const ContextScope scope(context);
    const auto got = c.run(kernel, [&](const GemmProblem<T>& g) { multiply(kernel, g); });
    if (threads == 1) single = got;
    const bool repeats = same(got.first, single.first) && same(got.second, single.second);
    const int64_t wrong = c.wrong(got);
    if (wrong == 0 && repeats && EmulatedTiles::fault.empty()) continue;
    CAPTURE(to_string(t));
    CAPTURE(threads);
    CHECK(wrong == 0);
    CHECK(repeats);
    CHECK(std::exchange(EmulatedTiles::fault, "") == "");
  }
}

template <class T>
void check_all(const Trial& t) {
  const Case<T> c(t);
  for (const GemmKernels<T>& kernel : all_kernels<T>()) check_tiles(c, kernel);
}

void check_both(const Trial& t) {
  check_all<bfloat16>(t);
  check_all<Bf16ToF32>(t);
}

// Rows of A, packed apart, of every way in which A may lie.
void check_packing(int64_t n, int64_t k, int64_t stride_n, int64_t stride_k, float sign) {
  const int64_t depth = padded<bfloat16>(k);
  const auto x = numbers<bfloat16>((n - 1) * stride_n + (k - 1) * stride_k + 1, 1);
  std::vector<bfloat16> out(static_cast<std::size_t>((n + 1) * depth), bfloat16(7.0f)), want = out;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t p = 0; p < depth; ++p)
      want[static_cast<std::size_t>(i * depth + p)] =
          bfloat16(p < k ? sign * static_cast<float>(x[static_cast<std::size_t>(i * stride_n + p * stride_k)]) : 0.0f);
  emulated::pack_rows_apart<bfloat16>(n, k, x.data(), stride_n, stride_k, sign, out.data());
  int wrong = 0;
  for (std::size_t i = 0; i < out.size(); ++i) wrong += static_cast<float>(out[i]) != static_cast<float>(want[i]);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(stride_n);
  CAPTURE(stride_k);
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("amx gemm: rows of A are packed apart") {
  for (const int64_t n : {1, 2, 15, 16, 17, 33})
    for (const int64_t k : {1, 2, 3, 31, 32, 33, 64, 71})
      for (const float sign : {1.0f, -1.0f}) {
        check_packing(n, k, k, 1, sign);
        check_packing(n, k, k + 5, 1, sign);
        check_packing(n, k, 1, n, sign);
        check_packing(n, k, 1, n + 3, sign);
        check_packing(n, k, 2, 2 * n + 1, sign);
      }
}

TEST_CASE("amx gemm: small sizes in some layout and with some epilogue") {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    Dice dice(seed + 30000);
    const int64_t m = 1 + dice(80), n = 1 + (dice(2) == 0 ? dice(45) : dice(140)), k = 1 + dice(90);
    check_both(random_trial(m, n, k, dice));
  }
}

TEST_CASE("amx gemm: larger sizes, and k of several blocks") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Dice dice(seed + 40000);
    const int64_t m = 1 + dice(300), n = 1 + dice(330), k = 1 + dice(200);
    check_both(random_trial(m, n, k, dice));
  }
  for (std::uint64_t seed = 1; seed <= 16; ++seed) {
    Dice dice(seed + 50000);
    const int64_t m = 1 + dice(70), n = 1 + dice(80), k = 500 + dice(700);
    check_both(random_trial(m, n, k, dice));
  }
}

TEST_CASE("amx gemm: triangles whose zeros are left out, of several blocks of k") {
  for (const Triangle triangle : {Triangle::lower, Triangle::upper})
    for (const bool transposed : {false, true}) {
      Trial t{603, 40, 603, transposed ? Layout{1, 603} : Layout{604, 1}, {40, 1}, {40, 1}};
      t.triangle = triangle;
      check_both(t);
      t.accumulate = true;
      t.sign = -1;
      check_both(t);
    }
}

// Many columns: each task packs its own, the first row of tiles on its way; and rows that share a set of the cache.
TEST_CASE("amx gemm: B is packed by its tasks, and A where its rows are a multiple of 4096 bytes apart") {
  for (const int64_t k : {64, 63})
    for (const bool transposed : {false, true}) {
      Trial t{70, 1100, k, {k, 1}, transposed ? Layout{1, k} : Layout{1100, 1}, {1100, 1}};
      check_both(t);
      t.a = {2048, 1};
      t.bias = t.gate = true;
      check_both(t);
    }
}

// The tables of the instruction set itself, which this machine need not be able to run.
TEST_CASE("amx gemm: the kernels of this build are those that are tested") {
  if (!is_built(Isa::amx)) return;
  const auto index = index_of(Isa::amx);
  const auto check = [&](auto of) {
    using T = decltype(of);
    const GemmKernels<T>* const amx = kernel_tables<GemmKernels<T>>[index];
    const GemmKernels<T> tested = emulated_kernels<T>();
    CHECK(amx->mr == tested.mr);
    CHECK(amx->nr == tested.nr);
    CHECK(amx->kc == tested.kc);
    CHECK(amx->mc == tested.mc);
    CHECK(amx->nc == tested.nc);
    CHECK(amx->a_rows == PanelRows::apart);
    const GemmKernels<T>* const vectors = kernel_tables<GemmKernels<T>>[index_of(Isa::avx512bf16)];
    CHECK(vectors->a_rows == PanelRows::interleaved);
    CHECK(vectors->nr == amx->nr);  // dot_panels reads the same panels
  };
  check(bfloat16());
  check(Bf16ToF32());
  const auto* const bytes = kernel_tables<QuantizedKernels<float>>[index];
  CHECK(bytes->mr == 32);
  CHECK(bytes->nr == 32);
  CHECK(bytes->unit == 4);
}

}  // namespace weft::test
