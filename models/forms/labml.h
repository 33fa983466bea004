// What state dicts of labml-nn share: https://github.com/labmlai/annotated_deep_learning_paper_implementations, transformers/.
#pragma once
#include <string>
#include <utility>

#include "weft/safetensors.h"

namespace weft::detail::labml {

inline const char* const position_table = "src_embed.positional_encodings";  // (rows, 1, d_model)
inline constexpr std::int64_t usual_positions = 5000;                        // its rows there

// Error, naming the file, if its positions are learned, or of another shape: weft makes them itself.
void check_positions(const SafetensorsFile& file, std::int64_t d_model, const std::string& model);

// The table, of `length` rows or those that are usual there.
std::pair<std::string, Tensor> positions(std::int64_t length, std::int64_t d_model);

}  // namespace weft::detail::labml
