// Used for all state dicts of labml-nn (https://github.com/labmlai/annotated_deep_learning_paper_implementations,
// transformers/).
#pragma once
#include <string>
#include <utility>

#include "weft/safetensors.h"

namespace weft::detail::labml {

inline const char* const position_table = "src_embed.positional_encodings";  // (rows, 1, d_model)
// The default number of rows of this table in labml-nn.
inline constexpr std::int64_t usual_positions = 5000;

// Throws an Error that names the file if its positions are learned or have another shape, because weft can only compute
// sinusoidal positions.
void check_positions(const SafetensorsFile& file, std::int64_t d_model, const std::string& model);

// The table of positions with `length` rows, or labml-nn's default number if that is larger.
std::pair<std::string, Tensor> positions(std::int64_t length, std::int64_t d_model);

}  // namespace weft::detail::labml
