#include "weft/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/augmentation.h"
#include "weft/frame_rows.h"

namespace weft {
using namespace detail;

namespace {

// Moves the picture down by `down` and right by `right` pixels, after mirroring it.
Tensor changed(const Tensor& picture, bool mirrored, std::int64_t down, std::int64_t right) {
  const std::int64_t h = picture.size(0), w = picture.size(1), c = picture.size(2);
  const auto from = picture.to_vector<float>();
  std::vector<float> to(from.size(), 0);
  for (std::int64_t row = std::max<std::int64_t>(down, 0); row < h + std::min<std::int64_t>(down, 0); ++row)
    for (std::int64_t column = std::max<std::int64_t>(right, 0); column < w + std::min<std::int64_t>(right, 0);
         ++column) {
      const std::int64_t source = mirrored ? w - 1 - (column - right) : column - right;
      std::copy_n(from.begin() + ((row - down) * w + source) * c, c, to.begin() + (row * w + column) * c);
    }
  return Tensor::from(to, picture.shape());
}

}  // namespace

std::int64_t usual_patch(const PictureSize& size) noexcept {
  constexpr std::int64_t most = 64;
  for (std::int64_t side = 1; side < std::min(size.height, size.width); ++side)
    if (size.height % side == 0 && size.width % side == 0 && (size.height / side) * (size.width / side) <= most)
      return side;
  return 1;
}

// Computes the means and deviations from the counts of all values, so that the sums are exact.
InputSpec picture_input(const LabeledTexts& pictures, std::int64_t patch) {
  InputSpec spec;
  spec.channels = pictures.picture.channels;
  spec.height = pictures.picture.height;
  spec.width = pictures.picture.width;
  spec.patch = patch;
  if (pictures.texts.empty() || !spec.is_picture()) throw Error("[pictures] expected at least one picture");
  const auto channels = static_cast<std::size_t>(spec.channels);
  std::vector<std::array<double, 256>> counts(channels, std::array<double, 256>{});
  for (const std::string& pixels : pictures.texts)
    for (std::size_t i = 0; i < pixels.size(); ++i) ++counts[i % channels][static_cast<unsigned char>(pixels[i])];
  for (const auto& count : counts) {
    double n = 0, sum = 0, squares = 0;
    for (int value = 0; value < 256; ++value) {
      n += count[static_cast<std::size_t>(value)];
      sum += value * count[static_cast<std::size_t>(value)];
    }
    const double mean = sum / n;
    for (int value = 0; value < 256; ++value)
      squares += (value - mean) * (value - mean) * count[static_cast<std::size_t>(value)];
    spec.mean.push_back(mean);
    spec.deviation.push_back(squares > 0 ? std::sqrt(squares / n) : 1);
  }
  check_input_spec(spec);
  return spec;
}

// If the input has three channels, a gray picture has the same value in all of them.
Tensor picture_tensor(const std::string& pixels, const InputSpec& input) {
  const std::int64_t bytes = std::ssize(pixels), area = input.height * input.width;
  const std::int64_t copies = input.channels == 3 && bytes == area ? 3 : 1;
  if (bytes * copies != area * input.channels)
    throw Error("[pictures] expected " + describe_size({input.height, input.width, input.channels}) + ", got " +
                std::to_string(bytes) + " bytes");
  std::vector<float> values;
  values.reserve(pixels.size() * static_cast<std::size_t>(copies));
  for (const char pixel : pixels)
    values.insert(values.end(), static_cast<std::size_t>(copies), static_cast<unsigned char>(pixel));
  return Tensor::from(values, {input.height, input.width, input.channels});
}

void detail::augment_pictures(RowDataOptions& options, const Augmentation& augmentation) {
  const auto [flips, shift] = augmentation;
  const InputSpec& input = options.input;
  if (!input.is_picture() && (flips || shift != 0)) throw Error("[pictures] only pictures can be flipped or shifted");
  if (shift < 0 || (shift > 0 && (shift >= input.height || shift >= input.width)))
    throw Error("[pictures] expected a shift from 0 to less than a picture's side, got " + std::to_string(shift));
  if (flips) options.name += ", flips";
  if (shift > 0) options.name += ", shift " + std::to_string(shift);
  if (flips || shift > 0)
    options.augment = [flips = flips, shift = shift](Row row, const Random& random) {
      const auto places = static_cast<std::uint64_t>(2 * shift + 1);
      row.frames = changed(row.frames, flips && random.below(0, 2) == 1,
                           static_cast<std::int64_t>(random.below(1, places)) - shift,
                           static_cast<std::int64_t>(random.below(2, places)) - shift);
      return row;
    };
}

std::string detail::describe_size(const PictureSize& size) {
  return std::to_string(size.height) + " x " + std::to_string(size.width) + " pixels of " +
         std::to_string(size.channels) + (size.channels == 1 ? " channel" : " channels");
}

std::unique_ptr<RowData> picture_data(LabeledTexts training, LabeledTexts validation, const InputSpec& input,
                                      std::int64_t batch, const Augmentation& augmentation) {
  const TargetKind classes{Task::classifier, training.texts.empty() ? validation.names : training.names};
  return frame_data(std::move(training), std::move(validation), classes, input, input.patches(), batch, augmentation);
}

}  // namespace weft
