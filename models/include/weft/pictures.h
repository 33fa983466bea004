/// \file
/// Labeled pictures as training data: LabeledTexts whose rows hold pixels.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "weft/labeled_texts.h"
#include "weft/row_data.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// One decoded picture.
struct Picture {
  PictureSize size;    ///< 1 channel for gray, 3 for red, green and blue
  std::string pixels;  ///< one byte for each channel, row by row
};

/// Reads files of one format, such as PNG.
struct PictureDecoder {
  std::string name;   ///< name of the format, for messages
  std::string magic;  ///< the bytes at the beginning of each file of the format
  /// Decodes the picture in a file's bytes. Throws an Error that says what is wrong with the bytes. Several threads may
  /// call it at the same time.
  std::function<Picture(std::string_view bytes)> decode;
};

/// Enables read_labeled and TextRows to read files of this format. Training data are one folder of pictures for each
/// label. The library itself has no decoders, so it does not depend on other libraries. The `weft` command has decoders
/// for PNG and JPEG. Throws an Error if a member of the decoder is empty, or if its name is taken. Any thread may call
/// it at any time.
void register_picture_decoder(PictureDecoder decoder);

/// Returns the InputSpec of a model that reads these pictures: their size, patches of `patch` pixels on each side, and
/// the mean and the standard deviation of each channel over all pictures. Throws an Error if there are no pictures, or
/// if the patch doesn't divide their height and width.
InputSpec picture_input(const LabeledTexts& pictures, std::int64_t patch);

/// Returns the default side of patches for pictures of this size, in pixels. It is the smallest side that divides a
/// picture into at most 64 patches, or 1 if no side that is smaller than the height and the width does so.
std::int64_t usual_patch(const PictureSize& size) noexcept;

/// Random changes of training pictures, drawn again each time a picture is used.
struct Augmentation {
  bool flips = false;  ///< mirrors pictures left to right, each with a probability of 1/2
  /// The maximum shift of a picture along each axis, in pixels. Uncovered pixels become 0.
  std::int64_t shift = 0;
};

/// Converts a picture to a tensor (height, width, channels) f32, from 0 to 255. If the input has 3 channels, a gray
/// picture is read as a color picture. Throws an Error unless `pixels` has one byte for each channel of each pixel.
Tensor picture_tensor(const std::string& pixels, const InputSpec& input);

/// Makes the data for a classifier of pictures. `input` describes the pictures that the model reads. Gray pictures are
/// read as color pictures if the input has color. Throws an Error if the training or validation set has pictures of
/// another size, or if their labels differ.
std::unique_ptr<RowData> picture_data(LabeledTexts training, LabeledTexts validation, const InputSpec& input,
                                      std::int64_t batch, const Augmentation& augmentation = {});

}  // namespace weft
WEFT_PUBLIC_END
