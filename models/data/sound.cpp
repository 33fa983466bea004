#include "weft/sound.h"

#include <cmath>
#include <cstring>

#include "weft/context.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft {
namespace {

constexpr double pi = 3.14159265358979323846, floor_of_log = 1e-6;
constexpr std::uint64_t pcm = 1, ieee_float = 3, extensible = 0xFFFE;
constexpr std::uint64_t highest_rate = 1'000'000;  // a spectrum's memory grows with it

// A little-endian number of `size` bytes.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < size; ++i)
    number |= static_cast<std::uint64_t>(static_cast<unsigned char>(bytes[at + i])) << (8 * i);
  return number;
}

// Programs that write to a pipe don't know the size of the data. ffmpeg then writes 0xFFFFFFFF, and sox and arecord
// write nearly 2^31.
constexpr std::uint64_t unknown_size = 0x7FFFF000;

// Other programs write 0 as the size of the data. The field with the size of the whole file is then 0, unknown, or too
// small to include the sound.
bool is_unknown_size(std::uint64_t size, std::string_view bytes, std::size_t begin) {
  const std::uint64_t of_file = number_at(bytes, 4, 4);
  if (size == 0) return of_file == 0 || of_file >= unknown_size || of_file + 8 <= begin;
  return size >= unknown_size && size > bytes.size() - begin;
}

struct Chunk {
  std::string_view content;
  bool is_open = false;  // the size is unknown, so the data end at the end of the file
};

// Returns the first chunk with that name (Multimedia Programming Interface and Data Specifications 1.0, 1991).
Chunk chunk_of(std::string_view bytes, std::string_view name) {
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::uint64_t size = number_at(bytes, at + 4, 4);
    if (bytes.substr(at, 4) == name) {
      if (name == "data" && is_unknown_size(size, bytes, at + 8)) return {bytes.substr(at + 8), true};
      if (size > bytes.size() - at - 8)
        throw Error("[wav] expected " + std::to_string(size) + " bytes in the chunk \"" + std::string(name) +
                    "\", got " + std::to_string(bytes.size() - at - 8) + "; is the file truncated?");
      return {bytes.substr(at + 8, size)};
    }
    at += 8 + size + size % 2;  // chunks have even sizes
  }
  throw Error("[wav] the file has no chunk \"" + std::string(name) + "\"; is it truncated?");
}

struct WavFormat {
  std::uint64_t kind, channels, rate, bytes;  // bytes: size of a sample of one channel
};

WavFormat wav_format_of(std::string_view chunk) {
  if (chunk.size() < 16) throw Error("[wav] the description of the format is truncated");
  WavFormat format{number_at(chunk, 0, 2), number_at(chunk, 2, 2), number_at(chunk, 4, 4), number_at(chunk, 14, 2) / 8};
  if (format.kind == extensible && chunk.size() >= 26) format.kind = number_at(chunk, 24, 2);
  const bool is_known = (format.kind == pcm && format.bytes >= 1 && format.bytes <= 4) ||
                        (format.kind == ieee_float && format.bytes == 4);
  if (!is_known || number_at(chunk, 14, 2) % 8 != 0)
    throw Error("[wav] expected samples of 8, 16, 24 or 32 bits, or f32, got format " + std::to_string(format.kind) +
                " with " + std::to_string(number_at(chunk, 14, 2)) + " bits; ffmpeg -i FILE NEW.wav converts it");
  if (format.channels < 1) throw Error("[wav] expected at least one channel, got 0");
  if (format.rate < 1 || format.rate > highest_rate)
    throw Error("[wav] expected 1 to " + std::to_string(highest_rate) + " samples a second, got " +
                std::to_string(format.rate));
  return format;
}

// Returns a sample as a number from -1 to 1. Samples of 8 bits are unsigned, and 128 stands for 0.
float sample_at(std::string_view data, std::size_t at, const WavFormat& format) {
  const std::uint64_t bits = number_at(data, at, format.bytes);
  if (format.kind == ieee_float) {
    const auto low = static_cast<std::uint32_t>(bits);
    float value = 0;
    std::memcpy(&value, &low, sizeof value);
    if (!std::isfinite(value)) throw Error("[wav] a sample is not finite");
    return value;
  }
  if (format.bytes == 1) return (static_cast<float>(bits) - 128) / 128;
  const auto unused = static_cast<int>(32 - 8 * format.bytes);
  const auto value = static_cast<std::int32_t>(static_cast<std::uint32_t>(bits << unused));  // with its sign
  return static_cast<float>(value) / 0x1p31F;
}

