/// \file
/// Rows of numbers from files as training data: pictures, sounds, and sequences of frames.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "weft/labelled_texts.h"
#include "weft/pictures.h"
#include "weft/row_data.h"
#include "weft/target_rows.h"

#pragma GCC visibility push(default)
namespace weft {

/// Returns the description of what a model of these rows reads. For pictures it is picture_input(). For sounds it is
/// log_mel() with 40 mel filters and windows of 25 ms every 10 ms. For sequences it is the frames themselves. It
/// includes the mean and the standard deviation of each channel over all rows. Throws an Error if there is no row, or
/// if the rows are texts.
InputSpec frame_input(const LabelledTexts& rows, std::int64_t patch = 1);

/// Returns what kind of rows a model reads: texts if it has a vocabulary.
RowContent row_content(const Model& model);

/// Returns the numbers of one row in f32: a picture (height, width, channels), or frames (n, channels). A sequence is
/// truncated to `longest` frames, unless `longest` is 0. Throws an Error if the row doesn't fit the input.
Tensor frames_of_row(const std::string& row, const InputSpec& input, std::int64_t longest = 0);

/// Returns the number of frames in the longest row, or the number of patches of a picture.
std::int64_t longest_row(const LabelledTexts& rows, const InputSpec& input);

/// Makes the data for these targets: {Task::classifier, rows.names} for classes, or the result of find_targets().
/// Sequences are truncated to `length` frames. Augmentation is for pictures. Throws an Error if the training or
/// validation set doesn't fit the input, or if their labels differ.
std::unique_ptr<RowData> frame_data(LabelledTexts training, LabelledTexts validation, const TargetKind& kind,
                                    const InputSpec& input, std::int64_t length, std::int64_t batch,
                                    const Augmentation& augmentation = {}, const LearningOptions& learning = {});

}  // namespace weft
#pragma GCC visibility pop
