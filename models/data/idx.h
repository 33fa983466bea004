// Pictures in the IDX format of MNIST (yann.lecun.com/exdb/mnist): big-endian sizes, then one byte for each value.
#pragma once
#include <string>
#include <string_view>

#include "weft/labelled_texts.h"

namespace weft::detail {

// Whether the file begins like one of pictures: bytes (n, height, width) or (n, height, width, channels).
bool is_idx_of_pictures(std::string_view bytes);

// The pictures, each as a row's text, without labels. Throws an Error that begins with `where` if sizes and bytes don't
// agree.
LabelledTexts idx_pictures(std::string_view bytes, const std::string& where);

// The pictures of a file, with the labels of the file beside it whose name has "labels-idx1" in place of "images-idx3".
LabelledTexts read_idx(const std::string& path, std::string_view bytes, const LabelledOptions& options);

}  // namespace weft::detail
