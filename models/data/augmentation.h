// Random changes of training pictures.
#pragma once
#include "weft/pictures.h"
#include "weft/row_data.h"

namespace weft::detail {

// Adds the changes to data of pictures. Throws an Error for a shift that is no part of a picture's side, or for changes
// of other data.
void augment_pictures(RowDataOptions& options, const Augmentation& augmentation);

// "4 x 6 pixels of 1 channel"
std::string describe_size(const PictureSize& size);

}  // namespace weft::detail
