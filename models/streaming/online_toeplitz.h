// Causal Toeplitz products whose rows arrive one after the other: y_i = Σ_(j <= i) t_(i-j) v_j, for each channel
// separately.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "streaming/toeplitz_lags.h"

namespace weft::detail {

// The product for one sequence of rows. The filter is known in advance, but the rows are not. The method is relaxed
// convolution with blocks of doubling sizes (Gardner 1995, Efficient convolution without input-output delay; cf. arXiv
// 2410.12982, Flash Inference), with slack that allows the products to be computed in small pieces.
//
// Level k has blocks of S = 64 · 2^k rows. Block c gets a product from each earlier block b, its source: the Toeplitz
// product of the rows of b with the lags (c-b-1)S + 1 … (c-b+1)S - 1. Level k handles the source that is 2 blocks away,
// and for odd c also the source that is 3 blocks away. Level k-1 handles nearer sources, and level k+1 handles farther
// sources. Sources that are too near for level 0 are added row by row.
//
// The drawing shows which level handles a source once all levels have begun. Each row and column is a block of 64 rows:
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
// A level begins with its block `first_of_level`. Until level k+1 begins, level k also handles the sources of level
// k+1, because then fewer lags and rows must be computed in advance.
//
// Block c - 2 is complete one block before c begins. The products for c are therefore spread over the rows of c - 1, in
// pieces of a few channels each. Each row costs O(log² n), on average and in the worst case.
//
// Memory for each sequence after n rows:
// - n rows of v
// - up to 1.4 n lags, because the largest level that is about to begin has blocks of n / 5 rows, and needs lags 2
//   blocks ahead
// - 0.4 n to 0.8 n rows of products
// If only L lags are significant, the object keeps at most L lags, 3 L rows of v and 4 L rows of products.
//
// All kept values depend only on the earlier rows. Appending the same row again, for example after an Error, therefore
// gives the same result. Copies share the lags. They also share all other memory until one of them writes it.
class OnlineToeplitz {
 public:
  // `phase` (0 <= phase < 1) shifts the work by this fraction of a piece. Sequences that grow together should have
  // different phases, so that they don't all do their pieces at the same row.
  OnlineToeplitz(std::shared_ptr<ToeplitzLags> lags, double phase) : lags_(std::move(lags)), phase_(phase) {}

  // Appends v (n, d), f32 or f64, as the rows from `at` to `at` + n - 1, and returns these rows of y. If rows from `at`
  // on already exist, they are discarded first.
  Tensor append(std::int64_t at, const Tensor& v);
  // Does all work that is due when there are n rows, so that the next row doesn't wait for it. append() does this work
  // itself if prepare() was not called.
  void prepare(std::int64_t n);
  // An upper bound of the memory that a sequence takes after n rows, if `significant` lags are significant. `element` is
  // the size of an element in bytes.
  static double bytes(std::int64_t n, std::int64_t significant, std::int64_t channels, std::size_t element) noexcept;
  ToeplitzLags& lags() noexcept { return *lags_; }
  // Uses the lags of another sequence with the same filter from now on, so that they are computed and kept only once.
  void share_lags(const OnlineToeplitz& other) noexcept { lags_ = other.lags_; }

 private:
  // The sums of the products that the rows of a block get from earlier blocks. Each tensor (S, channels) holds one
  // group of channels. Groups that are not computed yet are missing at the end.
  struct Products {
    std::int64_t block = -1, done = 0;
    std::vector<Tensor> sums;
  };
  struct Level {
    Products now, next;  // for the current block and for the next block
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
