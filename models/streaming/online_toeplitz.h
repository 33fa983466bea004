// Causal Toeplitz products whose rows come one after the other: y_i = Σ_(j <= i) t_(i-j) v_j, each channel by itself.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "streaming/toeplitz_lags.h"

namespace weft::detail {

// One sequence of rows. The filter is known beforehand, the rows are not: relaxed convolution by blocks of two of each size,
// with slack (Gardner 1995, Efficient convolution without input-output delay; cf. arXiv 2410.12982, Flash Inference).
//
// Level k has blocks of S = 64 · 2^k rows. Block c's rows get from block b <= c - 2 the Toeplitz product with the lags
// (c-b-1)S … (c-b+1)S; block c - 1, of level 0 c itself, too, is left to the level below, in the end to sums row by row. A level
// leaves all blocks before the two next to it to the one above, c - 2 and for odd c c - 3 apart: if this has begun, as it does
// with its block `first_of_level`. Until then it takes them itself, which needs fewer lags and rows beforehand.
// Block c - 2 is whole one block before c begins: so the products for c, cut by channels too, are spread over the rows of c - 1.
// Costs O(log² n) a row, amortised and, but for a constant, at worst; memory O(n), or O(L) if only L lags are significant.
//
// What is kept follows from the rows before: asked again for the same row, as after an Error, it answers the same. Copies share
// memory until they write, and the lags.
class OnlineToeplitz {
 public:
  // `phase`, 0 to below 1, puts off work by this part of a piece: different for sequences that grow together, so that their
  // pieces don't fall on the same row.
  OnlineToeplitz(std::shared_ptr<ToeplitzLags> lags, double phase) : lags_(std::move(lags)), phase_(phase) {}

  // v (n, d) f32 or f64, rows at … at + n - 1: these rows of y. `at` rows came before; what was given from there on is lost.
  Tensor append(std::int64_t at, const Tensor& v);
  // Does what is due when there are n rows, so that none after them waits for it; else append() does.
  void prepare(std::int64_t n);
  ToeplitzLags& lags() noexcept { return *lags_; }

 private:
  // What the rows of a block get from earlier blocks: for some channels each, (S, channels); a prefix of all.
  struct Products {
    std::int64_t block = -1, done = 0;
    std::vector<Tensor> sums;
  };
  struct Level {
    Products now, next;  // of the block that grows, and of the one behind it
  };

  bool begun(std::size_t level, std::int64_t block) const;
  std::int64_t sources(std::size_t level, std::int64_t block) const;
  void prepare(std::size_t level, std::int64_t n);
  void multiply(Products& products, std::size_t level, std::int64_t until) const;
  Tensor whole(std::int64_t at, const Tensor& v);
  template <class T>
  void add_products(std::int64_t i, T* y) const;
  template <class T>
  void add_recent(std::int64_t i, T* y) const;

  std::shared_ptr<ToeplitzLags> lags_;
  double phase_;
  BlockedRows rows_;
  std::vector<Level> levels_;
};

}  // namespace weft::detail
