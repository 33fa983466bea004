// A text file that is read from beginning to end. The file is never completely in memory unless it is a pipe.
#pragma once
#include <string>
#include <string_view>

#include "weft/os.h"
#include "weft/tokenizer.h"

namespace weft::detail {

class TextFile {
 public:
  // Maps the file; a pipe is read into memory. Throws an Error if it can't be read or is empty.
  explicit TextFile(const std::string& path);
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  std::string_view text() const noexcept { return text_; }  // without a byte order mark
  // Returns the position of byte `at` of the text in the file, for messages.
  TextPlace place(std::size_t at) const { return {name_, skipped_ + at}; }
  // Throws an Error if the text begins like UTF-16 or binary data.
  void check_is_text() const;
  // Releases the memory of a part that has been read.
  void forget(std::size_t begin, std::size_t end) const noexcept;

 private:
  std::string name_;  // in quotation marks
  std::string piped_;
  os::MappedFile file_;
  std::string_view text_;
  std::size_t skipped_ = 0;  // bytes of the byte order mark
};

}  // namespace weft::detail
