#include "rows/row_file.h"
#include "weft/detail/utf8_path.h"

#include <filesystem>

namespace weft::detail {
namespace {

// Returns the name of the encoding if the text is UTF-16 without a byte order mark, otherwise null. In UTF-16, each
// ASCII character has a zero byte, so many zero bytes reveal the encoding.
const char* utf16_of(std::string_view bytes) {
  const std::string_view beginning = bytes.substr(0, 4096);
  std::size_t zeros[2] = {0, 0};  // at even and odd offsets
  for (std::size_t i = 0; i < beginning.size(); ++i) zeros[i % 2] += beginning[i] == '\0';
  if (4 * (zeros[0] + zeros[1]) < beginning.size()) return nullptr;
  return zeros[0] > zeros[1] ? "UTF-16BE" : "UTF-16LE";
}

}  // namespace

FileBytes bytes_of(const std::string& path) {
  std::error_code ignored;  // opening the file reports the problem
  FileBytes bytes;
  if (std::filesystem::is_regular_file(path_of(path), ignored)) bytes.mapped = os::map_file(path);
  else bytes.read = os::read_file(path);
  return bytes;
}

Content text_of(std::string_view bytes, const std::string& where) {
  const auto begins = [&](std::string_view mark) { return bytes.substr(0, mark.size()) == mark; };
  if (bytes.empty()) throw Error(where + " is empty");
  const std::string_view utf32[] = {{"\xFF\xFE\0\0", 4}, {"\0\0\xFE\xFF", 4}};
  if (begins(utf32[0]) || begins(utf32[1]))
    throw BadRow(where + ": UTF-32; expected UTF-8 (" + convert_hint("UTF-32") + ")");
  if (begins("\xFF\xFE") || begins("\xFE\xFF"))
    throw BadRow(where + ": UTF-16; expected UTF-8 (" + convert_hint("UTF-16") + ")");
  if (begins("\x1F\x8B")) throw BadRow(where + ": expected a text, got a file compressed by gzip (gunzip unpacks it)");
  if (const char* encoding = utf16_of(bytes))
    throw BadRow(where + ": " + encoding + " without a byte order mark; expected UTF-8 (" + convert_hint(encoding) +
                 ")");
  const std::size_t before = begins("\xEF\xBB\xBF") ? 3 : 0;
  return {bytes.substr(before), where, before};
}

}  // namespace weft::detail
