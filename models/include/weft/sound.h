/// \file
/// Sounds: WAV files, and their frames as the logarithm of mel spectra.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/input.h"

#pragma GCC visibility push(default)
namespace weft {

/// A sound with one channel.
struct Sound {
  std::int64_t rate = 0;       ///< samples a second
  std::vector<float> samples;  ///< from -1 to 1
};

/// Reads a WAV file (RIFF): whole numbers of 8, 16, 24 or 32 bits, or f32. Several channels become their mean. A
/// size of the data that the writer didn't know (0, 0xFFFFFFFF or nearly 2^31, from a pipe) stands for all that follows.
/// Throws an Error if the bytes are no such file or are truncated, or for more than 1,000,000 samples a second.
Sound read_wav(std::string_view bytes);

/// The mel filters (window/2 + 1, mels) f64: triangles over the frequencies of the transform's bins, from 0 to rate/2,
/// whose corners are equally far apart on the mel scale 2595 log10(1 + f/700) (O'Shaughnessy 1987). Their peak is 1.
Tensor mel_filters(const SoundSpec& spec);

/// The number of frames that log_mel() makes of that many samples: 1 + samples/hop, rounded down.
std::int64_t frames_of_sound(std::int64_t samples, const SoundSpec& spec);

/// log(mel + 1e-6), (1 + n/hop, mels) f32: frame i is the power spectrum of a Hann window around sample i · hop, in mel
/// filters. Samples beyond the ends are 0. The same as librosa's melspectrogram with htk=True, norm=None, power 2 and
/// its default padding. Throws an Error if there is no sample.
Tensor log_mel(const std::vector<float>& samples, const SoundSpec& spec);

}  // namespace weft
#pragma GCC visibility pop
