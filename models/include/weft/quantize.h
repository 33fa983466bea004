/// \file
/// Quantized models: the weights of Linear layers and the tables of Embeddings are rounded to bf16 or int8, only for
/// inference. Norms, biases, spatial gating matrices, TNN's position encoders and FNet's positions stay f32.
#pragma once
#include <optional>

#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

/// Rounds the parameters that are quantizable(), matrices (out, in), in place, for all their handles:
/// - to bf16: rounds each element to the nearest value; half the memory;
/// - to i8: rounds each row separately to its scale times -127 … 127, with scale = max |row| / 127; a quarter of the
///   memory. Products are then those of quantized_linear.
/// Afterwards none of the parameters is writable() or trainable, and the previous values can't be restored. Their
/// memory is freed with its last handle. The scale comes from the largest element of its row, so no value saturates. In
/// these cases it throws an Error and changes nothing: `to` is neither dtype; no parameter is quantizable; the
/// parameters are quantized already; a parameter, which the message names, is not finite or exceeds the range of bf16.
void quantize(const NamedParameters& parameters, DType to);
/// Quantizes a model's parameters and sets its precision to bf16, which may be set back to f32. No other thread may use
/// the model meanwhile, and its token streams can't continue. save_checkpoint saves it in half or a quarter of the
/// size, and load_checkpoint loads that for inference.
void quantize(Model& model, DType to);

/// The dtype that the parameters are rounded to, bf16 or i8; none if they aren't quantized.
std::optional<DType> quantized_to(const NamedParameters& parameters);
/// "int8" for i8, "bf16" for bf16: the names in checkpoints and in the command. Throws an Error for other dtypes.
const char* quantization_name(DType to);
/// Throws an Error if the name is neither of the two.
DType quantization_from_name(const std::string& name);

}  // namespace weft
#pragma GCC visibility pop
