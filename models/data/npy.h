// NumPy's files: .npy (numpy.org/doc/stable/reference/generated/numpy.lib.format.html), and .npz, zip archives of them.
#pragma once
#include <string>
#include <string_view>

#include "weft/labelled_texts.h"

namespace weft::detail {

// Whether the bytes begin like a .npy, or like a .npz.
bool is_npy(std::string_view bytes);

// The rows x (rows, …) without labels, from a .npy or from the array "x" of a .npz. Bytes (rows, h, w) or (rows, h, w,
// c) are pictures; other numbers (rows, n) or (rows, n, c) are sequences of frames. Throws an Error that begins with
// `where`.
LabelledTexts npy_rows(std::string_view bytes, const std::string& where);

// The same with labels: the array "y" of a .npz or, for the file .../x.npy, those of the file .../y.npy. Whole numbers
// and texts are names, other numbers (rows) or (rows, k) are numbers.
LabelledTexts read_npy(const std::string& path, std::string_view bytes, const LabelledOptions& options);

}  // namespace weft::detail
