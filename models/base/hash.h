// The hash FNV-1a (Fowler, Noll, Vo), applied to integers instead of single bytes. It detects accidental differences,
// not intentional ones.
#pragma once
#include <cstdint>
#include <cstring>
#include <string_view>

#include "weft/detail/byte_order.h"

namespace weft::detail {

constexpr std::uint64_t hash_start = 0xcbf29ce484222325;
constexpr std::uint64_t hash_prime = 0x100000001b3;

template <class Numbers>
std::uint64_t hash(std::uint64_t h, const Numbers& numbers) noexcept {
  for (const auto number : numbers) h = (h ^ static_cast<std::uint64_t>(number)) * hash_prime;
  return h;
}

// A variant for long sequences of bytes. It reads 32 bytes at a time in four lanes, and is as fast as memory.
class BytesHash {
 public:
  void add(const void* data, std::size_t bytes) noexcept {
    auto next = static_cast<const unsigned char*>(data);
    bytes_ += bytes;
    while (bytes > 0) {
      if (held_ == 0 && bytes >= sizeof block_) {
        take(next);
        next += sizeof block_;
        bytes -= sizeof block_;
        continue;
      }
      block_[held_++] = *next++;
      --bytes;
      if (held_ == sizeof block_) {
        take(block_);
        held_ = 0;
      }
    }
  }
  void add(std::string_view text) noexcept { add(text.data(), text.size()); }

  std::uint64_t value() const noexcept {
    std::uint64_t h = hash_start;
    for (const std::uint64_t lane : lanes_) h = mixed(h ^ lane);
    for (std::size_t i = 0; i < held_; ++i) h = (h ^ block_[i]) * hash_prime;
    return mixed(h ^ bytes_);
  }

 private:
  // Without this, high bits of a word would never reach low bits of the hash.
  static std::uint64_t mixed(std::uint64_t h) noexcept {
    h *= 0x9e3779b97f4a7c15;
    return h ^ h >> 29;
  }
  void take(const unsigned char* block) noexcept {
    for (std::size_t i = 0; i < 4; ++i) {
      lanes_[i] = mixed(lanes_[i] ^ number_from<std::uint64_t>(block + 8 * i));
    }
  }

  std::uint64_t lanes_[4] = {1, 2, 3, 4}, bytes_ = 0;
  unsigned char block_[32] = {};
  std::size_t held_ = 0;
};

}  // namespace weft::detail
