// The hash FNV-1a, which is the same on every machine.
#pragma once
#include <cstdint>
#include <string>

namespace data {

inline std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

}  // namespace data
