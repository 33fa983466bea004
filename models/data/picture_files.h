// Files with one picture each, read by registered decoders.
#pragma once
#include <string>
#include <string_view>

#include "weft/labelled_texts.h"
#include "weft/pictures.h"

namespace weft::detail {

// Whether the bytes begin like a picture of a known format, with or without a decoder.
bool is_picture_file(std::string_view bytes);

// Throws a BadRow that begins with `where` if there is no decoder or the picture can't be decoded.
Picture decode_picture(std::string_view bytes, const std::string& where);

// Adds a picture to the rows' texts. Throws a BadRow unless it has the size of those before it.
void add_picture(Picture picture, const std::string& where, LabelledTexts& all);

// Gives all pictures the same channels: gray ones among colored ones get three equal channels.
void finish_pictures(LabelledTexts& all);

// "pictures of 28 x 28 pixels with 3 channels"
std::string describe_pictures(const PictureSize& size);

}  // namespace weft::detail
