/// \file
/// Quantised models: the weights of Linear layers and the tables of Embeddings rounded to bf16 or int8, for inference alone.
/// Norms, biases, spatial gating matrices, TNN's position encoders and FNet's positions stay f32.
#pragma once
#include <optional>

#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

/// Rounds the parameters that are quantizable(), matrices (out, in), in place, for all their handles:
/// - to bf16: each element to the nearest, half the memory;
/// - to i8: each row by itself to the nearest of its scale times -127 … 127, scale = max |row| / 127; a quarter of the
///   memory. Products then are quantized_linear's.
/// Afterwards none of them is writable() or trainable, and nothing gets their former values back. Their memory is given
/// back with its last handle. A scale is the largest of its row: nothing lies beyond the values and is saturated.
/// Error, with nothing changed, if `to` is none of the two, if none of them is quantizable, if they are quantised already,
/// or for one that is not finite, or not in bf16: it is named.
void quantize(const NamedParameters& parameters, DType to);
/// A model's parameters; its precision is then bf16, which may be set to f32. No other thread may use it meanwhile; token
/// streams of it end. save_checkpoint saves it, in half or a quarter of the size, and load_checkpoint loads that for
/// inference.
void quantize(Model& model, DType to);

/// What the parameters are rounded to, bf16 or i8; none if they aren't quantised.
std::optional<DType> quantized_to(const NamedParameters& parameters);
/// "int8" of i8, "bf16" of bf16: as checkpoints and the command name them. Error for others.
const char* quantization_name(DType to);
/// Error if it is none of the two.
DType quantization_from_name(const std::string& name);

}  // namespace weft
#pragma GCC visibility pop
