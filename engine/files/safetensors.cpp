#include "weft/safetensors.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "files/safetensors_format.h"
#include "tensor/storage.h"
#include "weft/context.h"
#include "weft/detail/byte_order.h"
#include "weft/detail/out_of_memory.h"
#include "weft/os.h"

namespace weft {
using namespace detail;

namespace {

using safetensors::shown;

constexpr std::size_t max_rank = 64;
// Elements per task of a conversion. Conversions are limited by memory bandwidth. Larger: threads may be idle. Smaller:
// more overhead per task. No benchmark shows the difference.
constexpr std::int64_t grain = 1 << 15;

struct Entry {
  std::string name, dtype;
  Shape shape;
  std::uint64_t begin = 0, end = 0;  // offsets in the data
};

// Returns the bytes per element of a type of the format, or 0 if the type is unknown or does not have whole bytes.
std::uint64_t stored_size(const std::string& dtype) {
  static const std::unordered_map<std::string, std::uint64_t> sizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E4M3", 1}, {"F8_E5M2", 1}, {"F8_E8M0", 1},
      {"U16", 2},  {"I16", 2}, {"F16", 2}, {"BF16", 2},    {"U32", 4},     {"I32", 4},
      {"F32", 4},  {"U64", 8}, {"I64", 8}, {"F64", 8},     {"C64", 8}};
  const auto found = sizes.find(dtype);
  return found == sizes.end() ? 0 : found->second;
}

// Handles the parser's events while it reads the header. Does not build a tree of JSON values, because a malicious
// header could produce a deep or large tree. The header is {NAME: {"dtype": TEXT, "shape": [N, …], "data_offsets":
// [BEGIN, END]}, …, "__metadata__": {TEXT: TEXT, …}}. To stop the parser, a handler returns false and stores the reason
// in `error`.
class HeaderReader {
 public:
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;
  std::string error;

  bool null() { return unexpected("null"); }
  bool boolean(bool) { return unexpected("true or false"); }
  bool number_integer(std::int64_t) { return unexpected("a negative number"); }
  bool number_float(double, const std::string&) { return unexpected("a number that is not a 64-bit integer"); }
  bool binary(nlohmann::json::binary_t&) { return unexpected("binary data"); }

  bool number_unsigned(std::uint64_t value) {
    if (level_ != Level::list) return unexpected("a number");
    if (list_.size() == max_rank) return refuse("the list is too long");
    list_.push_back(value);
    return true;
  }

  bool string(std::string& value) {
    if (level_ == Level::metadata) {
      if (!metadata.emplace(key_, std::move(value)).second) return refuse("the metadata contain a key twice");
      return true;
    }
    if (level_ != Level::tensor || key_ != "dtype") return unexpected("a string");
    entries.back().dtype = std::move(value);
    return once(has_dtype_);
  }

  bool key(std::string& value) {
    key_ = std::move(value);
    return true;
  }

  bool start_object(std::size_t) {
    if (level_ == Level::outside) {
      level_ = Level::header;
    } else if (level_ == Level::header && key_ == safetensors::metadata_key) {
      if (!once(has_metadata_)) return false;
      level_ = Level::metadata;
    } else if (level_ == Level::header) {
      entries.emplace_back().name = key_;
      has_dtype_ = has_shape_ = has_offsets_ = false;
      level_ = Level::tensor;
    } else {
      return unexpected("an object");
    }
    return true;
  }

  bool end_object() {
    if (level_ == Level::tensor && !(has_dtype_ && has_shape_ && has_offsets_))
      return refuse("tensor " + shown(entries.back().name) + " lacks its dtype, shape or data_offsets");
    level_ = level_ == Level::header ? Level::outside : Level::header;
    return true;
  }

  bool start_array(std::size_t) {
    if (level_ != Level::tensor || (key_ != "shape" && key_ != "data_offsets")) return unexpected("a list");
    level_ = Level::list;
    list_.clear();
    return true;
  }

  bool end_array() {
    level_ = Level::tensor;
    Entry& entry = entries.back();
    if (key_ == "shape") {
      for (std::uint64_t size : list_) {
        if (size > static_cast<std::uint64_t>(INT64_MAX)) return refuse("a size is too large");
        entry.shape.push_back(static_cast<std::int64_t>(size));
      }
      return once(has_shape_);
    }
    if (list_.size() != 2) return refuse("expected two numbers, got " + std::to_string(list_.size()));
    entry.begin = list_[0];
    entry.end = list_[1];
    return once(has_offsets_);
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::json::exception&) {
    error = "the header is not JSON in UTF-8 (byte " + std::to_string(position) + ")";
    return false;
  }

 private:
  enum class Level { outside, header, metadata, tensor, list };

