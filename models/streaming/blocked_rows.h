// Rows that grow without being moved: of tokens, or of lags.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/tensor.h"

namespace weft::detail {

// Rows of d elements in blocks. Copies share the blocks until one of them writes; nothing else is copied.
class BlockedRows {
 public:
  static constexpr std::int64_t block = 64;  // rows

  // rows (n, d) as rows at … at + n - 1; at most one behind the last. What was there from `at` on is lost.
  void put(std::int64_t at, const Tensor& rows);
  // Whole blocks of rows below `row` are given back; nobody may ask for them again.
  void drop(std::int64_t row);
  // Channels `channel` … of rows first … first + count - 1, (count, channels) of their own. Rows behind the last are 0.
  Tensor read(std::int64_t first, std::int64_t count, std::int64_t channel, std::int64_t channels) const;
  // Row i's elements, and those of the rows behind it in its block.
  template <class T>
  const T* row(std::int64_t i) const {
    const Tensor& of = blocks_[static_cast<std::size_t>(i / block - dropped_)];
    return of.data<T>() + i % block * of.size(1);
  }
  std::int64_t channels() const { return blocks_.front().size(1); }
  DType dtype() const { return blocks_.front().dtype(); }
  // How many there are room for, with those that were dropped.
  std::int64_t size() const noexcept { return (dropped_ + std::ssize(blocks_)) * block; }

 private:
  std::int64_t dropped_ = 0;  // blocks before the first
  std::vector<Tensor> blocks_;
};

// f(T()) with the element type of a real dtype.
template <class F>
decltype(auto) with_element(DType dtype, F f) {
  return dtype == DType::f32 ? f(float()) : f(double());
}

}  // namespace weft::detail
