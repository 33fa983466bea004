// Dense products C (m, n) = A (m, k) B (k, n); B with few rows of A hot and cold; the fully connected layer; einsum.
#include "family.h"

namespace weft::bench {
namespace {

struct Product {
  std::int64_t m, n, k;
};

constexpr Product products[] = {
    {256, 256, 256},    {257, 129, 511},    {512, 512, 512},   {1024, 1024, 1024},
    {2048, 2048, 2048}, {4096, 512, 2048},  {4096, 2048, 512}, {512, 8192, 512},  // as the einsum below
};
constexpr Product layers[] = {{4096, 2048, 512}, {4096, 512, 2048}};

void add(const std::string& kind, const Product& p, int threads) {
  add_benchmarks(kind, {p.m, p.n, p.k}, std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k),
                 threads);
}

}  // namespace

void add_dense(int threads) {
  for (const char* kind : {"gemm-nn", "gemm-nt", "gemm-tn"})
    for (const Product& p : products) add(kind, p, threads);
  for (const char* kind : {"gemm-nt", "gemm-nt-cold"})
    for (const std::int64_t m : {1, 4, 8, 16}) add(kind, {m, 2048, 512}, threads);
  for (const char* kind : {"linear", "linear-gelu", "linear-gelu-train"})
    for (const Product& p : layers) add(kind, p, threads);
  add_benchmarks("einsum:ij,jbd->ibd:512,512,8,1024", {}, "ij,jbd->ibd/512,512,8,1024", threads);
}

}  // namespace weft::bench
