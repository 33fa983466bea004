// A text file that is read from beginning to end, without being in memory as a whole.
#pragma once
#include <string>
#include <string_view>

#include "weft/os.h"
#include "weft/tokenizer.h"

namespace weft::detail {

class TextFile {
 public:
  // Mapped; a pipe is read into memory. Error if it can't be read or is empty.
  explicit TextFile(const std::string& path);
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  std::string_view text() const noexcept { return text_; }  // without a byte order mark
  // The text's byte `at`, for messages.
  TextPlace place(std::size_t at) const { return {name_, skipped_ + at}; }
  // Error if it begins like UTF-16 or binary data.
  void check_is_text() const;
  // What has been read may leave the memory.
  void forget(std::size_t begin, std::size_t end) const noexcept;

 private:
  std::string name_;  // in quotation marks
  std::string piped_;
  os::MappedFile file_;
  std::string_view text_;
  std::size_t skipped_ = 0;  // bytes of the byte order mark
};

}  // namespace weft::detail
