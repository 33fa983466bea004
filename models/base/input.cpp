// The input of models that read numbers: its description, normalization, patches and embedding.
#include "weft/input.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/json.h"
#include "base/names.h"
#include "base/sequence.h"
#include "weft/config.h"

namespace weft {
using namespace detail;

namespace {

using nlohmann::ordered_json;

constexpr double position_deviation = 0.02;
constexpr std::int64_t longest_sequence = std::int64_t{1} << 30;

void check_channels(const char* name, const std::vector<double>& values, const InputSpec& spec, double above) {
  if (!values.empty() && std::ssize(values) != spec.channels)
    throw Error(std::string("[input] expected a ") + name + " for each of " + std::to_string(spec.channels) +
                " channels, got " + std::to_string(values.size()));
  for (const double value : values)
    if (!std::isfinite(value) || value <= above)
      throw Error(std::string("[input] expected a finite ") + name + (above == 0 ? " above 0" : "") + ", got " +
                  std::to_string(value));
}

void read_names(const nlohmann::json& list, std::vector<std::string>& names) {
  if (!list.is_array()) throw Error("[input] expected \"names\" to be a list of strings");
  for (const auto& value : list) read_field("input", "names", value, names.emplace_back());
}

struct Moments {
  std::vector<double> mean, deviation;
};

// Returns the mean and deviation of each channel. The channels are the last axis. A deviation of 0 becomes 1.
Moments moments_of(const Tensor& numbers) {
  const auto x = raw::convert(numbers, DType::f64).to_vector<double>();
  const auto channels = static_cast<std::size_t>(numbers.size(-1));
  const double count = static_cast<double>(x.size() / channels);
  Moments moments{std::vector<double>(channels, 0), std::vector<double>(channels, 0)};
  for (std::size_t i = 0; i < x.size(); ++i) moments.mean[i % channels] += x[i] / count;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double off = x[i] - moments.mean[i % channels];
    moments.deviation[i % channels] += off * off / count;
  }
  for (double& deviation : moments.deviation) deviation = deviation > 0 ? std::sqrt(deviation) : 1;
  return moments;
}

std::vector<double> numbers_of(const std::string& key, const nlohmann::json& list) {
  std::vector<double> numbers;
  if (!list.is_array()) throw Error("[input] expected \"" + key + "\" to be a list of numbers");
  for (const auto& value : list) read_field("input", key, value, numbers.emplace_back());
  return numbers;
}

SoundSpec sound_of(const nlohmann::json& json) {
  if (!json.is_object()) throw Error("[input] expected \"sound\" to be an object");
  SoundSpec sound;
  for (const auto& [key, value] : json.items()) {
    if (key == "rate") read_field("input", key, value, sound.rate);
    else if (key == "mels") read_field("input", key, value, sound.mels);
    else if (key == "window") read_field("input", key, value, sound.window);
    else if (key == "hop") read_field("input", key, value, sound.hop);
    else throw Error("[input] unknown field \"" + key + "\" of \"sound\"");
  }
  if (!sound.defined())
    throw Error("[input] expected a sampling rate of at least 1, got " + std::to_string(sound.rate));
  return sound;
}

Tensor in_dtype_of(const Tensor& numbers, const Tensor& x) { return raw::convert(numbers, x.dtype()); }

}  // namespace

std::vector<std::string> position_kinds() { return {"architecture", "none", "sinusoidal", "learned"}; }

