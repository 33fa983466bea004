/// \file
/// Quantized models: the weights of Linear layers and the tables of Embeddings are rounded to bf16 or int8, only for
/// inference. Norms, biases, spatial gating matrices, TNN's position encoders and FNet's positions stay f32.
#pragma once
#include <optional>

#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

/// Rounds the quantizable() parameters, which are matrices (out, in), in place and for all their handles:
/// - to bf16: each element is rounded to the nearest value. This takes half the memory.
/// - to i8: each row is rounded separately to multiples -127 … 127 of its scale, max |row| / 127. This takes a quarter
///   of the memory. Products are then computed by quantized_linear.
///
/// The scale comes from the largest element of its row, so no value saturates. Afterwards none of the parameters is
/// writable() or trainable, and the previous values can't be restored. The memory of a previous value is freed with its
/// last handle. In these cases it throws an Error and changes nothing: `to` is neither dtype; no parameter is
/// quantizable; the parameters are already quantized; a parameter, which the message names, is not finite or exceeds
/// the range of bf16.
void quantize(const NamedParameters& parameters, DType to);
/// Quantizes a model's parameters and sets its precision to bf16. You may set it back to f32. No other thread may use
/// the model meanwhile, and its token streams can't continue. save_checkpoint saves the model in half or a quarter of
/// the size. load_checkpoint loads this for inference.
void quantize(Model& model, DType to);

/// Returns the dtype to which the parameters are rounded, bf16 or i8; none if they aren't quantized.
std::optional<DType> quantized_to(const NamedParameters& parameters);
/// Returns "int8" for i8 and "bf16" for bf16, the names in checkpoints and in the `weft` command. Throws an Error for
/// other dtypes.
const char* quantization_name(DType to);
/// Returns the dtype of that name. Throws an Error if the name is neither of the two.
DType quantization_from_name(const std::string& name);

}  // namespace weft
#pragma GCC visibility pop
