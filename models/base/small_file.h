// Files of which the size is known to be small.
#pragma once
#include <cstdint>
#include <string>

#include "weft/error.h"
#include "weft/os.h"

namespace weft::detail {

// A config.json: of other programs far more than any has (a label of 50 bytes, twice, for 40,000 classes), and little to read; of
// weft's own, which has the tokenizer in it, that which is written.
inline constexpr std::uint64_t most_of_config = std::uint64_t{4} << 20;
inline constexpr std::uint64_t most_of_own_config = std::uint64_t{16} << 20;

// Error, naming the file, if it is larger, before any of it is read. Mapped, as a pipe of that name would be waited for.
inline os::MappedFile map_small_file(const std::string& path, std::uint64_t most) {
  os::MappedFile file = os::map_file(path);
  if (file.size > most)
    throw Error("[file] \"" + path + "\" has " + std::to_string(file.size) + " bytes, expected at most " +
                std::to_string(most));
  return file;
}

}  // namespace weft::detail
