// Causal Toeplitz products whose rows arrive one after the other: y_i = Σ_(j <= i) t_(i-j) v_j, for each channel
// separately.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "streaming/toeplitz_lags.h"

namespace weft::detail {

// One sequence of rows. The filter is known beforehand, but the rows are not. This is relaxed convolution by blocks of
// doubling sizes, with slack (Gardner 1995, Efficient convolution without input-output delay; cf. arXiv 2410.12982,
// Flash Inference).
//
// Level k has blocks of S = 64 · 2^k rows. Block c gets a product from an earlier block b: the Toeplitz product of its
// rows with the lags (c-b-1)S … (c-b+1)S. Level k handles sources b that are 2 blocks away, or for odd c also those 3
// blocks away. Nearer sources go to level k-1; at level 0 they are added row by row. Farther sources go to level k+1.
//
// The drawing shows which level handles a source, in units of level 0's blocks of 64 rows, once all levels have begun:
//
//            source block ->
//             0 1 2 3 4 5 6 7 8 9 ...
//   block  0  .
//          1  . .
//          2  0 . .                   . : row by row
//          3  0 0 . .                 k : level k
//          4  1 1 0 . .
//          5  1 1 0 0 . .
//          6  1 1 1 1 0 . .
//          7  1 1 1 1 0 0 . .
//          8  2 2 2 2 1 1 0 . .
//          9  2 2 2 2 1 1 0 0 . .
//         10  2 2 2 2 1 1 1 1 0 . .
//         11  2 2 2 2 1 1 1 1 0 0 . .
//
// A level begins with its block `first_of_level`. Until level k+1 begins, level k handles its sources, too, because
// this needs fewer lags and rows made ahead.
//
// Block c - 2 is complete one block before c begins. The products for c are therefore spread over the rows of c - 1, in
// pieces of some channels each. A row costs O(log² n), amortized and, up to a constant, in the worst case.
//
// Memory for each sequence after n rows:
// - n rows of v
// - up to 1.4 n lags: the largest level that is about to begin has blocks of n / 5 rows, and needs its lags 2 blocks
//   ahead
// - 0.4 n to 0.8 n rows of products
// If only L lags are significant, it is at most L lags, 3 L rows of v and 4 L rows of products.
//
// All kept values follow from the earlier rows. Appending the same row again, for example after an Error, gives the
// same result. Copies share the lags, and share other memory until one of them writes it.
class OnlineToeplitz {
 public:
  // `phase`, 0 to below 1, delays work by this fraction of a piece. Sequences that grow together should have different
  // phases, so that their pieces don't fall on the same row.
  OnlineToeplitz(std::shared_ptr<ToeplitzLags> lags, double phase) : lags_(std::move(lags)), phase_(phase) {}

  // v (n, d) f32 or f64 are the rows at … at + n - 1; returns these rows of y. `at` rows came before; rows that were
  // appended from there on are discarded.
  Tensor append(std::int64_t at, const Tensor& v);
  // Does all work that is due when there are n rows, so that the next row doesn't wait for it. Otherwise append() does
  // it.
  void prepare(std::int64_t n);
  ToeplitzLags& lags() noexcept { return *lags_; }

 private:
  // The sums of products that the rows of a block get from earlier blocks. Each tensor (S, channels) holds one group of
  // channels; groups that are not done yet are missing at the end.
  struct Products {
    std::int64_t block = -1, done = 0;
    std::vector<Tensor> sums;
  };
  struct Level {
    Products now, next;  // for the block that grows now, and for the next one
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
