// Files of small labeled pictures in the IDX format.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace weft::test {

inline std::string idx_header(const std::vector<std::int64_t>& shape) {
  std::string header{0, 0, 8, static_cast<char>(shape.size())};
  for (const std::int64_t size : shape)
    for (int shift = 24; shift >= 0; shift -= 8) header += static_cast<char>(size >> shift & 255);
  return header;
}

// Picture k is bright on the left (label 0), on the right (1) or everywhere (2), and has an individual pattern.
inline std::string small_picture(std::int64_t k, std::int64_t height = 4, std::int64_t width = 6) {
  std::string pixels;
  for (std::int64_t row = 0; row < height; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const bool bright = k % 3 == 2 || (2 * column < width) == (k % 3 == 0);
      pixels += static_cast<char>((bright ? 180 : 20) + (k * 31 + row * 17 + column * 5) % 60);
    }
  return pixels;
}

// Writes "NAME-images-idx3-ubyte" and the labels. Returns the path of the pictures.
inline std::string write_pictures(const TemporaryFolder& folder, const std::string& name, std::int64_t first,
                                  std::int64_t count, std::int64_t height = 4, std::int64_t width = 6) {
  std::string pictures = idx_header({count, height, width}), labels = idx_header({count});
  for (std::int64_t k = first; k < first + count; ++k) {
    pictures += small_picture(k, height, width);
    labels += static_cast<char>(k % 3);
  }
  folder.write(name + "-images-idx3-ubyte", pictures);
  folder.write(name + "-labels-idx1-ubyte", labels);
  return folder / (name + "-images-idx3-ubyte");
}

}  // namespace weft::test
