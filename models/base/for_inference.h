// The reasons why some parameters can't be written. detail::lend and lend_quantized receive them.
#pragma once

namespace weft::detail {

inline constexpr const char* loaded_for_inference =
    "belongs to a model that was loaded for inference and uses the weights in the file without copying them; to write "
    "or train the parameter, load the model for training (LoadOptions, Purpose::training)";
inline constexpr const char* quantized_for_inference =
    "belongs to a quantized model, which can only be used for inference; write or train the original model, and "
    "quantize it again";

}  // namespace weft::detail
