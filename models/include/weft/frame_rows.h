/// \file
/// Rows of numbers from files as training data: pictures, sounds, and sequences of frames.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "weft/labeled_texts.h"
#include "weft/pictures.h"
#include "weft/row_data.h"
#include "weft/target_rows.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Returns the InputSpec of a model that reads these rows. For pictures, it is the result of picture_input(). For
/// sounds, the model reads the frames of log_mel() with 40 mel filters and a window of 25 ms every 10 ms. For
/// sequences, the model reads the frames themselves. The spec includes the mean and the standard deviation of each
/// channel over all rows. Throws an Error if there is no row, or if the rows are texts.
InputSpec frame_input(const LabeledTexts& rows, std::int64_t patch = 1);

/// Returns the kind of rows that the model reads. If the model has a vocabulary, it reads texts.
RowContent row_content(const Model& model);

/// Returns the numbers of one row in f32: a picture (height, width, channels), or frames (n, channels). A sequence is
/// truncated to `longest` frames, unless `longest` is 0. Throws an Error if the size of the row doesn't match the
/// input.
Tensor frames_of_row(const std::string& row, const InputSpec& input, std::int64_t longest = 0);

/// Returns the number of frames in the longest row, or the number of patches of a picture.
std::int64_t longest_row(const LabeledTexts& rows, const InputSpec& input);

/// Makes the data for the task and the outputs in `kind`, which is the result of find_targets(). Sequences are
/// truncated to `length` frames. Throws an Error if the training or validation set doesn't match the input, if their
/// labels differ, or if augmentation is requested for rows that are not pictures.
std::unique_ptr<RowData> frame_data(LabeledTexts training, LabeledTexts validation, const TargetKind& kind,
                                    const InputSpec& input, std::int64_t length, std::int64_t batch,
                                    const Augmentation& augmentation = {}, const LearningOptions& learning = {});

}  // namespace weft
WEFT_PUBLIC_END
