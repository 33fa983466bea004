// Stores a growing number of rows, for example one for each token or lag, without moving them.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft::detail {

// Rows of d elements in blocks. Copies share the blocks. When one of them writes to a block, only that block is copied.
class BlockedRows {
 public:
  static constexpr std::int64_t block = 64;  // rows

  // Stores `rows` (n, d) as the rows from `at` to `at` + n - 1. `at` is at most the number of rows. Discards all
  // previous rows from `at` on.
  void put(std::int64_t at, const Tensor& rows);
  // Frees all blocks that contain only rows before `row`. Rows before `row` must not be read again.
  void drop(std::int64_t row);
  // Returns a copy (count, channels) of the rows from `first` to `first` + count - 1, and of the channels from
  // `channel` on. Rows after the last one are 0.
  Tensor read(std::int64_t first, std::int64_t count, std::int64_t channel, std::int64_t channels) const;
  // Returns a pointer to the elements of row i. The next rows of its block follow in memory.
  template <class T>
  const T* row(std::int64_t i) const {
    const Tensor& of = blocks_[static_cast<std::size_t>(i / block - dropped_)];
    return of.data<T>() + i % block * of.size(1);
  }
  std::int64_t channels() const { return blocks_.front().size(1); }
  DType dtype() const { return blocks_.front().dtype(); }
  // The capacity in rows, including dropped rows.
  std::int64_t size() const noexcept { return (dropped_ + std::ssize(blocks_)) * block; }

 private:
  std::int64_t dropped_ = 0;  // number of dropped blocks
  std::vector<Tensor> blocks_;
};

// Returns f(T()), where T is the element type of a real dtype.
template <class F>
decltype(auto) with_element(DType dtype, F f) {
  return dtype == DType::f32 ? f(float()) : f(double());
}

}  // namespace weft::detail
