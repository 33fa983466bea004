/// \file
/// Quantized models, which are only for inference: the weights of Linear layers and the tables of Embeddings are
/// rounded to bf16 or int8. Norms, biases, spatial gating matrices, TNN's position encoders and FNet's positions stay
/// f32.
#pragma once
#include <optional>

#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

/// Rounds in place the parameters that are quantizable(). They are matrices (out, in). All handles to a parameter see
/// the change. Rounding depends on `to`:
/// - bf16: each element is rounded to the nearest bf16 value, which takes half the memory of f32.
/// - i8: each row has its own scale, max |row| / 127. Each element is rounded to a multiple of the scale, from -127 to
///   127 times the scale. This takes a quarter of the memory of f32. quantized_linear then computes the products.
///
/// The scale comes from the largest element of its row, so no value saturates. Afterwards none of the parameters is
/// writable() or trainable, and the previous values can't be restored. The memory of a previous value is freed as soon
/// as no handle refers to the value. Throws an Error and changes nothing if `to` is another dtype, if no parameter is
/// quantizable, if the parameters are already quantized, or if a parameter is not finite or exceeds the range of bf16.
/// In the last case, the message names the parameter.
void quantize(const NamedParameters& parameters, DType to);
/// Quantizes a model's parameters and sets its precision to bf16. You may set the precision back to f32. No other
/// thread may use the model during the call, and existing token streams of the model can't continue. The checkpoint
/// that save_checkpoint then writes has about half or a quarter of the size. load_checkpoint loads such a checkpoint
/// only for inference.
void quantize(Model& model, DType to);

/// Returns the dtype to which the parameters are rounded, bf16 or i8. Returns no value if they aren't quantized.
std::optional<DType> quantized_to(const NamedParameters& parameters);
/// Returns "int8" for i8 and "bf16" for bf16, the names in checkpoints and in the `weft` command. Throws an Error for
/// other dtypes.
const char* quantization_name(DType to);
/// Returns the dtype of that name. Throws an Error if the name is neither "int8" nor "bf16".
DType quantization_from_name(const std::string& name);

}  // namespace weft
#pragma GCC visibility pop
