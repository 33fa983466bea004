// FNV-1a by whole numbers (Fowler, Noll, Vo): tells data apart by accident, not by intent.
#pragma once
#include <cstdint>

namespace weft::detail {

constexpr std::uint64_t hash_start = 0xcbf29ce484222325;

template <class Numbers>
std::uint64_t hash(std::uint64_t h, const Numbers& numbers) noexcept {
  for (const auto number : numbers) h = (h ^ static_cast<std::uint64_t>(number)) * 0x100000001b3;
  return h;
}

}  // namespace weft::detail
