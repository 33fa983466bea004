// The contents of a file with rows.
#pragma once
#include <string>
#include <string_view>

#include "rows/row_reader.h"
#include "weft/os.h"

namespace weft::detail {

// A file's bytes. They are mapped if possible.
struct FileBytes {
  os::MappedFile mapped;
  std::string read;
  std::string_view view() const {
    return mapped.owner ? std::string_view(reinterpret_cast<const char*>(mapped.data), mapped.size) : read;
  }
};

FileBytes bytes_of(const std::string& path);

// Returns the text without a byte order mark. Throws an Error if the bytes can't be the beginning of a UTF-8 text.
Content text_of(std::string_view bytes, const std::string& where);

}  // namespace weft::detail