  bool refuse(const std::string& what) {
    error = what + (level_ == Level::outside ? "" : ", at " + shown(key_));
    if (level_ >= Level::tensor) error += " of tensor " + shown(entries.back().name);
    return false;
  }
  bool unexpected(const std::string& what) { return refuse("the header has " + what + " in the wrong place"); }
  bool once(bool& seen) {
    if (seen) return refuse("the header contains a key twice");
    return seen = true;
  }

  Level level_ = Level::outside;
  std::string key_;
  std::vector<std::uint64_t> list_;
  bool has_metadata_ = false, has_dtype_ = false, has_shape_ = false, has_offsets_ = false;
};

// Converts the 16 bits of an F16 to the 32 bits of an f32 with the same value. A NaN keeps its payload.
std::uint32_t widen_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16, exponent = half >> 10 & 31, fraction = half & 0x3ff;
  if (exponent == 31) return sign | 0x7f800000u | fraction << 13;
  if (exponent != 0) return sign | (exponent + 127 - 15) << 23 | fraction << 13;
  const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
  std::uint32_t bits;
  std::memcpy(&bits, &magnitude, sizeof bits);
  return sign | bits;
}

// Returns a tensor whose element i is value(x), where x is element i of the tensor in the file. `To` is the integer
// type that holds the bits of the tensor's elements.
template <class From, class To, class Value>
Tensor widen(const unsigned char* data, const Shape& shape, DType dtype, Value value) {
  Tensor t = Tensor::empty(shape, dtype);
  unsigned char* out = static_cast<unsigned char*>(t.mutable_raw());
  Context::current().parallel_for(t.numel(), grain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const To to = value(number_from<From>(data + static_cast<std::size_t>(i) * sizeof(From)));
      std::memcpy(out + static_cast<std::size_t>(i) * sizeof(To), &to, sizeof(To));
    }
  });
  return t;
}

// Returns a view of `bytes` if `bytes` is given and allows a view, otherwise a copy in the processor's byte order.
Tensor as_stored(const unsigned char* data, const Shape& shape, DType dtype, const Bytes* bytes) {
  const std::size_t size = dtype_size(dtype);
  if (has_byte_order_of_files && bytes != nullptr && bytes->owner &&
      reinterpret_cast<std::uintptr_t>(data) % size == 0) {
    Tensor view = Tensor::borrow(bytes->owner, data, shape, dtype);
    view.storage()->in_mapped_file = bytes->in_mapped_file;
    return view;
  }
  Tensor t = Tensor::empty(shape, dtype);
  const auto count = static_cast<std::size_t>(t.numel());
  if (count > 0) std::memcpy(t.mutable_raw(), data, count * size);
  swap_byte_order(t.mutable_raw(), count, size);
  return t;
}

Bytes mapped(const std::string& path) {
  const os::MappedFile file = os::map_file(path);
  return {file.data, static_cast<std::size_t>(file.size), file.owner, true};
}

// Reads the whole file into memory that a tensor owns.
Bytes whole(const std::string& path) {
  const os::RandomAccessFile file(path);
  const auto size = static_cast<std::size_t>(file.size());
  try {
    const auto bytes = std::make_shared<Tensor>(Tensor::empty({static_cast<std::int64_t>(size)}, DType::i8));
    if (size > 0) file.read(0, bytes->mutable_raw(), size);
    return {bytes->raw(), size, bytes, false};
  } catch (const Error& error) {
    const std::string message = error.what();
    throw Error(message.find(path) == std::string::npos ? "[safetensors] \"" + path + "\": " + message : message);
  }
}

}  // namespace

struct SafetensorsFile::Impl {
  std::string path;
  Bytes file;
  const unsigned char* data = nullptr;
  std::vector<Entry> entries;  // sorted by position
  std::unordered_map<std::string, std::size_t> index;
  std::map<std::string, std::string> metadata;

  [[noreturn]] void fail(const std::string& what) const { throw Error("[safetensors] \"" + path + "\": " + what); }

  void read() {
    using namespace safetensors;
    const auto* const first = static_cast<const unsigned char*>(file.data);
    if (file.size < length_bytes)
      fail("the file is too short for a safetensors file: it has " + std::to_string(file.size) + " bytes");
    std::uint64_t length = 0;
    for (std::uint64_t i = 0; i < length_bytes; ++i) length |= std::uint64_t{first[i]} << 8 * i;
    if (length > header_limit || length > file.size - length_bytes)
      fail("not a safetensors file, or truncated: the header should have " + std::to_string(length) +
           " bytes, but the whole file has " + std::to_string(file.size));
    const unsigned char* header = first + length_bytes;
    if (length == 0 || *header != '{') fail("not a safetensors file: the header doesn't begin with '{'");
    HeaderReader reader;
    // As char, because libc++ has no std::char_traits<unsigned char>, which nlohmann_json would need.
    const auto* const text = reinterpret_cast<const char*>(header);
    if (!nlohmann::json::sax_parse(text, text + length, &reader)) fail(reader.error);
    entries = std::move(reader.entries);
    metadata = std::move(reader.metadata);
    data = header + length;
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    for (const Entry& entry : entries)
      if (!index.emplace(entry.name, index.size()).second) fail("two tensors are named " + shown(entry.name));
    check(file.size - length_bytes - length);
  }

