// Pictures in the IDX format of MNIST (yann.lecun.com/exdb/mnist): big-endian sizes, then one byte for each value.
#pragma once
#include <string>
#include <string_view>

#include "weft/labeled_texts.h"

namespace weft::detail {

// Whether the file begins like a file of pictures, which are bytes (n, height, width) or (n, height, width, channels).
bool is_idx_of_pictures(std::string_view bytes);

// Returns the pictures without labels. The bytes of each picture are stored as the text of a row. Throws an Error that
// begins with `where` if the sizes don't match the number of bytes.
LabeledTexts idx_pictures(std::string_view bytes, const std::string& where);

// Returns the pictures of a file with their labels. The labels are in a file of the same folder, whose name has
// "labels-idx1" instead of "images-idx3".
LabeledTexts read_idx(const std::string& path, std::string_view bytes, const LabeledOptions& options);

}  // namespace weft::detail
