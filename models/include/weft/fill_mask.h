/// \file
/// Predicts the masked symbols ("[mask]") of a text with a masked language model.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/classifier.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A text and a model's predictions for its gaps.
struct FilledText {
  std::string text;                           ///< the text with the most probable symbol in each gap
  std::vector<std::vector<Prediction>> gaps;  ///< for each gap in order: the predicted symbols, most probable first
};

/// Predicts a symbol for each gap in the text. A gap is "[mask]", in upper or lower case, or the name of the
/// tokenizer's own mask symbol. Each gap gets at most `top` symbols (0: all), each with a probability of at least
/// `threshold`. Special symbols are not predicted. The function makes one forward pass over the text, padded to at
/// least CheckpointInfo::pad_to tokens. If the tokenizer has [sep], the row is [cls] text [sep]. Threads may share the
/// checkpoint. Throws an Error if the model is not a masked language model, if the tokenizer has only special symbols,
/// if the text has no gap, can't be encoded or is longer than the model's maximum length, or if the model's output is
/// not finite.
FilledText fill_mask(const Checkpoint& checkpoint, const std::string& text, std::int64_t top = 5, double threshold = 0);

}  // namespace weft
WEFT_PUBLIC_END