void check_input_spec(const InputSpec& spec) {
  if (!spec.defined()) throw Error("[input] expected at least 1 channel, got " + std::to_string(spec.channels));
  check_size("input", "channels", spec.channels, 1);
  check_size("input", "height", spec.height, 0);
  check_size("input", "width", spec.width, 0);
  check_size("input", "patch", spec.patch, 1);
  check_size("input", "length", spec.length, 0);
  if ((spec.height == 0) != (spec.width == 0) || (!spec.is_picture() && spec.patch != 1) ||
      spec.height % spec.patch != 0 || spec.width % spec.patch != 0)
    throw Error("[input] expected pictures whose height and width are multiples of the patch size, " +
                std::to_string(spec.patch) + " pixels, got " + std::to_string(spec.height) + " x " +
                std::to_string(spec.width));
  if (spec.patches() > longest_sequence || spec.length > longest_sequence)
    throw Error("[input] the sequences are too long: expected at most " + std::to_string(longest_sequence) +
                " frames or patches");
  const std::vector<std::string> kinds = position_kinds();
  if (std::find(kinds.begin(), kinds.end(), spec.positions) == kinds.end())
    throw Error("[input] expected \"positions\" to be one of " + join(kinds) + ", got \"" + spec.positions + "\"");
  if (const SoundSpec& sound = spec.sound; sound.defined() || sound.rate < 0) {
    for (const auto& [name, value, least] : {std::tuple("rate", sound.rate, 1),
                                             {"mels", sound.mels, 1},
                                             {"window", sound.window, 2},
                                             {"hop", sound.hop, 1}})
      check_size("input", name, value, least);
    if (sound.mels != spec.channels || spec.is_picture())
      throw Error("[input] expected one channel for each of " + std::to_string(sound.mels) + " mel filters, got " +
                  std::to_string(spec.channels) + (spec.is_picture() ? " channels of pictures" : ""));
  }
  if (spec.positions == "learned" && !spec.is_picture() && spec.length < 1)
    throw Error("[input] learned positions need \"length\", the maximum length of a sequence");
  if (spec.mean.size() != spec.deviation.size())
    throw Error("[input] expected a mean and a deviation for each channel, or neither");
  check_channels("mean", spec.mean, spec, -HUGE_VAL);
  check_channels("deviation", spec.deviation, spec, 0);
  if (!spec.names.empty() && std::ssize(spec.names) != spec.channels)
    throw Error("[input] expected a name for each of " + std::to_string(spec.channels) + " channels, got " +
                std::to_string(spec.names.size()));
}

std::string input_to_json(const InputSpec& spec) {
  const InputSpec usual;
  ordered_json json{{"channels", spec.channels}};
  if (spec.is_picture()) json.update({{"height", spec.height}, {"width", spec.width}, {"patch", spec.patch}});
  if (spec.positions != usual.positions) json["positions"] = spec.positions;
  if (spec.length != usual.length) json["length"] = spec.length;
  if (const SoundSpec& sound = spec.sound; sound.defined())
    json["sound"] = {{"rate", sound.rate}, {"mels", sound.mels}, {"window", sound.window}, {"hop", sound.hop}};
  if (!spec.names.empty()) json["names"] = spec.names;
  if (!spec.mean.empty()) json.update({{"mean", spec.mean}, {"deviation", spec.deviation}});
  return json.dump();
}

InputSpec input_from_json(const std::string& text) {
  const nlohmann::json json = parse_json(text);
  if (!json.is_object()) throw Error("[input] expected a JSON object, got " + text.substr(0, 200));
  InputSpec spec;
  for (const auto& [key, value] : json.items()) {
    if (key == "channels") read_field("input", key, value, spec.channels);
    else if (key == "height") read_field("input", key, value, spec.height);
    else if (key == "width") read_field("input", key, value, spec.width);
    else if (key == "patch") read_field("input", key, value, spec.patch);
    else if (key == "length") read_field("input", key, value, spec.length);
    else if (key == "positions" && value.is_string()) spec.positions = value;
    else if (key == "names") read_names(value, spec.names);
    else if (key == "sound") spec.sound = sound_of(value);
    else if (key == "mean") spec.mean = numbers_of(key, value);
    else if (key == "deviation") spec.deviation = numbers_of(key, value);
    else throw Error("[input] the field \"" + key + "\" is unknown, or its value has the wrong type");
  }
  check_input_spec(spec);
  return spec;
}

void set_normalization(InputSpec& spec, const Tensor& frames) {
  if (!frames.defined() || frames.rank() < 1 || frames.size(-1) != spec.channels || frames.numel() == 0)
    throw Error("[input] expected frames of " + std::to_string(spec.channels) + " channels to normalize, got " +
                (frames.defined() ? to_string(frames.shape()) : "none"));
  const Moments moments = moments_of(frames);
  spec.mean = moments.mean;
  spec.deviation = moments.deviation;
  check_input_spec(spec);
}

