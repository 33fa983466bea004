#include "streaming/blocked_rows.h"

#include <algorithm>
#include <cstring>

#include "weft/ops.h"

namespace weft::detail {

void BlockedRows::put(std::int64_t at, const Tensor& rows) {
  const std::int64_t n = rows.size(0), d = rows.size(1);
  for (std::int64_t done = 0, count = 0; done < n; done += count) {
    const auto index = static_cast<std::size_t>((at + done) / block - dropped_);
    const std::int64_t first = (at + done) % block;
    count = std::min(block - first, n - done);
    const bool is_new = index == blocks_.size(), is_own = !is_new && blocks_[index].unique();
    Tensor to = is_own ? blocks_[index] : Tensor::empty({block, d}, rows.dtype());
    if (!is_new && !is_own) {
      Tensor kept = slice(to, 0, 0, first);
      raw::copy(slice(blocks_[index], 0, 0, first), kept);
    }
    Tensor place = slice(to, 0, first, first + count);
    raw::copy(slice(rows, 0, done, done + count), place);
    if (is_new) blocks_.push_back(std::move(to));  // only after the copy, which may throw
    else if (!is_own) blocks_[index] = std::move(to);
  }
}

void BlockedRows::drop(std::int64_t row) {
  const std::int64_t count = std::min<std::int64_t>(row / block - dropped_, std::ssize(blocks_));
  if (count <= 0) return;
  blocks_.erase(blocks_.begin(), blocks_.begin() + count);
  dropped_ += count;
}

Tensor BlockedRows::read(std::int64_t first, std::int64_t count, std::int64_t channel, std::int64_t channels) const {
  Tensor out = Tensor::empty({count, channels}, dtype());
  const std::size_t element = dtype_size(out.dtype()), bytes = static_cast<std::size_t>(channels) * element;
  auto* to = static_cast<char*>(out.mutable_raw());
  const std::int64_t end = std::min(first + count, size());
  for (std::int64_t i = first; i < end;) {
    const Tensor& of = blocks_[static_cast<std::size_t>(i / block - dropped_)];
    const std::size_t row = static_cast<std::size_t>(of.size(1)) * element;
    const auto* from = static_cast<const char*>(of.raw()) + static_cast<std::size_t>(i % block) * row +
                       static_cast<std::size_t>(channel) * element;
    for (const std::int64_t block_end = std::min(end, (i / block + 1) * block); i < block_end;
         ++i, from += row, to += bytes)
      std::memcpy(to, from, bytes);
  }
  const std::int64_t rest = first + count - std::max(first, end);
  std::memset(to, 0, static_cast<std::size_t>(rest) * bytes);
  return out;
}

}  // namespace weft::detail
