/// \file
/// Rows of numbers that files hold, as data for training: pictures, sounds, and sequences of frames.
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

/// What a model of these rows reads: picture_input() of pictures; log_mel() of sounds, with windows of 25 ms every 10
/// ms and 40 mel filters; or the frames themselves. It has the mean and the deviation of each channel over all rows.
/// Throws an Error if there is no row, or if the rows are texts.
InputSpec frame_input(const LabelledTexts& rows, std::int64_t patch = 1);

/// What rows a model reads: texts if it has a vocabulary.
RowContent row_content(const Model& model);

/// The numbers of one row: a picture (height, width, channels), or frames (n, channels); f32. A sequence is cut after
/// `longest` frames, unless that is 0. Throws an Error if the row doesn't fit the input.
Tensor frames_of_row(const std::string& row, const InputSpec& input, std::int64_t longest = 0);

/// The most frames that a row has, or the patches of a picture.
std::int64_t longest_row(const LabelledTexts& rows, const InputSpec& input);

/// Data for these targets: {Task::classifier, rows.names} for classes, or what find_targets() found. Sequences are cut
/// after `length` frames. Augmentation is for pictures. Throws an Error if one of the sets doesn't fit the input or has
/// other labels.
std::unique_ptr<RowData> frame_data(LabelledTexts training, LabelledTexts validation, const TargetKind& kind,
                                    const InputSpec& input, std::int64_t length, std::int64_t batch,
                                    const Augmentation& augmentation = {}, const LearningOptions& learning = {});

}  // namespace weft
#pragma GCC visibility pop
