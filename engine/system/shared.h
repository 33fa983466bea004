// What the implementations of weft/os.h for different systems have in common.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>

namespace weft::os {

// The names of temporary files and folders begin with ".weft-" and end with ".tmp".
inline bool is_temporary(const std::string& name) {
  return name.size() > 10 && name.rfind(".weft-", 0) == 0 && name.compare(name.size() - 4, 4, ".tmp") == 0;
}

// A lock file contains the name of the process that holds the lock, "process NUMBER on HOST", or nothing. Other contents
// do not belong to weft.
inline std::string process_name(std::uint64_t number, const std::string& host) {
  return "process " + std::to_string(number) + " on " + host;
}
inline bool is_holder(const std::string& text) { return text.empty() || text.rfind("process ", 0) == 0; }

// Reads until the end of a file, which may have grown since its size was found. read(data, bytes) reads at most `bytes`
// bytes and returns their number, which is 0 at the end.
template <class Read>
std::string read_to_end(std::uint64_t size, Read read) {
  std::string text;
  std::size_t done = 0, room = static_cast<std::size_t>(size) + 1;
  for (;;) {
    text.resize(done + room);
    const std::size_t got = read(text.data() + done, room);
    done += got;
    text.resize(done);
    if (got == 0) return text;
    room = std::max<std::size_t>(done / 2, 1 << 16);
  }
}

}  // namespace weft::os
