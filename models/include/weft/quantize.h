/// \file
/// Quantized models, which are only for inference: the weights of Linear layers and the tables of Embeddings are
/// rounded to bf16, int8 or int4. Norms, biases, spatial gating matrices, TNN's position encoders and FNet's positions
/// stay f32.
#pragma once
#include <functional>
#include <optional>

#include "weft/model.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The format of quantized weights.
enum class Quantization {
  bf16,  ///< each element is rounded to the nearest bf16 value: half the memory of f32
  /// Each row has its own scale, max |row| / 127. Each element is rounded to a multiple of the scale, from -127 to 127
  /// times the scale: a quarter of the memory of f32. quantized_linear then computes the products.
  int8,
  /// Each group of 32 elements of a row has its own scale. Each element is rounded to a multiple of the scale, from -8
  /// to 7 times the scale (QuantizedWeight in weft/quantized.h): a seventh of the memory of f32. quantized_linear then
  /// computes the products.
  int4,
};

/// Rounds in place the parameters that are quantizable(). They are matrices (out, in). All handles to a parameter see
/// the change.
///
/// Afterwards none of the parameters is writable() or trainable, and the previous values can't be restored. The memory
/// of a previous value is freed as soon as no handle refers to the value. Throws an Error and changes nothing if `to`
/// is not an enumerator, if no parameter is quantizable, if the parameters are already quantized, or if a parameter is
/// not finite or exceeds the range of the format: 3.39e38 for bf16, and 2^127 for int4. In the last case, the message
/// names the parameter.
void quantize(const NamedParameters& parameters, Quantization to);
/// Quantizes a model's parameters and sets its precision to bf16. You may set the precision back to f32. No other
/// thread may use the model during the call, and existing token streams of the model can't continue. The checkpoint
/// that save_checkpoint then writes is smaller by the factor of the format. load_checkpoint loads such a checkpoint
/// only for inference.
void quantize(Model& model, Quantization to);

/// Quantizes a model to int4 for typical inputs, with error feedback: QuantizedWeight::fitted rounds the weights of
/// Linear layers. `calibrate` runs the model on the inputs. It is called once, in a Context with one thread, so that the
/// result doesn't depend on the number of threads. Only what it computes on the calling thread counts. Embeddings,
/// heads that share their weights, and layers that were not used are rounded as without calibration. Throws an Error
/// and changes nothing in the same cases as quantize(), if `to` is not int4, or if `calibrate` used no Linear layer.
void quantize(Model& model, Quantization to, const std::function<void()>& calibrate);

/// Returns the format of the parameters. Returns no value if they aren't quantized.
std::optional<Quantization> quantized_to(const NamedParameters& parameters);
/// Returns the name of the format, "bf16", "int8" or "int4", in checkpoints and in the `weft` command. Throws an Error
/// if `to` is not an enumerator.
const char* quantization_name(Quantization to);
/// Returns the format of that name. Throws an Error for other names.
Quantization quantization_from_name(const std::string& name);
/// Returns all formats, starting with the largest.
const std::vector<Quantization>& quantizations();

}  // namespace weft
WEFT_PUBLIC_END
