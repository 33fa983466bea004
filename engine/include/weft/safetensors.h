/// \file
/// safetensors files: https://github.com/huggingface/safetensors
#pragma once
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// How to load tensors. F64, F32, BF16, I64 and I8 are read unchanged. F16 becomes f32. I32, U8 and BOOL become
/// i64.
enum class Load {
  /// A view of the mapped file if the tensor's dtype and alignment allow it, otherwise a copy. While the file is
  /// mapped, it may be replaced or removed, but it must not be truncated or written in place.
  map,
  copy,  ///< always a copy
};

/// The bytes of a file in memory, and their owner.
struct Bytes {
  const void* data = nullptr;         ///< the first byte
  std::size_t size = 0;               ///< the number of bytes
  std::shared_ptr<const void> owner;  ///< keeps the bytes alive; if null, tensors are copies
  /// Whether the bytes are a read-only mapping of a file (os::map_file). If so, weft may return the memory of bytes
  /// that it does not need for a while to the system, which later reads them from the file again. Never set this to
  /// true for other memory, because its contents would be lost.
  bool in_mapped_file = false;
};

/// An open safetensors file, which consists of a JSON header and data. Error if the file is truncated, malformed or too
/// large. The message names the path.
class SafetensorsFile {
 public:
  /// Opens and checks the file. With Load::map, it maps the file. With Load::copy, it reads the whole file into memory,
  /// so that later changes to the file have no effect. load() with Load::map then returns views of this memory.
  explicit SafetensorsFile(const std::string& path, Load how = Load::map);
  /// Checks the contents of a safetensors file in memory. Error messages call the file `name`. If the bytes have an
  /// owner, load() with Load::map returns views of them. Without an owner, the bytes must stay valid until the last
  /// copy of this SafetensorsFile is destroyed.
  explicit SafetensorsFile(const Bytes& bytes, const std::string& name = "memory");

  const std::string& path() const noexcept;                        ///< the path, or the name of bytes in memory
  std::vector<std::string> names() const;                          ///< sorted by their position in the file
  bool contains(const std::string& name) const;                    ///< whether there is a tensor with that name
  const std::string& stored_dtype(const std::string& name) const;  ///< the dtype in the file, such as "F16"
  const Shape& shape(const std::string& name) const;               ///< Error if there is no such tensor
  /// The header's "__metadata__".
  const std::map<std::string, std::string>& metadata() const noexcept;
  Tensor load(const std::string& name, Load how = Load::map) const;  ///< Error if there is no such tensor

 private:
  struct WEFT_HIDDEN Impl;
  std::shared_ptr<const Impl> impl_;
};

/// Writes bf16, f32, f64, i64 and i8 tensors. Error for other dtypes. The function writes a temporary file in the same
/// folder, syncs it and renames it to `path`, so that an existing file is never lost. The data begins at a multiple of
/// 64 bytes. The format allows no gaps between tensors. Tensors whose size is a multiple of 64 bytes therefore come
/// first, so that each of them is aligned to 64 bytes. The other tensors follow in order of decreasing element size, so
/// that each of them is aligned to its element size. Apart from these rules, the tensors keep the given order.
void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace weft
WEFT_PUBLIC_END
