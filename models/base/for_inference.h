// Why some parameters can't be written: the reasons passed to detail::lend and lend_quantized.
#pragma once

namespace weft::detail {

inline constexpr const char* loaded_for_inference =
    "is of a model that was loaded for inference, which reads its weights where they lie; to write or train it, load "
    "it for training (LoadOptions, Purpose::training)";
inline constexpr const char* quantized_for_inference =
    "is of a quantised model, which is for inference alone; write or train the model that it was made of, and quantise "
    "that again";

}  // namespace weft::detail
