#include "weft/encoded_text.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <vector>

#include "base/hash.h"
#include "data/text_file.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/utf8_path.h"
#include "weft/error.h"

namespace weft {
using namespace detail;

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 20;
constexpr std::int64_t most_of_two_bytes = 65536;

int width_of(const Tokenizer& tokenizer) { return tokenizer.size() <= most_of_two_bytes ? 2 : 4; }

// Calls use(ids, begin, end) for each part of the text. Parts end where splitting the text doesn't change the ids.
template <class Use>
void encode_in_chunks(std::string_view text, const Tokenizer& tokenizer, const TextPlace& place, Use use) {
  std::size_t length = chunk_bytes;
  for (std::size_t at = 0; at < text.size();) {
    std::string_view part = text.substr(at, length);
    if (at + part.size() < text.size()) {
      const std::size_t end = tokenizer.cut(part);
      if (end == 0) {  // one word is longer than the chunk
        length *= 2;
        continue;
      }
      part = part.substr(0, end);
    }
    use(tokenizer.encode(part, {place.name, place.offset + at}), at, at + part.size());
    at += part.size();
    length = chunk_bytes;
  }
}

// Returns the ids as they are stored: 2 or 4 bytes each, in this machine's byte order.
std::vector<unsigned char> narrowed(const std::vector<std::int64_t>& ids, int width) {
  std::vector<unsigned char> bytes(ids.size() * static_cast<std::size_t>(width));
  unsigned char* next = bytes.data();
  for (const std::int64_t id : ids) {
    const auto wide = static_cast<std::uint32_t>(id);
    const auto narrow = static_cast<std::uint16_t>(id);
    if (width == 2) std::memcpy(next, &narrow, 2);
    else std::memcpy(next, &wide, 4);
    next += width;
  }
  return bytes;
}

// The record at the end of a cache file, after the ids.
struct CacheTail {
  char magic[8];
  std::uint64_t text_bytes, text_hash, tokenizer_hash;
  std::uint64_t width, count;
  std::uint64_t ids_hash;    // EncodedText::hash()
  std::uint64_t bytes_hash;  // of the stored ids and the fields above
};

std::uint64_t bytes_hash_of(BytesHash ids, CacheTail tail) {
  tail.bytes_hash = 0;
  ids.add(&tail, sizeof tail);
  return ids.value();
}

constexpr char cache_magic[9] = "weftids1";

std::uint64_t hash_of(const TextFile& file) {
  BytesHash hash;
  const std::string_view text = file.text();
  for (std::size_t at = 0; at < text.size(); at += chunk_bytes) {
    const std::string_view part = text.substr(at, chunk_bytes);
    hash.add(part);
    file.forget(at, at + part.size());
  }
  return hash.value();
}

// Returns the tail that a cache of this text for this tokenizer must have. The function leaves the fields that describe
// the ids unset.
CacheTail expected_tail(const TextFile& file, const Tokenizer& tokenizer) {
  CacheTail tail = {};
  std::memcpy(tail.magic, cache_magic, sizeof tail.magic);
  tail.text_bytes = file.text().size();
  tail.text_hash = hash_of(file);
  BytesHash hash;
  hash.add(tokenizer.to_json());
  tail.tokenizer_hash = hash.value();
  tail.width = static_cast<std::uint64_t>(width_of(tokenizer));
  return tail;
}

// Opens the cache and reads its tail. Returns null if the cache belongs to a different text or tokenizer, or is
// damaged.
std::shared_ptr<const os::RandomAccessFile> open_cache(const std::string& path, const CacheTail& expected,
                                                       CacheTail& tail) try {
  if (!std::filesystem::is_regular_file(path_of(path))) return nullptr;
  auto file = std::make_shared<os::RandomAccessFile>(path);
  if (file->size() < sizeof tail) return nullptr;
  const std::uint64_t end = file->size() - sizeof tail;
  file->read(end, &tail, sizeof tail);
  const bool same = std::equal(tail.magic, tail.magic + 8, expected.magic) && tail.text_bytes == expected.text_bytes &&
                    tail.text_hash == expected.text_hash && tail.tokenizer_hash == expected.tokenizer_hash &&
                    tail.width == expected.width && tail.count == end / tail.width && end % tail.width == 0;
  if (!same) return nullptr;
  BytesHash hash;
  std::vector<unsigned char> part(chunk_bytes);
  for (std::uint64_t at = 0; at < end; at += chunk_bytes) {
    const std::size_t bytes = std::min<std::uint64_t>(chunk_bytes, end - at);
    file->read(at, part.data(), bytes);
    hash.add(part.data(), bytes);
  }
  return bytes_hash_of(hash, tail) == tail.bytes_hash ? file : nullptr;
} catch (const Error&) {
  return nullptr;  // a cache that can't be read is written again
} catch (const std::filesystem::filesystem_error&) {
  return nullptr;
}

// Writes the ids and adds their count and hashes to the tail.
template <class File>
void write_ids(File& out, const TextFile& text, const Tokenizer& tokenizer, CacheTail& tail) {
  BytesHash bytes_hash;
  tail.ids_hash = hash_start;
  encode_in_chunks(text.text(), tokenizer, text.place(0), [&](const auto& ids, std::size_t begin, std::size_t end) {
    const std::vector<unsigned char> bytes = narrowed(ids, width_of(tokenizer));
    out.write(bytes.data(), bytes.size());
    bytes_hash.add(bytes.data(), bytes.size());
    tail.ids_hash = hash(tail.ids_hash, ids);
    tail.count += ids.size();
    text.forget(begin, end);
  });
  tail.bytes_hash = bytes_hash_of(bytes_hash, tail);
}

void write_cache(const std::string& path, const TextFile& text, const Tokenizer& tokenizer, CacheTail& tail) {
  std::error_code ignored;  // AtomicFile reports the problem
  std::filesystem::create_directories(path_of(path).parent_path(), ignored);
  os::AtomicFile out(path);
  write_ids(out, text, tokenizer, tail);
  out.write(&tail, sizeof tail);
  out.commit();
}

std::string temporary_folder(const std::string& text) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::temp_directory_path(error);
  if (error)
    throw Error("[text] can't store the ids of \"" + text +
                "\": the folder for temporary files (TMPDIR) can't be used: " + error.message());
  return name_of(folder);
}

}  // namespace

