#include "weft/pictures.h"

#include <array>
#include <cmath>

#include "base/hash.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

bool fits(const PictureSize& size, const InputSpec& input) {
  return size.height == input.height && size.width == input.width && size.channels == input.channels;
}

std::string described(std::int64_t height, std::int64_t width, std::int64_t channels) {
  return std::to_string(height) + " x " + std::to_string(width) + " pixels of " + std::to_string(channels) +
         (channels == 1 ? " channel" : " channels");
}

RowSet rows_of(LabelledTexts pictures, const InputSpec& input) {
  const auto all = std::make_shared<const LabelledTexts>(std::move(pictures));
  return {std::ssize(all->texts), [all, input](std::int64_t k) {
            const auto row = static_cast<std::size_t>(k);
            return Row{{}, picture_tensor(all->texts[row], input), Tensor::full({}, all->labels[row], DType::i64)};
          }};
}

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

std::uint64_t hash_of(const LabelledTexts& pictures) {
  BytesHash hash;
  for (const std::string& pixels : pictures.texts) hash.add(pixels);
  hash.add(pictures.labels.data(), pictures.labels.size() * sizeof(std::int64_t));
  return hash.value();
}

}  // namespace

// From a count of each value, so that the sums are exact.
InputSpec picture_input(const LabelledTexts& pictures, std::int64_t patch) {
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

Tensor picture_tensor(const std::string& pixels, const InputSpec& input) {
  if (static_cast<std::int64_t>(pixels.size()) != input.height * input.width * input.channels)
    throw Error("[pictures] expected " + described(input.height, input.width, input.channels) + ", got " +
                std::to_string(pixels.size()) + " bytes");
  std::vector<float> values(pixels.size());
  for (std::size_t i = 0; i < pixels.size(); ++i) values[i] = static_cast<unsigned char>(pixels[i]);
  return Tensor::from(values, {input.height, input.width, input.channels});
}

std::unique_ptr<RowData> picture_data(LabelledTexts training, LabelledTexts validation, const InputSpec& input,
                                      std::int64_t batch, const Augmentation& augmentation) {
  return guard_memory("pictures", [&] {
    for (const LabelledTexts* set : {&training, &validation})
      if (!set->texts.empty() && !fits(set->picture, input))
        throw Error("[pictures] expected pictures of " + described(input.height, input.width, input.channels) +
                    ", got " + described(set->picture.height, set->picture.width, set->picture.channels));
    RowDataOptions options;
    options.task = Task::classifier;
    options.batch = batch;
    options.outputs = training.texts.empty() ? validation.names : training.names;
    if (validation.names != options.outputs)
      throw Error("[pictures] the validation set has other labels than the training set");
    options.input = input;
    options.name = "pictures, hash " + std::to_string(hash_of(training)) + " " + std::to_string(hash_of(validation));
    const auto [flips, shift] = augmentation;
    if (shift < 0 || shift >= input.height || shift >= input.width)
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
    return std::make_unique<RowData>(rows_of(std::move(training), input), rows_of(std::move(validation), input),
                                     options);
  });
}

}  // namespace weft