  // Checks that the tensors fill the data and follow one another without overlap or gap, as the format requires.
  void check(std::uint64_t data_bytes) const {
    std::uint64_t next = 0;
    for (const Entry& entry : entries) {
      const std::string tensor = "tensor " + shown(entry.name);
      const std::string range = " (bytes " + std::to_string(entry.begin) + " to " + std::to_string(entry.end) + " of " +
                                std::to_string(data_bytes) + ")";
      if (entry.begin > entry.end || entry.end > data_bytes)
        fail(tensor + " reaches outside the data, or the file is truncated" + range);
      if (entry.begin < next) fail(tensor + " overlaps another tensor" + range);
      if (entry.begin > next) fail("there are unused bytes before " + tensor + range);
      const std::uint64_t size = stored_size(entry.dtype);
      if (size == 0) fail(tensor + " has an unknown dtype " + shown(entry.dtype));
      std::int64_t count = 0;
      try {
        count = numel(entry.shape);
      } catch (const Error& error) {
        fail(tensor + ": " + error.what());
      }
      if (static_cast<std::uint64_t>(count) * size != entry.end - entry.begin)
        fail(tensor + " has dtype " + entry.dtype + " and shape " + to_string(entry.shape) +
             ", which doesn't match its size in the file" + range);
      next = entry.end;
    }
    if (next != data_bytes) fail("there are " + std::to_string(data_bytes - next) + " unused bytes at the end");
  }

  const Entry& find(const std::string& name) const {
    const auto found = index.find(name);
    if (found == index.end()) fail("no tensor is named " + shown(name));
    return entries[found->second];
  }

  Tensor load(const Entry& entry, Load how) const {
    const unsigned char* p = data + entry.begin;
    const Shape& shape = entry.shape;
    const std::string& dtype = entry.dtype;
    const Bytes* mapping = how == Load::map ? &file : nullptr;
    if (dtype == "F32") return as_stored(p, shape, DType::f32, mapping);
    if (dtype == "F64") return as_stored(p, shape, DType::f64, mapping);
    if (dtype == "BF16") return as_stored(p, shape, DType::bf16, mapping);
    if (dtype == "I8") return as_stored(p, shape, DType::i8, mapping);
    if (dtype == "I64") return as_stored(p, shape, DType::i64, mapping);
    if (dtype == "F16") return widen<std::uint16_t, std::uint32_t>(p, shape, DType::f32, widen_half);
    if (dtype == "I32")
      return widen<std::int32_t, std::int64_t>(p, shape, DType::i64, [](std::int32_t x) { return std::int64_t{x}; });
    if (dtype == "U8")
      return widen<std::uint8_t, std::int64_t>(p, shape, DType::i64, [](std::uint8_t x) { return std::int64_t{x}; });
    if (dtype == "BOOL")
      return widen<std::uint8_t, std::int64_t>(p, shape, DType::i64,
                                               [](std::uint8_t x) { return std::int64_t{x != 0}; });
    fail("tensor " + shown(entry.name) + " has dtype " + dtype +
         "; weft reads F64, F32, F16, BF16, I64, I32, I8, U8 and BOOL");
  }
};

SafetensorsFile::SafetensorsFile(const std::string& path, Load how)
    : SafetensorsFile(guard_memory("safetensors", [&] { return how == Load::map ? mapped(path) : whole(path); }),
                      path) {}

SafetensorsFile::SafetensorsFile(const Bytes& bytes, const std::string& name) {
  guard_memory("safetensors", [&] {
    auto impl = std::make_shared<Impl>();
    impl->path = name;
    impl->file = bytes;
    impl->read();
    impl_ = std::move(impl);
  });
}

const std::string& SafetensorsFile::path() const noexcept { return impl_->path; }

std::vector<std::string> SafetensorsFile::names() const {
  return guard_memory("safetensors", [&] {
    std::vector<std::string> names;
    for (const Entry& entry : impl_->entries) names.push_back(entry.name);
    return names;
  });
}

bool SafetensorsFile::contains(const std::string& name) const { return impl_->index.count(name) != 0; }
const std::string& SafetensorsFile::stored_dtype(const std::string& name) const { return impl_->find(name).dtype; }
const Shape& SafetensorsFile::shape(const std::string& name) const { return impl_->find(name).shape; }
const std::map<std::string, std::string>& SafetensorsFile::metadata() const noexcept { return impl_->metadata; }

Tensor SafetensorsFile::load(const std::string& name, Load how) const {
  return guard_memory("safetensors", [&] { return impl_->load(impl_->find(name), how); });
}

}  // namespace weft
