// Paths for std::filesystem from weft's names of files, which are in UTF-8, and back. On Windows, std::filesystem takes
// a std::string to be in another encoding, and has backslashes between folders.
#pragma once
#include <filesystem>
#include <string>

namespace weft::detail {

inline std::filesystem::path path_of(const std::string& name) { return std::u8string(name.begin(), name.end()); }

inline std::string name_of(const std::filesystem::path& path) {
  constexpr bool has_slashes = std::filesystem::path::preferred_separator == '/';
  const std::u8string name = has_slashes ? path.u8string() : path.generic_u8string();
  return {name.begin(), name.end()};
}

}  // namespace weft::detail
