// NumPy's files with sequences of frames and numbers to predict.
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "npy_files.h"
#include "temporary_folder.h"

namespace weft::test {

// Rows of 5 frames with 2 numbers. The first number is a wave, and the target is the wave's height.
inline void write_waves(const TemporaryFolder& folder, const std::string& name, int rows) {
  std::vector<float> x, y;
  for (int row = 0; row < rows; ++row) {
    const float height = static_cast<float>(row * 7 % 11);
    for (int i = 0; i < 5; ++i) {
      x.push_back(height * std::sin(static_cast<float>(i)));
      x.push_back(static_cast<float>(row % 3));
    }
    y.push_back(100 + height);
  }
  const std::string count = std::to_string(rows);
  folder.write(name + "-x.npy", npy_file("(" + count + ", 5, 2)", x));
  folder.write(name + "-y.npy", npy_file("(" + count + ",)", y));
}

}  // namespace weft::test
