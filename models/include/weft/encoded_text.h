/// \file
/// A text as the ids of its symbols. A large file is encoded into a file of ids, so that it may have any size.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "weft/os.h"
#include "weft/tokenizer.h"

#pragma GCC visibility push(default)
namespace weft {

/// The text of a file. Throws an Error if it can't be read, is empty, or is not UTF-8 (naming the byte offset). A byte
/// order mark at its beginning is dropped.
std::string read_text(const std::string& path);

/// The same in pieces, for learn_tokenizer. Pieces end at line ends where there are some. The file is opened when the
/// pieces are requested, and is never in memory as a whole.
Texts text_file(const std::string& path);

/// The ids of a text. An id takes 2 bytes if the tokenizer has up to 65536 symbols, otherwise 4. The object never
/// changes: copies share the ids, and threads may share it.
class EncodedText {
 public:
  EncodedText() = default;  ///< empty
  /// Encodes a text in memory. The Errors are those of Tokenizer::encode().
  EncodedText(std::string_view text, const Tokenizer& tokenizer, const TextPlace& place = {});
  /// Encodes the text of a file, read like read_text(). If the text has more than 16 MB (or `most_in_memory` bytes),
  /// its ids are written to the file `cache` and read from it as they are needed. If that file already holds these ids,
  /// as hashes of text, tokenizer and ids tell, it stays as it is. The file may be removed at any moment. Without a
  /// name it is a temporary file. Throws an Error that names file and byte in the cases of read_text() and
  /// Tokenizer::encode(), and if the cache can't be written.
  static EncodedText of_file(const std::string& path, const Tokenizer& tokenizer, const std::string& cache = "",
                             std::uint64_t most_in_memory = std::uint64_t{16} << 20);

  std::int64_t size() const noexcept { return size_; }        ///< how many ids
  std::uint64_t hash() const noexcept { return hash_; }       ///< of the ids
  std::int64_t symbols() const noexcept { return symbols_; }  ///< of the tokenizer that encoded it
  /// Copies the ids begin … begin + count - 1, which must exist. Throws an Error if the file can't be read any more, or
  /// holds an invalid id.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const;

 private:
  std::shared_ptr<const std::vector<unsigned char>> ids_;  // or null: the ids are in the file
  std::shared_ptr<const os::RandomAccessFile> file_;
  int width_ = 2;  // bytes per id
  std::int64_t size_ = 0, symbols_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace weft
#pragma GCC visibility pop
