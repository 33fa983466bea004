// Random changes to training pictures.
#pragma once
#include "weft/pictures.h"
#include "weft/row_data.h"

namespace weft::detail {

// Adds the augmentation to the options of picture data. Throws an Error if the shift is negative or at least as large
// as one of the picture's sides, or if an augmentation is set for data that are not pictures.
void augment_pictures(RowDataOptions& options, const Augmentation& augmentation);

// "4 x 6 pixels of 1 channel"
std::string describe_size(const PictureSize& size);

}  // namespace weft::detail
