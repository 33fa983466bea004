#include "operations/kinds.h"

#include <algorithm>
#include <cstdio>

namespace weft::bench {
namespace {

// The work is in f32 unless the description says otherwise.
struct Kind {
  const char *names, *description;
};
constexpr Kind kinds[] = {
    {"fma", "multiply-adds in registers"},
    {"copy", "a copy of n bytes"},
    {"c2c r2c c2r", "transforms of b contiguous rows of n"},
    {"c2c-f64", "c2c in f64"},
    {"c2c-columns", "c2c of (b, n, d) along n"},
    {"toeplitz", "product of x (b, n, d), including the spectra of the coefficients"},
    {"toeplitz-cached", "the same with the spectra kept from an earlier call"},
    {"toeplitz-train", "forward and backward, for x and the coefficients"},
    {"toeplitz-naive", "the product by its definition"},
    {"toeplitz-matrix", "the product with explicit matrices"},
    {"circulant", "cyclic product of x (b, n, d), including the spectra"},
    {"mix mix-train", "the real part of the FFTs of (b, n, d) over n and d; mix-train: with backward"},
    {"gemm-nn gemm-nt gemm-tn", "C (b, n) as a sum over d; t in place of n: A or B is stored transposed"},
    {"gemm-nt-cold", "gemm-nt with another B in each call; together they do not fit into the last-level cache"},
    {"gemm-bf16-nn gemm-bf16-nt gemm-bf16-tn", "the same products in bf16"},
    {"linear", "linear layer with x (b, d), weight (n, d) and bias"},
    {"linear-gelu linear-gelu-train", "with gelu; linear-gelu-train: on a tape, which keeps the input of gelu"},
    {"linear-packed-cold", "from packed weights, with another weight in each call, as in gemm-nt-cold"},
    {"linear-bf16", "linear in bf16, from packed weights"},
    {"linear-int8 linear-int8-cold", "bf16 x and quantized weights; cold: another weight in each call"},
    {"linear-int4 linear-int4-cold", "the same with weights in 4 bits"},
    {"einsum", "einsum:E:SIZES is equation E; SIZES: its letters' sizes in order of appearance, between commas"},
};

}  // namespace

bool is_kind(const std::string& kind) {
  return std::any_of(std::begin(kinds), std::end(kinds), [&](const Kind& k) {
    return (" " + std::string(k.names) + " ").find(" " + kind.substr(0, kind.find(':')) + " ") != std::string::npos;
  });
}

std::string kinds_text() {
  std::string text = "Kinds of work with the sizes b, n and d, in f32 unless the description says otherwise:\n";
  for (const Kind& k : kinds) text += "  " + std::string(k.names) + ": " + k.description + "\n";
  return text;
}

}  // namespace weft::bench
