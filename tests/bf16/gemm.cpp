// Tests of gemm in bf16. gemm_case.h describes the reference.
#include "gemm_case.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "dense/gemm_product.h"
#include "sweep.h"
#include "weft/dense.h"

namespace weft::test {
using namespace detail;

TEST_CASE("bf16 gemm: small sizes with random layouts and epilogues, on every instruction set, one thread and two") {
  Contexts contexts;
  for (std::uint64_t seed = 1; seed <= sweep(3000u, 250u); ++seed) {
    Dice dice(seed);
    const int64_t m = dice(45), n = dice(2) == 0 ? dice(45) : dice(140), k = dice(60);
    check(random_trial(m, n, k, dice), contexts);
  }
}

TEST_CASE("bf16 gemm: larger sizes, and several blocks of k") {
  Contexts contexts;
  for (std::uint64_t seed = 1; seed <= sweep(12u, 4u); ++seed) {
    Dice dice(seed + 10000);
    const int64_t m = 1 + dice(260), n = 1 + dice(330), k = 1 + dice(300);
    check(random_trial(m, n, k, dice), contexts);
  }
  for (std::uint64_t seed = 1; seed <= sweep(24u, 6u); ++seed) {
    Dice dice(seed + 20000);
    const int64_t m = 1 + dice(60), n = 1 + dice(80), k = 1000 + dice(4000);
    check(random_trial(m, n, k, dice), contexts);
  }
}

// There are more rows than gemm can keep f32 sums for in one pass. The result must be the f32 C, rounded once.
TEST_CASE("bf16 gemm: a C of many rows and several blocks of k") {
  Contexts contexts;
  contexts.each([](Context& context) {
    if (context.threads() == 1) return;
    auto kernel = gemm_kernels<bfloat16>();
    auto kernel_in_f32 = gemm_kernels<Bf16ToF32>();
    kernel.kc = kernel_in_f32.kc = sweep<int64_t>(kernel.kc, 16);
    const int64_t n = 3000, k = kernel.kc + 6;
    GemmProblem<bfloat16> rounded{1 << 20, n, k, {nullptr, k, 1}, {nullptr, n, 1}, {nullptr, n, 1}};
    const int64_t m = 2 * Product<bfloat16>{kernel, rounded, nullptr, nullptr, nullptr}.pass_rows() + 5;
    const auto a = numbers<bfloat16>(m * k, 1), b = numbers<bfloat16>(k * n, 2);
    const auto bias = numbers<float>(n, 3);
    for (const bool transposed : {false, true}) {
      const MatrixView<const bfloat16> a_view{a.data(), transposed ? 1 : k, transposed ? m : 1};
      std::vector<bfloat16> c(static_cast<std::size_t>(m * n));
      std::vector<float> sums(c.size());
      rounded = {m, n, k, a_view, {b.data(), n, 1}, {c.data(), n, 1}};
      GemmProblem<Bf16ToF32> in_f32{m, n, k, a_view, {b.data(), n, 1}, {sums.data(), n, 1}};
      rounded.epilogue.bias = in_f32.epilogue.bias = bias.data();
      rounded.epilogue.bias_column = in_f32.epilogue.bias_column = 1;
      gemm(rounded, kernel);
      gemm(in_f32, kernel_in_f32);
      int64_t wrong = 0;
      for (std::size_t i = 0; i < c.size(); ++i)
        wrong += static_cast<float>(c[i]) != static_cast<float>(bfloat16(sums[i]));
      CAPTURE(isa_name(context.isa()));
      CAPTURE(transposed);
      CHECK(wrong == 0);
    }
  });
}

// The matrix has many columns, so each task packs its own columns while it computes the first row of tiles. In the
// second check, the rows of A map to the same set of the cache.
TEST_CASE("bf16 gemm: tasks pack B, and also A if its rows are a multiple of 4096 bytes apart") {
  Contexts contexts;
  for (const int64_t k : {64, 63})
    for (const bool transposed : {false, true}) {
      Trial t{30, 1100, k, {k, 1}, transposed ? Layout{1, k} : Layout{1100, 1}, {1100, 1}};
      check(t, contexts);
      t.a = {2048, 1};
      t.bias = t.gate = true;
      check(t, contexts);
    }
}

TEST_CASE("bf16 gemm: a few rows give the same bits with packed and with plain weights") {
  Contexts contexts;
  for (const int64_t m : {1, 2, 3, 4, 7, 8})
    for (const int64_t k : {1, 2, 31, 33, 200, 2111, 4500}) {
      const int64_t n = 75;
      Trial t{m, n, k, {k + 1, 1}, {1, k}, {n, 1}};
      t.bias = true;
      check(t, contexts);
      Case<bfloat16> plain(t);
      t.packed = true;
      Case<bfloat16> packed(t);
      for (auto* c : {&plain, &packed})  // NaN in the gaps between A's rows
        for (int64_t i = 0; i + 1 < m; ++i) c->a[static_cast<std::size_t>(i * (k + 1) + k)] = bfloat16(std::nanf(""));
      contexts.each([&](Context&) {
        const auto got = packed.run();
        CHECK(packed.wrong(got) == 0);
        CHECK(same(plain.run().first, got.first));
      });
    }
}

TEST_CASE("bf16 gemm: NaN and infinity affect the right elements and no others") {
  Contexts contexts;
  const float inf = std::numeric_limits<float>::infinity(), special[] = {inf, -inf, std::nanf(""), 0};
  for (std::uint64_t seed = 1; seed <= sweep(100u, 20u); ++seed) {
    Dice dice(seed);
    const int64_t m = 1 + dice(seed % 3 ? 40 : 8), n = 1 + dice(90), k = 1 + dice(60);
    Case<bfloat16> c({m, n, k, random_layout(dice, m, k), random_layout(dice, k, n), random_layout(dice, m, n)});
    for (auto* x : {&c.a, &c.b})
      for (int i = 0; i < 3; ++i)
        (*x)[static_cast<std::size_t>(dice(static_cast<int64_t>(x->size())))] = bfloat16(special[dice(4)]);
    c.want.clear();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c.add_element(0, i, j);
    contexts.each([&](Context& context) {
      const auto got = c.run().first;
      int wrong = 0;
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          const Known want = c.want[static_cast<std::size_t>(i * n + j)];
          const bfloat16 x = got[c.at(0, c.t.c, m, n, i, j)];
          if (std::isfinite(want.value)) wrong += !is(x, want);
          else wrong += std::isnan(want.value) ? !std::isnan(float(x)) : double(float(x)) != want.value;
        }
      CAPTURE(isa_name(context.isa()));
      CAPTURE(seed);
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE(
    "gemm: an instruction set that adds products of bf16 or bytes has the bits of the set that it extends in f32 and "
    "f64") {
  std::vector<Isa> all;  // the instruction sets that this machine's processor supports
  for (Isa isa : {Isa::avx512, Isa::avx512bf16, Isa::neon, Isa::neondot, Isa::neonbf16})
    if (cpu_has(isa)) all.push_back(isa);
  const auto results = [](auto of, Isa isa, int64_t m) {
    using T = decltype(of);
    const int64_t n = 83, k = 901;
    const std::vector<T> a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2);
    std::vector<T> c(static_cast<std::size_t>(m * n));
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    GemmProblem<T> g{m, n, k, {a.data(), k, 1}, {b.data(), n, 1}, {c.data(), n, 1}};
    g.epilogue.activation = Activation::gelu;
    gemm(g);
    return c;
  };
  for (Isa isa : all)
    for (const int64_t m : {1, 5, 61}) {
      CHECK(same(results(float(), isa, m), results(float(), all[0], m)));
      CHECK(same(results(double(), isa, m), results(double(), all[0], m)));
    }
}

// Multiplies denormals by whole numbers. vdpbf16ps and bfdot may lose them, which the bound allows. Other instruction
// sets must be exact.
TEST_CASE("bf16 gemm: only instructions that multiply pairs lose denormals") {
  Contexts contexts;
  for (const int64_t m : {1, 9, 40}) {
    const int64_t n = 50, k = 21;
    Case<Bf16ToF32> c({m, n, k, {k, 1}, {n, 1}, {n, 1}});
    Dice dice(static_cast<std::uint64_t>(m));
    for (bfloat16& x : c.a) x = bfloat16(static_cast<float>(dice(201) - 100) * 0x1p-133f);
    for (bfloat16& x : c.b) x = bfloat16(static_cast<float>(dice(7) - 3));
    c.want.clear();
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) c.add_element(0, i, j);
    contexts.each([&](Context& context) {
      const auto got = c.run().first;
      int wrong = 0, inexact = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        wrong += !is(got[i], c.want[i]);
        inexact += static_cast<double>(got[i]) != c.want[i].value;
      }
      CAPTURE(isa_name(context.isa()));
      CHECK(wrong == 0);
      if (context.isa() != Isa::avx512bf16 && context.isa() != Isa::neonbf16) CHECK(inexact == 0);
    });
  }
}

// Values that don't come from a product are rounded as usual.
TEST_CASE("bf16 gemm: denormals of a bias and a residual are kept") {
  Contexts contexts;
  const Tensor x = Tensor::zeros({3, 5}, DType::bf16), weight = Tensor::zeros({40, 5}, DType::bf16);
  const Tensor bias = Tensor::full({40}, 0x1p-130), residual = Tensor::full({3, 40}, 0x1p-131, DType::bf16);
  contexts.each([&](Context& context) {
    CAPTURE(isa_name(context.isa()));
    int lost = 0;
    for (const bfloat16 y : linear(x, weight, bias, Epilogue::adding(residual)).to_vector<bfloat16>())
      lost += static_cast<float>(y) != 0x1.8p-130f;
    CHECK(lost == 0);
  });
}

}  // namespace weft::test
