#include "data/text_file.h"

#include <algorithm>
#include <filesystem>

#include "text/utf8.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/utf8_path.h"
#include "weft/encoded_text.h"
#include "weft/error.h"

namespace weft {
namespace detail {

constexpr std::size_t piece_bytes = std::size_t{1} << 20;
// When a page is read, the kernel maps a block of pages around it, including pages that were already released.
constexpr std::size_t mapped_around = std::size_t{4} << 20;

TextFile::TextFile(const std::string& path) : name_("\"" + path + "\"") {
  std::error_code ignored;  // opening the file reports the problem
  if (std::filesystem::is_fifo(path_of(path), ignored)) {
    piped_ = os::read_file(path);
    text_ = piped_;
  } else {
    file_ = os::map_file(path);
    text_ = {reinterpret_cast<const char*>(file_.data), static_cast<std::size_t>(file_.size)};
  }
  if (text_.substr(0, 3) == "\xEF\xBB\xBF") skipped_ = 3;
  text_.remove_prefix(skipped_);
  if (text_.empty()) throw Error(name_ + " is empty");
}

void TextFile::check_is_text() const {
  const std::string_view beginning = text_.substr(0, 4096), mark = beginning.substr(0, 2);
  if (mark == "\xFF\xFE" || mark == "\xFE\xFF") check_utf8(text_, place(0));  // reports that it looks like UTF-16
  if (const auto zero = beginning.find('\0'); zero != std::string_view::npos)
    throw Error(
        name_ + ": " + byte_name(place(0), zero) +
        " is 0, which does not occur in text: expected UTF-8 (if it is UTF-16, iconv -f UTF-16 -t UTF-8 converts it)");
}

void TextFile::forget(std::size_t begin, std::size_t end) const noexcept {
  begin -= std::min(begin, mapped_around);
  if (file_.data != nullptr) os::forget_pages(text_.data() + begin, end - begin);
}

// Returns the offset at which a piece that is not the last one can end. This is after a line end, or after white space
// if there is no line end, or else between two characters.
static std::size_t piece_end(std::string_view piece) {
  for (const char* ends : {"\n", " \t\r"}) {
    const std::size_t found = piece.find_last_of(ends);
    if (found != std::string_view::npos) return found + 1;
  }
  return whole_code_points(piece);
}

}  // namespace detail

using namespace detail;

std::string read_text(const std::string& path) try {
  const TextFile file(path);
  file.check_is_text();
  check_utf8(file.text(), file.place(0));
  return std::string(file.text());
} catch (const std::bad_alloc&) {
  fail_out_of_memory("text");
}

Texts text_file(const std::string& path) {
  return [path](const std::function<void(std::string_view)>& use) {
    const TextFile file(path);
    file.check_is_text();
    const std::string_view text = file.text();
    for (std::size_t at = 0; at < text.size();) {
      std::string_view piece = text.substr(at, piece_bytes);
      if (at + piece.size() < text.size()) piece = piece.substr(0, piece_end(piece));
      check_utf8(piece, file.place(at));
      use(piece);
      file.forget(at, at + piece.size());
      at += piece.size();
    }
  };
}

}  // namespace weft
