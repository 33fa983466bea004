/// \file
/// What a masked language model puts where a text has "[mask]".
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/classifier.h"

#pragma GCC visibility push(default)
namespace weft {

/// A text and what a model puts in its gaps.
struct FilledText {
  std::string text;                           ///< with the most probable symbol in each gap
  std::vector<std::vector<Prediction>> gaps;  ///< of each gap in its order: symbols, the most probable first
};

/// Of a text in which "[mask]", in any case, stands for each symbol to fill in: at most `top` symbols for a gap (0: all), each at least
/// `threshold` probable; special symbols are none. What the tokenizer calls its mask ("[MASK]") is a gap, too. One forward
/// pass of the text's own length, or of CheckpointInfo::pad_to tokens; of a tokenizer with [sep] of [cls] text [sep]. Threads may share the
/// checkpoint. Error if its model is no masked language model, if its tokenizer has special symbols alone, if the text has
/// no "[mask]", can't be encoded or is longer than the model takes, or if the model gives what isn't finite.
FilledText fill_mask(const Checkpoint& checkpoint, const std::string& text, std::int64_t top = 5, double threshold = 0);

}  // namespace weft
#pragma GCC visibility pop
