// Files that must be small.
#pragma once
#include <cstdint>
#include <string>

#include "weft/error.h"
#include "weft/os.h"

namespace weft::detail {

// The maximum sizes of a config.json. For other programs the limit is far above real files (40,000 classes with a label
// of 50 bytes, twice), and still quick to read. weft's own config.json contains the tokenizer; the same limit applies
// when it is written.
inline constexpr std::uint64_t most_of_config = std::uint64_t{4} << 20;
inline constexpr std::uint64_t most_of_own_config = std::uint64_t{16} << 20;

// Throws an Error, naming the file, if it is larger, before reading any of it. The file is mapped, because reading a
// pipe of that name would block.
inline os::MappedFile map_small_file(const std::string& path, std::uint64_t most) {
  os::MappedFile file = os::map_file(path);
  if (file.size > most)
    throw Error("[file] \"" + path + "\" has " + std::to_string(file.size) + " bytes, expected at most " +
                std::to_string(most));
  return file;
}

}  // namespace weft::detail
