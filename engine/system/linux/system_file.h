// Small files in which Linux reports numbers, such as those in /proc and /sys. std::ifstream would add half a megabyte
// to a static program, because it brings the C++ library's locales.
#pragma once
#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>

#include "system/posix/descriptor.h"

namespace weft::detail {

// Returns the file's contents, or nothing if it can't be read. os::read_file would not do, because it compares the size
// with the limits that such files set.
inline std::string read_system_file(const std::string& path) {
  const os::Descriptor file(os::uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC); }));
  std::string text;
  char part[1024];
  for (;;) {
    const ssize_t count = os::uninterrupted([&] { return ::read(file, part, sizeof part); });
    if (count <= 0) return text;
    text.append(part, static_cast<std::size_t>(count));
  }
}

// Reads the numbers at the start of the text, which spaces separate. Returns false if the text starts with something
// else, such as "max".
template <class... T>
bool read_numbers(std::string_view text, T&... numbers) {
  const auto read = [&](auto& number) {
    text.remove_prefix(std::min(text.find_first_not_of(" \t\n"), text.size()));
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return error == std::errc();
  };
  return (read(numbers) && ...);
}

// Calls use(part) for each part of the text between separators.
template <class Use>
void for_each_part(std::string_view text, char separator, Use use) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    use(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

}  // namespace weft::detail
