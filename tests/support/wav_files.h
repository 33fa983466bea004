// WAV files, and folders of WAV files with tones.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "temporary_folder.h"

namespace weft::test {

inline std::string little_endian(std::uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i) & 255);
  return text;
}

// Writes samples from -1 to 1 as whole numbers of `bits` bits, or as f32 if `bits` is -32. The channels are
// interleaved.
inline std::string wav_of(const std::vector<float>& samples, std::uint64_t rate, int bits, std::uint64_t channels = 1) {
  std::string data;
  for (const float x : samples) {
    std::uint32_t word = 0;
    if (bits == -32) std::memcpy(&word, &x, sizeof word);
    else if (bits == 8) word = static_cast<std::uint32_t>(static_cast<std::int32_t>(x * 128) + 128);
    else word = static_cast<std::uint32_t>(static_cast<std::int64_t>(static_cast<double>(x) * std::pow(2, bits - 1)));
    data += little_endian(word, std::abs(bits) / 8);
  }
  const auto bytes = static_cast<std::uint64_t>(std::abs(bits) / 8) * channels;
  return "RIFF" + little_endian(36 + data.size(), 4) + "WAVEfmt " + little_endian(16, 4) +
         little_endian(bits < 0 ? 3 : 1, 2) + little_endian(channels, 2) + little_endian(rate, 4) +
         little_endian(rate * bytes, 4) + little_endian(bytes, 2) +
         little_endian(static_cast<std::uint64_t>(std::abs(bits)), 2) + "data" + little_endian(data.size(), 4) + data;
}

// Tone k has 1000 to 1900 samples at 8000 per second. It is low if k is odd, otherwise high.
inline std::string tone(int k) {
  std::vector<float> samples;
  for (int i = 0; i < (k == 0 ? 1900 : 1000 + k * 37 % 900); ++i)
    samples.push_back(0.5F * std::sin(static_cast<float>(i) * (k % 2 == 1 ? 0.2F : 1.1F) + static_cast<float>(k)));
  return wav_of(samples, 8000, 16);
}

// Writes `count` tones into FOLDER/low and FOLDER/high.
inline void write_tones(const TemporaryFolder& folder, const std::string& name, int count) {
  for (int k = 0; k < count; ++k)
    folder.write(name + (k % 2 == 1 ? "/low/" : "/high/") + std::to_string(k) + ".wav", tone(k));
}

}  // namespace weft::test
