/// \file
/// Labeled pictures as data for training: LabelledTexts whose rows hold pixels.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/labelled_texts.h"
#include "weft/row_data.h"

#pragma GCC visibility push(default)
namespace weft {

/// One decoded picture.
struct Picture {
  PictureSize size;    ///< 1 channel for gray, 3 for red, green and blue
  std::string pixels;  ///< one byte for each channel, row by row
};

/// Reads files of one format, such as PNG.
struct PictureDecoder {
  std::string name;   ///< of the format, for people
  std::string magic;  ///< the first bytes of each such file
  /// The picture in a file's bytes. Throws an Error that says what is wrong with them. Threads may call it at once.
  std::function<Picture(std::string_view bytes)> decode;
};

/// Lets read_labelled and TextRows read such files: for training, one folder of pictures for each label. weft itself
/// decodes none, so that it needs no further library. Its command has decoders for PNG and JPEG. Throws an Error if the
/// decoder has an empty part, or if there is one of that name. Any thread may call it at any time.
void register_picture_decoder(PictureDecoder decoder);

/// What a model of these pictures reads: their size, patches of `patch` pixels, and the mean and the deviation of each
/// channel over all pictures. Throws an Error if there are no pictures, or if the patch doesn't divide their sides.
InputSpec picture_input(const LabelledTexts& pictures, std::int64_t patch);

/// The side of patches for pictures of this size: the smallest that divides them into at most 64 patches; 1 if there is
/// none that is smaller than the picture.
std::int64_t usual_patch(const PictureSize& size) noexcept;

/// Random changes of training pictures, drawn anew each time a picture is used.
struct Augmentation {
  bool flips = false;      ///< half of the pictures are mirrored, left to right
  std::int64_t shift = 0;  ///< each is moved by up to this number of pixels along each axis; 0 fills what is uncovered
};

/// The tensor of one picture, (height, width, channels) f32 from 0 to 255. A gray picture is read as colored if there
/// are 3 channels. Throws an Error unless `pixels` has as many bytes as one of these pictures.
Tensor picture_tensor(const std::string& pixels, const InputSpec& input);

/// Data for a classifier of pictures, which `input` describes. Gray pictures are read as colored if the input is.
/// Throws an Error if one of the sets has pictures of another size or other labels.
std::unique_ptr<RowData> picture_data(LabelledTexts training, LabelledTexts validation, const InputSpec& input,
                                      std::int64_t batch, const Augmentation& augmentation = {});

}  // namespace weft
#pragma GCC visibility pop
