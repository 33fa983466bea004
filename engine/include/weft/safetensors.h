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

#pragma GCC visibility push(default)
namespace weft {

/// How to load tensors. F64, F32, BF16, I64 and I8 are read unchanged. F16 becomes f32. I32, U8 and BOOL become
/// i64.
enum class Load {
  /// A view of the mapped file if type and alignment allow it, else a copy. The file may be replaced or removed
  /// meanwhile, but must not be truncated or written in place.
  map,
  copy,  ///< always a copy
};

/// The bytes of a file in memory, and their owner.
struct Bytes {
  const void* data = nullptr;         ///< the first byte
  std::size_t size = 0;               ///< the number of bytes
  std::shared_ptr<const void> owner;  ///< keeps the bytes alive while they are read; null: tensors are copied
  /// Whether the bytes are a file, mapped read-only (os::map_file). Memory of bytes that are not needed for a while is
  /// then returned to the system, which reads the file again later. Never set this for other memory: its contents would
  /// be lost.
  bool in_mapped_file = false;
};

/// An open file: a JSON header and mapped data. A truncated, forged or oversized file gives an Error that names the
/// path.
class SafetensorsFile {
 public:
  /// Opens and checks the file. Load::copy reads all of it into memory; Load::map then gives views of that memory, and
  /// later changes of the file have no effect.
  explicit SafetensorsFile(const std::string& path, Load how = Load::map);
  /// Checks the bytes of a file that messages call `name`. If they have an owner, Load::map gives views of them.
  /// Without an owner, the bytes must stay valid until the last handle of the SafetensorsFile is destroyed.
  explicit SafetensorsFile(const Bytes& bytes, const std::string& name = "memory");

  const std::string& path() const noexcept;                        ///< the path, or the name of bytes in memory
  std::vector<std::string> names() const;                          ///< sorted by their position in the file
  bool contains(const std::string& name) const;                    ///< whether there is a tensor of that name
  const std::string& stored_dtype(const std::string& name) const;  ///< the dtype in the file, such as "F16"
  const Shape& shape(const std::string& name) const;               ///< Error if there is no such tensor
  /// The header's "__metadata__".
  const std::map<std::string, std::string>& metadata() const noexcept;
  Tensor load(const std::string& name, Load how = Load::map) const;  ///< Error if there is no such tensor

 private:
  struct [[gnu::visibility("hidden")]] Impl;
  std::shared_ptr<const Impl> impl_;
};

/// Writes bf16, f32, f64, i64 and i8 tensors (Error for other dtypes). It writes a temporary file in the same folder,
/// syncs it and renames it to `path`, so that an existing file is never lost. The data begin at a multiple of 64 bytes.
/// The format allows no gaps between tensors. So tensors whose size is a multiple of 64 bytes come first, each aligned
/// to 64 bytes, followed by the others in order of decreasing element size, each aligned to its element. Otherwise the
/// given order is kept.
void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace weft
#pragma GCC visibility pop
