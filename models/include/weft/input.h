/// \file
/// The input of models: tokens, frames of numbers, and pictures, which a model reads as patches.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/layers.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// What a model reads for b sequences. A model without frames reads only tokens.
struct ModelInput {
  Tensor tokens;  ///< (b, n) i64, or undefined for a model without a vocabulary
  Tensor frames;  ///< f32 or f64: (b, n, channels), pictures (b, height, width, channels), or undefined
};

/// The grid of patches of a picture. A model's sequence contains the patches row by row.
struct PatchGrid {
  std::int64_t rows = 0;     ///< number of patches from top to bottom; 0: the sequence is not a picture
  std::int64_t columns = 0;  ///< number of patches from left to right

  /// Whether there is a picture.
  bool defined() const noexcept { return rows > 0; }
};

/// How a sound becomes frames. A frame is the logarithm of a mel spectrum, see log_mel (weft/sound.h).
struct SoundSpec {
  std::int64_t rate = 0;      ///< samples per second; 0: the input is not a sound
  std::int64_t mels = 40;     ///< number of mel filters, which are the channels of a frame
  std::int64_t window = 400;  ///< number of samples in the window of a frame
  std::int64_t hop = 160;     ///< number of samples from one frame to the next

  /// Whether the input is a sound.
  bool defined() const noexcept { return rate > 0; }
};

/// Describes the numbers that a model reads. It belongs to the model and to its checkpoint.
struct InputSpec {
  std::int64_t channels = 0;  ///< channels of a frame or a pixel; 0: the model reads only tokens
  std::int64_t height = 0;    ///< height of a picture, in pixels; 0: the model reads sequences of frames
  std::int64_t width = 0;     ///< width of a picture, in pixels
  std::int64_t patch = 1;     ///< side of the square patches of a picture, in pixels; it divides height and width
  /// The kind of position embeddings: "architecture" (those that the architecture also adds to tokens), "none",
  /// "sinusoidal", or "learned" (a trained table).
  std::string positions = "architecture";
  std::int64_t length = 0;   ///< maximum number of frames in a sequence, for learned positions; not needed for pictures
  std::vector<double> mean;  ///< mean of each channel: the model reads (x - mean) / deviation; empty: it reads x
  std::vector<double> deviation;   ///< standard deviation of each channel, above 0
  SoundSpec sound;                 ///< how frames are computed from a sound, if the input is a sound
  std::vector<std::string> names;  ///< names of the channels, which are also the columns of tables; may be empty

  /// Whether the model reads numbers.
  bool defined() const noexcept { return channels > 0; }
  /// Whether the model reads pictures.
  bool is_picture() const noexcept { return height > 0; }
  /// The number of patches in a picture; 0 if the model doesn't read pictures.
  std::int64_t patches() const noexcept { return grid().rows * grid().columns; }
  /// The grid of patches of a picture; undefined if the model doesn't read pictures.
  PatchGrid grid() const noexcept { return is_picture() ? PatchGrid{height / patch, width / patch} : PatchGrid{}; }
};

/// The scale and the offset that convert the results y of a model's last layer to the unit of its targets: the outputs
/// are y · deviation + mean. The spec belongs to the model and to its checkpoint. Both lists are empty, or have one
/// number for each output.
struct OutputSpec {
  std::vector<double> mean;       ///< usually the mean of the training targets
  std::vector<double> deviation;  ///< usually their standard deviation; above 0

  /// Whether results are converted.
  bool defined() const noexcept { return !mean.empty(); }
};

/// Throws an Error unless the spec is empty or has finite numbers for that many outputs.
void check_output_spec(const OutputSpec& spec, std::int64_t outputs);
/// Returns the mean and the standard deviation of each output, computed from targets (rows, outputs). A constant output
/// gets the deviation 1. Throws an Error if there is no row or if a number is not finite.
OutputSpec output_spec(const Tensor& targets);
/// Converts y (…, outputs) to the unit in the spec. The result is f32 if y is bf16. Returns y itself if the spec is
/// empty.
Tensor in_unit(const Tensor& y, const OutputSpec& spec);

/// Returns the values that InputSpec::positions may have.
std::vector<std::string> position_kinds();
/// Throws an Error if a size is below its minimum, if the patch doesn't divide the picture, if the name of the
/// positions is unknown, if learned positions have no length, or if mean and deviation are not finite or not given for
/// each channel.
void check_input_spec(const InputSpec& spec);
/// Returns the spec as a JSON object of the fields that differ from their defaults.
std::string input_to_json(const InputSpec& spec);
/// Reads a spec that input_to_json() wrote. Throws an Error for anything else.
InputSpec input_from_json(const std::string& json);

/// Sets the mean and the standard deviation of each channel to those of the frames (…, channels). A constant channel
/// gets the deviation 1. Throws an Error if there is no frame or if a number is not finite.
void set_normalization(InputSpec& spec, const Tensor& frames);

/// Returns the grid along which a layer mixes, for the value of a model's option `mixing`: an undefined grid for
/// "sequence", the grid of the input for "picture". Throws an Error for another value, or for "picture" if the input is
/// not a picture.
PatchGrid mixing_grid(const std::string& model, const std::string& mixing, const InputSpec& input);

/// Divides pictures into patches (Dosovitskiy et al. 2020, arXiv 2010.11929, section 3.1). The patches, and the pixels
/// in each patch, are in row order: (b, h, w, c) -> (b, (h/p) · (w/p), p · p · c). Throws an Error unless p divides h
/// and w.
Tensor patches_of(const Tensor& pictures, std::int64_t patch);

/// The embedding of frames, or of a picture's patches: W (x - mean) / deviation + b, plus positions if the spec has
/// any. Several threads may call the same layer concurrently, as with Linear.
class FrameEmbedding : public Layer<FrameEmbedding> {
 public:
  /// Makes the projection, a Linear, and draws learned positions from N(0, 0.02²).
  FrameEmbedding(const InputSpec& spec, std::int64_t d_model, const Init& init);
  /// frames as in ModelInput -> (b, n, d_model). Throws an Error for other shapes.
  Tensor operator()(const Tensor& frames) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("projection", projection);
    visit("positions", positions);
  }

  Linear projection;    ///< channels, or patch · patch · channels -> d_model
  Parameter positions;  ///< (length, d_model); undefined unless the positions are learned

 private:
  InputSpec spec_;
  Tensor mean_, factor_;                                     // (channels) f64, undefined without normalization
  std::shared_ptr<detail::SinusoidalPositions> sinusoidal_;  // null unless the spec has sinusoidal positions
};

}  // namespace weft
WEFT_PUBLIC_END
