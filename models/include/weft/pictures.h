/// \file
/// Labeled pictures as data for training: LabelledTexts whose rows hold pixels.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "weft/labelled_texts.h"
#include "weft/row_data.h"

#pragma GCC visibility push(default)
namespace weft {

/// What a model of these pictures reads: their size, patches of `patch` pixels, and the mean and the deviation of each
/// channel over all pictures. Throws an Error if there are no pictures, or if the patch doesn't divide their sides.
InputSpec picture_input(const LabelledTexts& pictures, std::int64_t patch);

/// Random changes of training pictures, drawn anew each time a picture is used.
struct Augmentation {
  bool flips = false;      ///< half of the pictures are mirrored, left to right
  std::int64_t shift = 0;  ///< each is moved by up to this number of pixels along each axis; 0 fills what is uncovered
};

/// The tensor of one picture, (height, width, channels) f32 from 0 to 255. Throws an Error unless `pixels` has as many
/// bytes.
Tensor picture_tensor(const std::string& pixels, const InputSpec& input);

/// Data for a classifier of pictures, which `input` describes. Throws an Error if one of the sets has pictures of
/// another size or other labels.
std::unique_ptr<RowData> picture_data(LabelledTexts training, LabelledTexts validation, const InputSpec& input,
                                      std::int64_t batch, const Augmentation& augmentation = {});

}  // namespace weft
#pragma GCC visibility pop