void check_output_spec(const OutputSpec& spec, std::int64_t outputs) {
  InputSpec numbers;  // check_channels() expects an InputSpec
  numbers.channels = outputs;
  if (spec.mean.size() != spec.deviation.size())
    throw Error("[output] expected a mean and a deviation for each output, or neither");
  check_channels("mean", spec.mean, numbers, -HUGE_VAL);
  check_channels("deviation", spec.deviation, numbers, 0);
}

OutputSpec output_spec(const Tensor& targets) {
  if (!targets.defined() || targets.rank() != 2 || targets.numel() == 0)
    throw Error("[output] expected targets (rows, outputs), got " +
                (targets.defined() ? to_string(targets.shape()) : "none"));
  const Moments moments = moments_of(targets);
  const OutputSpec spec{moments.mean, moments.deviation};
  check_output_spec(spec, targets.size(1));
  return spec;
}

Tensor in_unit(const Tensor& y, const OutputSpec& spec) {
  if (!spec.defined()) return y;
  const std::int64_t outputs = std::ssize(spec.mean);
  const Tensor x = widened(y);
  return add(mul(x, in_dtype_of(Tensor::from(spec.deviation, {outputs}), x)),
             in_dtype_of(Tensor::from(spec.mean, {outputs}), x));
}

PatchGrid mixing_grid(const std::string& model, const std::string& mixing, const InputSpec& input) {
  if (mixing == "sequence") return {};
  if (mixing != "picture")
    throw Error("[" + model + "] expected mixing \"sequence\" or \"picture\", got \"" + mixing + "\"");
  if (!input.is_picture()) throw Error("[" + model + "] mixing \"picture\" needs a model that reads pictures");
  return input.grid();
}

// (b, h/p, p, w/p, p, c) -> (b, h/p, w/p, p, p, c)
Tensor patches_of(const Tensor& pictures, std::int64_t p) {
  if (!pictures.defined() || pictures.rank() != 4 || p < 1 || pictures.size(1) % p != 0 || pictures.size(2) % p != 0)
    throw Error("[patches] expected pictures (b, height, width, channels) whose sides are multiples of " +
                std::to_string(p) + " pixels, got " + (pictures.defined() ? to_string(pictures.shape()) : "none"));
  const std::int64_t b = pictures.size(0), rows = pictures.size(1) / p, columns = pictures.size(2) / p;
  const std::int64_t c = pictures.size(3);
  const Tensor cut = permute(reshape(pictures, {b, rows, p, columns, p, c}), {0, 1, 3, 2, 4, 5});
  return reshape(cut, {b, rows * columns, p * p * c});
}

FrameEmbedding::FrameEmbedding(const InputSpec& spec, std::int64_t d_model, const Init& init)
    : projection(spec.patch * spec.patch * spec.channels, d_model, init.child(0)), spec_(spec) {
  const std::int64_t length = spec.is_picture() ? spec.patches() : spec.length;
  if (spec.positions == "learned") positions = init.child(1).normal({length, d_model}, position_deviation);
  if (spec.positions == "sinusoidal")
    sinusoidal_ = std::make_shared<SinusoidalPositions>(length > 0 ? length : longest_sequence, d_model);
  if (spec.mean.empty()) return;
  std::vector<double> factors;
  for (const double deviation : spec.deviation) factors.push_back(1 / deviation);
  mean_ = Tensor::from(spec.mean, {spec.channels});
  factor_ = Tensor::from(factors, {spec.channels});
}

// x = W ((frames - mean) / deviation) + b plus the positions, (b, n, d_model)
Tensor FrameEmbedding::operator()(const Tensor& frames) const {
  Tensor x = frames;
  if (mean_.defined()) x = mul(sub(x, in_dtype_of(mean_, x)), in_dtype_of(factor_, x));
  if (spec_.is_picture()) x = patches_of(x, spec_.patch);
  x = projection(x);
  const std::int64_t n = x.size(1);
  if (positions.defined() && n > positions.value().size(0))
    throw Error("[input] expected at most " + std::to_string(positions.value().size(0)) +
                " frames, because the model has only that many learned positions, got " + std::to_string(n));
  if (positions.defined()) x = add(x, slice(positions, 0, 0, n));
  if (sinusoidal_) x = add(x, (*sinusoidal_)(0, n, x.dtype()));
  return x;
}

}  // namespace weft