double mel_of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
double hertz_of(double mel) { return 700 * (std::pow(10, mel / 2595) - 1); }

}  // namespace

Sound read_wav(std::string_view bytes) {
  if (bytes.size() < 12 || bytes.substr(0, 4) != "RIFF" || bytes.substr(8, 4) != "WAVE")
    throw Error("[wav] expected a WAV file, which begins with RIFF and WAVE");
  const WavFormat format = wav_format_of(chunk_of(bytes, "fmt ").content);
  const auto [data, is_open] = chunk_of(bytes, "data");
  const std::size_t step = format.channels * format.bytes;
  if (data.size() % step != 0 && !is_open)
    throw Error("[wav] expected samples of " + std::to_string(step) + " bytes, got " + std::to_string(data.size()) +
                " bytes; is the file truncated?");
  Sound sound{static_cast<std::int64_t>(format.rate), {}};
  sound.samples.reserve(data.size() / step);
  for (std::size_t at = 0; at + step <= data.size(); at += step) {
    float sum = 0;
    for (std::size_t channel = 0; channel < format.channels; ++channel)
      sum += sample_at(data, at + channel * format.bytes, format);
    sound.samples.push_back(sum / static_cast<float>(format.channels));
  }
  return sound;
}

Tensor mel_filters(const SoundSpec& spec) {
  const std::int64_t bins = spec.window / 2 + 1;
  std::vector<double> corners;
  const double highest = mel_of(static_cast<double>(spec.rate) / 2);
  for (std::int64_t i = 0; i < spec.mels + 2; ++i)
    corners.push_back(hertz_of(highest * static_cast<double>(i) / static_cast<double>(spec.mels + 1)));
  std::vector<double> filters;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const double f = static_cast<double>(bin * spec.rate) / static_cast<double>(spec.window);
    for (std::size_t m = 0; m < static_cast<std::size_t>(spec.mels); ++m) {
      const double rising = (f - corners[m]) / (corners[m + 1] - corners[m]);
      const double falling = (corners[m + 2] - f) / (corners[m + 2] - corners[m + 1]);
      filters.push_back(std::max(0.0, std::min(rising, falling)));
    }
  }
  return Tensor::from(filters, {bins, spec.mels});
}

std::int64_t frames_of_sound(std::int64_t samples, const SoundSpec& spec) { return 1 + samples / spec.hop; }

// Computes in f64, so that small bins next to large ones keep their precision.
Tensor log_mel(const std::vector<float>& samples, const SoundSpec& spec) {
  const NoGrad suspended;
  const std::int64_t n = std::ssize(samples), count = frames_of_sound(n, spec), window = spec.window;
  if (n < 1) throw Error("[sound] expected at least one sample");
  std::vector<double> hann, frames(static_cast<std::size_t>(count * window), 0);
  for (std::int64_t i = 0; i < window; ++i)
    hann.push_back(0.5 - 0.5 * std::cos(2 * pi * static_cast<double>(i) / static_cast<double>(window)));
  for (std::int64_t frame = 0; frame < count; ++frame)
    for (std::int64_t i = 0; i < window; ++i) {
      const std::int64_t at = frame * spec.hop + i - window / 2;
      if (at >= 0 && at < n)
        frames[static_cast<std::size_t>(frame * window + i)] =
            hann[static_cast<std::size_t>(i)] * static_cast<double>(samples[static_cast<std::size_t>(at)]);
    }
  const Tensor spectrum = rfft(Tensor::from(frames, {count, window}));
  const Tensor re = real(spectrum), im = imag(spectrum);
  const Tensor mel = matmul(add(mul(re, re), mul(im, im)), mel_filters(spec));  // (count, mels)
  return raw::convert(log(add(mel, Tensor::full({1, 1}, floor_of_log, DType::f64))), DType::f32);
}

}  // namespace weft
