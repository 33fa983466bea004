// A file of rows, in memory.
#pragma once
#include <string>
#include <string_view>

#include "data/row_reader.h"
#include "weft/os.h"

namespace weft::detail {

// A file's bytes, mapped if that can be.
struct FileBytes {
  os::MappedFile mapped;
  std::string read;
  std::string_view view() const {
    return mapped.owner ? std::string_view(reinterpret_cast<const char*>(mapped.data), mapped.size) : read;
  }
};

FileBytes bytes_of(const std::string& path);

// Without a byte order mark. Error if it isn't the beginning of a text in UTF-8.
Content text_of(std::string_view bytes, const std::string& where);

}  // namespace weft::detail
