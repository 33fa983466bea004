#include <algorithm>
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "files/safetensors_format.h"
#include "weft/detail/byte_order.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/write_safetensors.h"
#include "weft/os.h"
#include "weft/safetensors.h"

namespace weft {
using namespace detail;

namespace {

constexpr std::size_t alignment = 64;

using Named = std::pair<std::string, Tensor>;

const char* stored_name(DType dtype) noexcept {
  switch (dtype) {
    case DType::f32: return "F32";
    case DType::f64: return "F64";
    case DType::i64: return "I64";
    case DType::bf16: return "BF16";
    case DType::i8: return "I8";
    default: return nullptr;
  }
}

std::size_t bytes_of(const Tensor& t) noexcept { return static_cast<std::size_t>(t.numel()) * dtype_size(t.dtype()); }

void check(const std::vector<Named>& tensors) {
  std::set<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    const std::string which = "tensor " + safetensors::shown(name);
    if (name == safetensors::metadata_key) throw Error(which + " has a name that is reserved by the format");
    if (!names.insert(name).second) throw Error("two tensors are named " + safetensors::shown(name));
    if (!tensor.defined()) throw Error(which + " is undefined");
    if (stored_name(tensor.dtype()) == nullptr)
      throw Error(which + " has dtype " + dtype_name(tensor.dtype()) + ", expected bf16, f32, f64, i64 or i8");
  }
}

// The format allows no gaps between tensors. The header is padded with spaces so that the data begins at a multiple of
// 64 bytes. Tensors whose size is a multiple of 64 bytes come first, so they are all aligned to 64 bytes. The others
// follow in order of decreasing element size, so each of them is aligned to its element size.
std::vector<const Named*> in_file_order(const std::vector<Named>& tensors) {
  std::vector<const Named*> order;
  order.reserve(tensors.size());
  for (const Named& named : tensors) order.push_back(&named);
  const auto rank = [](const Named* named) {
    return bytes_of(named->second) % alignment == 0 ? std::size_t{0} : 16 - dtype_size(named->second.dtype());
  };
  std::stable_sort(order.begin(), order.end(), [&](const Named* a, const Named* b) { return rank(a) < rank(b); });
  return order;
}

// Throws nlohmann's type_error if the text is not UTF-8.
std::string to_json(const std::string& text) { return nlohmann::json(text).dump(); }

std::string list_of(const Shape& shape) {
  std::string list = "[";
  for (std::int64_t size : shape) list += (list.size() == 1 ? "" : ",") + std::to_string(size);
  return list + "]";
}

// Writes the header without a tree of JSON values, because the destructor of nlohmann's tree allocates memory.
std::string header_of(const std::vector<const Named*>& order, const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  for (const auto& [key, value] : metadata)
    header +=
        (header.size() == 1 ? to_json(safetensors::metadata_key) + ":{" : ",") + to_json(key) + ":" + to_json(value);
  if (!metadata.empty()) header += '}';
  std::size_t begin = 0;
  for (const Named* named : order) {
    const Tensor& t = named->second;
    const std::size_t end = begin + bytes_of(t);
    if (header.size() > 1) header += ',';
    header += to_json(named->first) + ":{\"dtype\":\"" + stored_name(t.dtype()) + "\",\"shape\":" + list_of(t.shape()) +
              ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
    begin = end;
  }
  header += '}';
  const std::size_t used = (safetensors::length_bytes + header.size()) % alignment;
  header.append((alignment - used) % alignment, ' ');
  if (header.size() > safetensors::header_limit)
    throw Error("the header would have " + std::to_string(header.size()) + " bytes; the format allows at most " +
                std::to_string(safetensors::header_limit));
  return header;
}

void write_elements(os::AtomicFile& file, const Tensor& dense) {
  if (has_byte_order_of_files) return file.write(dense.raw(), bytes_of(dense));
  Tensor reversed = Tensor::empty(dense.shape(), dense.dtype());
  std::memcpy(reversed.mutable_raw(), dense.raw(), bytes_of(dense));
  swap_byte_order(reversed.mutable_raw(), static_cast<std::size_t>(dense.numel()), dtype_size(dense.dtype()));
  file.write(reversed.raw(), bytes_of(dense));
}

}  // namespace

void detail::write_safetensors(os::AtomicFile& file, const std::string& path, const std::vector<Named>& tensors,
                               const std::map<std::string, std::string>& metadata) {
  const std::string place = "[safetensors] \"" + path + "\": ";
  std::vector<const Named*> order;
  std::string header;
  try {
    check(tensors);
    order = in_file_order(tensors);
    header = header_of(order, metadata);
  } catch (const nlohmann::json::exception&) {
    throw Error(place + "expected names and metadata in UTF-8");
  } catch (const Error& error) {
    throw Error(place + error.what());
  }
  unsigned char length[safetensors::length_bytes];
  static_assert(sizeof length == sizeof(std::uint64_t));
  put_number<std::uint64_t>(length, header.size());
  file.write(length, sizeof length);
  file.write(header.data(), header.size());
  for (const Named* named : order) {
    write_elements(file, raw::contiguous(named->second));
  }
}

void save_safetensors(const std::string& path, const std::vector<Named>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  guard_memory("safetensors", [&] {
    os::AtomicFile file(path);
    write_safetensors(file, path, tensors, metadata);
    file.commit();
  });
}

}  // namespace weft
