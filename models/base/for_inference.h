// The reasons why some parameters can't be written. detail::lend and lend_quantized receive them.
#pragma once

namespace weft::detail {

inline constexpr const char* loaded_for_inference =
    "belongs to a model that was loaded for inference, which reads its weights in the file; to write or train it, load "
    "it for training (LoadOptions, Purpose::training)";
inline constexpr const char* quantized_for_inference =
    "belongs to a quantized model, which is only for inference; write or train the original model, and quantize it "
    "again";

}  // namespace weft::detail
