// Files that contain one row each: a picture, which a registered decoder reads, or a sound.
#pragma once
#include <string>
#include <string_view>

#include "weft/labeled_texts.h"
#include "weft/pictures.h"

namespace weft::detail {

// Whether the bytes begin like a picture of a known format. The format may have no decoder.
bool is_picture_file(std::string_view bytes);

// Throws a BadRow that begins with `where` if there is no decoder or the picture can't be decoded.
Picture decode_picture(std::string_view bytes, const std::string& where);

// Adds a picture to the texts of `all`. Throws a BadRow unless it has the same size as the previous pictures.
void add_picture(Picture picture, const std::string& where, LabeledTexts& all);

// Adds the file as a row if it is a picture or a sound, or if the previous rows are. Otherwise returns false, because
// it is a text. Throws a BadRow if the file doesn't match the previous rows.
bool add_numbers(std::string_view bytes, const std::string& where, LabeledTexts& all);
// Call this after the last file. Returns a readable description of the rows.
std::string finish_numbers(LabeledTexts& all);
// Whether add_numbers would add the file as the first row.
bool is_file_of_numbers(std::string_view bytes);

// Gives all pictures the same number of channels. Gray pictures among colored ones get three equal channels.
void finish_pictures(LabeledTexts& all);

// "pictures of 28 x 28 pixels with 3 channels"
std::string describe_pictures(const PictureSize& size);

}  // namespace weft::detail
