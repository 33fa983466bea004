/// \file
/// Fills the gaps ("[mask]") of a text with a masked language model.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/classifier.h"

#pragma GCC visibility push(default)
namespace weft {

/// A text and a model's predictions for its gaps.
struct FilledText {
  std::string text;                           ///< with the most probable symbol in each gap
  std::vector<std::vector<Prediction>> gaps;  ///< for each gap in order: the symbols, most probable first
};

/// Fills a text in which "[mask]", in any case, stands for each symbol to predict. The tokenizer's own mask symbol
/// ("[MASK]") is a gap, too. Each gap gets at most `top` symbols (0: all), each with a probability of at least
/// `threshold`; special symbols are left out. It takes one forward pass of the text's own length, or of
/// CheckpointInfo::pad_to tokens; if the tokenizer has [sep], the row is [cls] text [sep]. Threads may share the
/// checkpoint. Throws an Error if its model is not a masked language model, if its tokenizer has only special symbols,
/// if the text has no "[mask]", can't be encoded or is longer than the model takes, or if the model's output is not
/// finite.
FilledText fill_mask(const Checkpoint& checkpoint, const std::string& text, std::int64_t top = 5, double threshold = 0);

}  // namespace weft
#pragma GCC visibility pop
