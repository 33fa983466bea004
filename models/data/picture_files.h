// Files that are one row: a picture, read by a registered decoder, or a sound.
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

// Adds the file as a row if it is a picture or a sound, or if the rows before it are; false if it is a text. Throws a
// BadRow if it doesn't fit to the rows before it.
bool add_numbers(std::string_view bytes, const std::string& where, LabelledTexts& all);
// Ends with the last file. Returns what the rows are, for people.
std::string finish_numbers(LabelledTexts& all);
// Whether add_numbers would add it as the first row.
bool is_file_of_numbers(std::string_view bytes);

// Gives all pictures the same channels: gray ones among colored ones get three equal channels.
void finish_pictures(LabelledTexts& all);

// "pictures of 28 x 28 pixels with 3 channels"
std::string describe_pictures(const PictureSize& size);

}  // namespace weft::detail
