// A safetensors file in a file that is being written.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "weft/os.h"
#include "weft/tensor.h"

namespace weft::detail {

// As save_safetensors, without the commit. Errors call the file `path`.
void write_safetensors(os::AtomicFile& file, const std::string& path,
                       const std::vector<std::pair<std::string, Tensor>>& tensors,
                       const std::map<std::string, std::string>& metadata);

}  // namespace weft::detail
