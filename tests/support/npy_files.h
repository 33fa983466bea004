// Files of NumPy arrays.
#pragma once
#include <cstring>
#include <string>
#include <vector>

#include "wav_files.h"

namespace weft::test {

// Returns the content of a .npy file of float32 numbers. The shape is written as in Python: "(2, 5)".
inline std::string npy_file(const std::string& shape, const std::vector<float>& numbers) {
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", data;
  header.resize(117, ' ');
  for (const float number : numbers) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &number, sizeof bits);
    data += little_endian(bits, 4);
  }
  return std::string("\x93NUMPY\1\0", 8) + little_endian(118, 2) + header + "\n" + data;
}

}  // namespace weft::test
