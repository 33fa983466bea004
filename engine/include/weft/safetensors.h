// safetensors files: https://github.com/huggingface/safetensors
#pragma once
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/tensor.h"

namespace weft {

// F16 and BF16 are widened to f32; I32, U8 and BOOL to i64.
enum class Load {
  map,   // a view of the mapped file where its type and alignment allow, else a copy
  copy,  // always a copy: the file may then be replaced or removed
};

// An open file: a JSON header and mapped data. A file that is cut off, forged or too large gives an Error that
// names the path.
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const noexcept;
  std::vector<std::string> names() const;  // sorted by their place in the file
  bool contains(const std::string& name) const;
  const std::string& stored_dtype(const std::string& name) const;  // "F16", …
  const Shape& shape(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const noexcept;
  Tensor load(const std::string& name, Load how = Load::map) const;  // Error if there is no such tensor

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

// Writes f32, f64 and i64 tensors (others: Error), each padded to 64 bytes, to a temporary file in the same folder,
// syncs it and renames it to `path`: an existing file is never lost.
void save_safetensors(const std::string& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata = {});

}  // namespace weft
