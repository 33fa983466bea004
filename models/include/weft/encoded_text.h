/// \file
/// A text as the ids of its symbols; a file of any size by way of a file of ids.
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

/// A file's text. Error if it can't be read, is empty, or is not UTF-8 (naming the byte offset). A byte order mark at its
/// beginning is left out.
std::string read_text(const std::string& path);

/// The same in pieces, for learn_tokenizer; they end at line ends where there are some. The file is opened when they are
/// asked for, and never in memory as a whole.
Texts text_file(const std::string& path);

/// Ids of a text, which take 2 bytes each of tokenizers of up to 65536 symbols, else 4. It never changes: copies share
/// the ids, and so may threads.
class EncodedText {
 public:
  EncodedText() = default;  ///< empty
  /// In memory. Errors are those of Tokenizer::encode().
  EncodedText(std::string_view text, const Tokenizer& tokenizer, const TextPlace& place = {});
  /// The text of a file, as read_text() reads it. Above 16 MB (or `most_in_memory` bytes) the ids are written to the
  /// file `cache` and read from it as they are needed; if that holds them already, which hashes of text, tokenizer and
  /// ids tell, it stays as it is. It may be removed at any moment. Without a name it is a temporary file. Error, naming
  /// file and byte, for what read_text() and Tokenizer::encode() refuse, and if the cache can't be written.
  static EncodedText of_file(const std::string& path, const Tokenizer& tokenizer, const std::string& cache = "",
                             std::uint64_t most_in_memory = std::uint64_t{16} << 20);

  std::int64_t size() const noexcept { return size_; }        ///< how many ids
  std::uint64_t hash() const noexcept { return hash_; }       ///< of the ids
  std::int64_t symbols() const noexcept { return symbols_; }  ///< of the tokenizer that encoded it
  /// Ids begin … begin + count - 1, which must be there. Error if the file can't be read any more, or holds what is no id.
  void copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const;

 private:
  std::shared_ptr<const std::vector<unsigned char>> ids_;  // or null: in the file
  std::shared_ptr<const os::RandomAccessFile> file_;
  int width_ = 2;  // bytes of an id
  std::int64_t size_ = 0, symbols_ = 0;
  std::uint64_t hash_ = 0;
};

}  // namespace weft
#pragma GCC visibility pop
