// Exchanges the names of two files or folders in one step.
#pragma once
#include <string>

namespace weft::os {

// Returns false if the file system does not support it.
bool exchange_names(const std::string& a, const std::string& b) noexcept;

}  // namespace weft::os
