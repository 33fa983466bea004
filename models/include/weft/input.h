/// \file
/// The input of models: tokens, frames of numbers, and pictures, which a model reads in patches.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/layers.h"

#pragma GCC visibility push(default)
namespace weft {

/// What a model reads for b sequences. A model without frames reads only tokens.
struct ModelInput {
  Tensor tokens;  ///< (b, n) i64, or undefined for a model without a vocabulary
  Tensor frames;  ///< f32 or f64: (b, n, channels), pictures (b, height, width, channels), or undefined
};

/// The patches of a picture as rows and columns. The sequence of a model holds them row by row.
struct PatchGrid {
  std::int64_t rows = 0;     ///< patches from top to bottom; 0: the sequence is no picture
  std::int64_t columns = 0;  ///< patches from left to right

  /// Whether there is a picture.
  bool defined() const noexcept { return rows > 0; }
};

/// How a sound becomes frames: the logarithm of mel spectra, see log_mel (weft/sound.h).
struct SoundSpec {
  std::int64_t rate = 0;      ///< samples a second; 0: the input is no sound
  std::int64_t mels = 40;     ///< filters, the channels of a frame
  std::int64_t window = 400;  ///< samples of a frame's spectrum
  std::int64_t hop = 160;     ///< samples from one frame to the next

  /// Whether the input is a sound.
  bool defined() const noexcept { return rate > 0; }
};

/// Describes the numbers that a model reads. It belongs to the model and to its checkpoint.
struct InputSpec {
  std::int64_t channels = 0;  ///< of a frame or a pixel; 0: the model reads only tokens
  std::int64_t height = 0;    ///< of pictures, in pixels; 0: the model reads sequences of frames
  std::int64_t width = 0;     ///< of pictures, in pixels
  std::int64_t patch = 1;     ///< side of the square patches of a picture, in pixels; it divides height and width
  /// "architecture": those that the architecture adds to tokens, too. "none"; "sinusoidal"; "learned", a trained table.
  std::string positions = "architecture";
  std::int64_t length = 0;         ///< the longest sequence of frames, for learned positions; pictures don't need it
  std::vector<double> mean;        ///< of each channel: the model reads (x - mean) / deviation; empty: x itself
  std::vector<double> deviation;   ///< of each channel, above 0
  SoundSpec sound;                 ///< if the frames are those of sounds
  std::vector<std::string> names;  ///< of the channels, for people and for reading tables; may be empty

  /// Whether the model reads numbers.
  bool defined() const noexcept { return channels > 0; }
  /// Whether these are pictures.
  bool is_picture() const noexcept { return height > 0; }
  /// The length of a picture's sequence of patches; 0 if the model doesn't read pictures.
  std::int64_t patches() const noexcept { return grid().rows * grid().columns; }
  /// The patches of a picture; not defined if the model doesn't read pictures.
  PatchGrid grid() const noexcept { return is_picture() ? PatchGrid{height / patch, width / patch} : PatchGrid{}; }
};

/// The unit of a model's numbers: its outputs are y · deviation + mean, for y from its last layer. It belongs to the
/// model and to its checkpoint. Both lists are empty, or have one number for each output.
struct OutputSpec {
  std::vector<double> mean;       ///< usually that of the training targets
  std::vector<double> deviation;  ///< above 0

  /// Whether the outputs have a unit.
  bool defined() const noexcept { return !mean.empty(); }
};

/// Throws an Error unless the spec has finite numbers for that many outputs, or none.
void check_output_spec(const OutputSpec& spec, std::int64_t outputs);
/// The mean and the deviation of each output, from targets (rows, outputs). A constant output gets the deviation 1.
/// Throws an Error if there is no row or if a number is not finite.
OutputSpec output_spec(const Tensor& targets);
/// y (…, outputs) in its unit, in f32 if y is bf16; y itself if the spec is empty.
Tensor in_unit(const Tensor& y, const OutputSpec& spec);

/// Throws an Error for sizes below their minimum, a patch that doesn't divide the picture, unknown positions, learned
/// positions without a length, or a mean or deviation that isn't finite or not one for each channel.
void check_input_spec(const InputSpec& spec);
/// The spec as a JSON object: the fields that are not the defaults.
std::string input_to_json(const InputSpec& spec);
/// Reads what input_to_json wrote. Throws an Error for anything else.
InputSpec input_from_json(const std::string& json);

/// Sets the mean and the deviation of each channel to those of the frames (…, channels). A constant channel gets the
/// deviation 1. Throws an Error if there is no frame or if a number is not finite.
void set_normalization(InputSpec& spec, const Tensor& frames);

/// What a layer mixes, for the value of a model's option `mixing`: nothing for "sequence", the input's grid for
/// "picture". Throws an Error for another value, or for "picture" if the input is no picture.
PatchGrid mixing_grid(const std::string& model, const std::string& mixing, const InputSpec& input);

/// Patches of pictures, row by row, each patch row by row (Dosovitskiy et al. 2020, arXiv 2010.11929, section 3.1):
/// (b, h, w, c) -> (b, (h/p) · (w/p), p · p · c). Throws an Error unless p divides h and w.
Tensor patches_of(const Tensor& pictures, std::int64_t patch);

/// The embedding of frames, and of a picture's patches: W (x - mean) / deviation + b, plus positions of its own if the
/// spec has them. Threads may call it at once, like Linear.
class FrameEmbedding : public Layer<FrameEmbedding> {
 public:
  /// The projection is a Linear. Learned positions are drawn from N(0, 0.02²).
  FrameEmbedding(const InputSpec& spec, std::int64_t d_model, const Init& init);
  /// frames as in ModelInput: (b, n, d_model). Throws an Error for other shapes.
  Tensor operator()(const Tensor& frames) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("projection", projection);
    visit("positions", positions);
  }

  Linear projection;    ///< channels, or patch · patch · channels -> d_model
  Parameter positions;  ///< (length, d_model) if they are learned

 private:
  InputSpec spec_;
  Tensor mean_, factor_;                                     // (channels) f64, undefined without normalization
  std::shared_ptr<detail::SinusoidalPositions> sinusoidal_;  // if the spec has them
};

}  // namespace weft
#pragma GCC visibility pop
