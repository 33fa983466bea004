// Converts numbers to bytes and back, so that ranks can exchange them.
#pragma once
#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>
#include <vector>

#include "weft/error.h"

namespace weft::detail {

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  static_assert(std::is_trivially_copyable_v<T>);
  return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

// Throws an Error unless `count` values have exactly this number of bytes.
template <class T>
std::vector<T> values_of(const std::string& bytes, std::size_t count) {
  if (bytes.size() != count * sizeof(T))
    throw Error("[ranks] expected " + std::to_string(count * sizeof(T)) + " bytes, got " +
                std::to_string(bytes.size()));
  std::vector<T> values(count);
  if (count > 0) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace weft::detail
