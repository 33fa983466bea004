// Benchmarks of dense products C (m, n) = A (m, k) B (k, n). Some have few rows of A, with a B that is in cache or not.
// This file also contains the benchmarks of linear layers and einsum.
#include "operations/family.h"

namespace weft::bench {
namespace {

struct Product {
  std::int64_t m, n, k;
};

constexpr Product products[] = {
    {64, 64, 64},       {128, 128, 128},    {256, 256, 256},   {257, 129, 511},   {512, 512, 512},
    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 512, 2048}, {4096, 2048, 512},
};
constexpr Product bf16_products[] = {
    {1024, 1024, 1024}, {2048, 2048, 2048}, {4096, 512, 2048}, {4096, 2048, 512}, {4096, 768, 3072}, {2048, 512, 4096},
};
constexpr Product int8_products[] = {{1024, 1024, 1024}, {4096, 2048, 512}, {4096, 512, 2048}, {128, 2048, 512},
                                     {128, 512, 2048},   {128, 3072, 768},  {128, 768, 3072}};
constexpr Product layers[] = {{4096, 2048, 512}, {4096, 512, 2048}};

Sizes sizes_of(const Product& p) { return {p.m, p.n, p.k}; }

void add(const std::string& kind, const Product& p, int threads, std::optional<Rival> rival = {}) {
  const std::string label = std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k);
  add_benchmarks(kind, sizes_of(p), label, threads, rival);
}

// Returns a rival that is other work of weft with the same sizes, such as the f32 product for a bf16 product.
Rival plainer(const std::string& kind, const Product& p) {
  return {kind, [=](int threads) { return weft_work(kind, sizes_of(p), threads); }};
}

}  // namespace

void add_dense(int threads) {
  for (const char* kind : {"gemm-nn", "gemm-nt", "gemm-tn"})
    for (const Product& p : products) add(kind, p, threads);
  for (const std::string form : {"nn", "nt", "tn"})
    for (const Product& p : bf16_products) add("gemm-bf16-" + form, p, threads, plainer("gemm-" + form, p));
  for (const std::int64_t m : {1, 4, 8}) {
    const Product p{m, 2048, 512};
    add("gemm-bf16-nt", p, threads, plainer("gemm-nt", p));
  }
  for (const Product& p : int8_products) add("linear-int8", p, threads, plainer("linear-bf16", p));
  for (const Product& p : int8_products) add("linear-int4", p, threads, plainer("linear-int8", p));
  for (const std::int64_t m : {1, 2, 4, 8}) {
    const Product p{m, 2048, 8192};
    add("linear-int8-cold", p, threads);
    add("linear-int4-cold", p, threads, plainer("linear-int8-cold", p));
  }
  for (const char* kind : {"gemm-nn", "gemm-nt", "gemm-nt-cold", "linear-packed-cold"})
    for (const std::int64_t m : {1, 2, 4, 8, 16}) add(kind, {m, 2048, 512}, threads);
  for (const Product& p : layers) {
    add("linear", p, threads);
    for (const char* kind : {"linear-gelu", "linear-gelu-train"}) add(kind, p, threads, plainer("linear", p));
  }
  add_benchmarks("einsum:ij,jbd->ibd:512,512,8,1024", {}, "ij,jbd->ibd/512,512,8,1024", threads,
                 plainer("gemm-nn", {512, 8192, 512}));
}

}  // namespace weft::bench
