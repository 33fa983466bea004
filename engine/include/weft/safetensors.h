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

/// F64, F32, BF16, I64 and I8 are read as they are; F16 is widened to f32; I32, U8 and BOOL to i64.
enum class Load {
  map,   ///< a view of the mapped file where its type and alignment allow, else a copy; the file may be replaced or
         /// removed meanwhile, but not be cut or written in place
  copy,  ///< always a copy
};

/// A file's bytes in memory, and what keeps them there.
struct Bytes {
  const void* data = nullptr;         ///< the first byte
  std::size_t size = 0;               ///< how many
  std::shared_ptr<const void> owner;  ///< keeps them as long as somebody reads them; none: what is read is copied
  /// Whether they are a file's, mapped to be read alone (os::map_file). The memory of those that are not needed for a
  /// while is then given back to the system, which reads the file again. Never so for other memory, which would be lost.
  bool in_mapped_file = false;
};

/// An open file: a JSON header and mapped data. A file that is cut off, forged or too large gives an Error that
/// names the path.
class SafetensorsFile {
 public:
  /// Opens and checks it. Load::copy: all of it is read into memory, of which Load::map then gives views, and nothing that
  /// happens to the file later matters.
  explicit SafetensorsFile(const std::string& path, Load how = Load::map);
  /// Checks them as a file's, which messages call `name`. Load::map gives a view of them if they have an owner. Without
  /// one they must stay until the last handle of the SafetensorsFile goes.
  explicit SafetensorsFile(const Bytes& bytes, const std::string& name = "memory");

  const std::string& path() const noexcept;                        ///< or the name, as given
  std::vector<std::string> names() const;                          ///< sorted by their place in the file
  bool contains(const std::string& name) const;                    ///< a tensor of that name
  const std::string& stored_dtype(const std::string& name) const;  ///< "F16", …
  const Shape& shape(const std::string& name) const;               ///< Error if there is no such tensor
  /// The header's "__metadata__".
  const std::map<std::string, std::string>& metadata() const noexcept;
  Tensor load(const std::string& name, Load how = Load::map) const;  ///< Error if there is no such tensor

 private:
  struct [[gnu::visibility("hidden")]] Impl;
  std::shared_ptr<const Impl> impl_;
};

/// Writes bf16, f32, f64, i64 and i8 tensors (others: Error) to a temporary file in the same folder, syncs it and renames it to
/// `path`: an existing file is never lost. The data begin at a multiple of 64 bytes. The format allows no bytes
/// between tensors, so those of a multiple of 64 bytes come first, each aligned to 64, and then the others, each
/// aligned to its element; otherwise the order is the given one.
void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace weft
#pragma GCC visibility pop
