// Files that must be small.
#pragma once
#include <cstdint>
#include <string>

#include "weft/error.h"
#include "weft/os.h"

namespace weft::detail {

// The maximum sizes of config.json: the first is for files of other programs, the second for weft's files. The first
// limit is far above the size of real files (enough for 40,000 classes with two copies of each 50-byte label), and such
// a file is still quick to read. weft's own config.json may be larger, because it contains the tokenizer. weft does not
// write a config.json above this limit.
inline constexpr std::uint64_t most_of_config = std::uint64_t{4} << 20;
inline constexpr std::uint64_t most_of_own_config = std::uint64_t{16} << 20;

// Maps the file. If it has more than `most` bytes, throws an Error that names it, without reading any of it. Mapping is
// safer than reading here, because reading from a pipe of that name would block.
inline os::MappedFile map_small_file(const std::string& path, std::uint64_t most) {
  os::MappedFile file = os::map_file(path);
  if (file.size > most)
    throw Error("[file] \"" + path + "\" has " + std::to_string(file.size) + " bytes, expected at most " +
                std::to_string(most));
  return file;
}

}  // namespace weft::detail
