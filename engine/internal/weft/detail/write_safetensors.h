// Writes a safetensors file into an AtomicFile.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/os.h"
#include "weft/tensor.h"

namespace weft::detail {

// Does the same as save_safetensors, but writes to `file` and does not commit it. Error messages call the file `path`.
void write_safetensors(os::AtomicFile& file, const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace weft::detail