EncodedText::EncodedText(std::string_view text, const Tokenizer& tokenizer, const TextPlace& place) try
    : width_(width_of(tokenizer)), symbols_(tokenizer.size()), hash_(hash_start) {
  const auto bytes = std::make_shared<std::vector<unsigned char>>();
  encode_in_chunks(text, tokenizer, place, [&](const auto& ids, std::size_t, std::size_t) {
    const std::vector<unsigned char> narrow = narrowed(ids, width_);
    bytes->insert(bytes->end(), narrow.begin(), narrow.end());
    hash_ = detail::hash(hash_, ids);
    size_ += std::ssize(ids);
  });
  ids_ = bytes;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("text");
}

EncodedText EncodedText::of_file(const std::string& path, const Tokenizer& tokenizer, const std::string& cache,
                                 std::uint64_t most_in_memory) try {
  const TextFile text(path);
  if (!tokenizer.takes_any_bytes()) text.check_is_text();
  if (text.text().size() <= most_in_memory) return EncodedText(text.text(), tokenizer, text.place(0));
  EncodedText encoded;
  CacheTail tail = {};
  if (cache.empty()) {
    os::TemporaryFile file(temporary_folder(path));
    write_ids(file, text, tokenizer, tail);
    encoded.file_ = file.finished();
  } else {
    const CacheTail expected = expected_tail(text, tokenizer);
    encoded.file_ = open_cache(cache, expected, tail);
    if (!encoded.file_) {
      tail = expected;
      write_cache(cache, text, tokenizer, tail);
      encoded.file_ = std::make_shared<os::RandomAccessFile>(cache);
    }
  }
  encoded.width_ = width_of(tokenizer);
  encoded.symbols_ = tokenizer.size();
  encoded.size_ = static_cast<std::int64_t>(tail.count);
  encoded.hash_ = tail.ids_hash;
  return encoded;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("text");
}

void EncodedText::copy(std::int64_t begin, std::int64_t count, std::int64_t* out) const {
  if (count == 0) return;
  const auto first = static_cast<std::size_t>(begin * width_), bytes = static_cast<std::size_t>(count * width_);
  std::vector<unsigned char> read;
  if (file_) {
    read.resize(bytes);
    file_->read(first, read.data(), bytes);
  }
  const unsigned char* next = file_ ? read.data() : ids_->data() + first;
  for (std::int64_t i = 0; i < count; ++i, next += width_) {
    std::uint16_t narrow;
    std::uint32_t wide;
    if (width_ == 2) {
      std::memcpy(&narrow, next, 2);
      out[i] = narrow;
    } else {
      std::memcpy(&wide, next, 4);
      out[i] = wide;
    }
    if (out[i] >= symbols_)
      throw Error("[text] expected ids below " + std::to_string(symbols_) + ", got " + std::to_string(out[i]) + ": \"" +
                  file_->path() +
                  "\", in which weft stores the text's ids, was changed while weft was reading it; remove that file");
  }
}

}  // namespace weft
