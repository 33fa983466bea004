/// \file
/// EncodedText: a text in the form of the ids of its symbols. The ids of a large text are stored in a file, so a text
/// may have any size.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/os.h"
#include "weft/tokenizer.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Reads the text of a file and drops a byte order mark at its beginning. Throws an Error if the file can't be read, is
/// empty, or is not UTF-8. For a file that is not UTF-8, the Error names the byte offset.
std::string read_text(const std::string& path);

/// Returns a function that gives the text of read_text() in pieces. Pass this function to learn_tokenizer. Pieces end
/// at line ends where possible. The returned function opens the file when it is called, and never holds the whole file
/// in memory.
Texts text_file(const std::string& path);

/// The ids of a text. An id takes 2 bytes if the tokenizer has up to 65536 symbols, otherwise 4 bytes. Objects are
/// immutable: copies share the ids, and threads may share an object.
class EncodedText {
 public:
  EncodedText() = default;  ///< an empty text
  /// Encodes a text in memory. Throws the Errors of Tokenizer::encode().
  EncodedText(std::string_view text, const Tokenizer& tokenizer, const TextPlace& place = {});
  /// Encodes the text of a file, which it reads like read_text(). If the text has more than 16 MB (or `most_in_memory`
  /// bytes), the function writes the ids to the file `cache` and reads them from it when needed. If hashes of the text,
  /// the tokenizer and the ids show that the file already holds these ids, the function does not write the file again.
  /// You may remove the file at any time. If `cache` is empty, the file is a temporary one. Throws the Errors of
  /// read_text() and Tokenizer::encode(), with the names of the file and the byte, and an Error if the cache can't be
  /// written.
  static EncodedText of_file(const std::string& path, const Tokenizer& tokenizer, const std::string& cache = "",
                             std::uint64_t most_in_memory = std::uint64_t{16} << 20);

  std::int64_t size() const noexcept { return size_; }        ///< number of ids
  std::uint64_t hash() const noexcept { return hash_; }       ///< a hash of the ids
  std::int64_t symbols() const noexcept { return symbols_; }  ///< number of symbols of the tokenizer
  /// Copies the ids begin … begin + count - 1, which must exist, to `out`. Throws an Error if the file can no longer be
  /// read, or holds an invalid id.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const;

 private:
  std::shared_ptr<const std::vector<unsigned char>> ids_;  // null if the ids are in the file
  std::shared_ptr<const os::RandomAccessFile> file_;
  int width_ = 2;  // bytes per id
  std::int64_t size_ = 0, symbols_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace weft
WEFT_PUBLIC_END
