// NumPy's files: .npy (numpy.org/doc/stable/reference/generated/numpy.lib.format.html), and .npz, which are zip
// archives of .npy files.
#pragma once
#include <string>
#include <string_view>

#include "weft/labeled_texts.h"

namespace weft::detail {

// Whether the bytes begin like a .npy or a .npz file.
bool is_npy(std::string_view bytes);

// Returns the rows x (rows, …) without labels, from a .npy file or from the array "x" of a .npz file. Bytes (rows, h,
// w) or (rows, h, w, c) are pictures; other numbers (rows, n) or (rows, n, c) are sequences of frames. Throws an Error
// that begins with `where`.
LabeledTexts npy_rows(std::string_view bytes, const std::string& where);

// Does the same as npy_rows, but with labels. The labels are the array "y" of a .npz file or, for the file .../x.npy,
// the array in the file .../y.npy. An array (rows) has one label for each row. An array (rows, k) has k labels for each
// row, which become one text, separated by blanks.
LabeledTexts read_npy(const std::string& path, std::string_view bytes, const LabeledOptions& options);

}  // namespace weft::detail
