/// \file
/// Sounds: WAV files, and their frames, which are logarithms of mel spectra.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/input.h"

#pragma GCC visibility push(default)
namespace weft {

/// A sound with one channel.
struct Sound {
  std::int64_t rate = 0;       ///< samples per second
  std::vector<float> samples;  ///< the samples, from -1 to 1
};

/// Reads a WAV file (RIFF) with integers of 8, 16, 24 or 32 bits, or f32. Several channels are averaged. A program that
/// writes to a pipe doesn't know the size of the data and writes 0, 0xFFFFFFFF or nearly 2^31. Such a size stands for
/// all bytes that follow. Throws an Error if the bytes are not such a file or are truncated, or for more than 1,000,000
/// samples per second.
Sound read_wav(std::string_view bytes);

/// Returns the mel filters (window/2 + 1, mels) f64. They are triangles over the frequency bins of the transform, from
/// 0 to rate/2, with a peak of 1. Their corners are equally spaced on the mel scale 2595 log10(1 + f/700)
/// (O'Shaughnessy 1987).
Tensor mel_filters(const SoundSpec& spec);

/// Returns the number of frames that log_mel() computes for this number of samples: 1 + samples/hop, rounded down.
std::int64_t frames_of_sound(std::int64_t samples, const SoundSpec& spec);

/// Returns log(mel + 1e-6), (1 + n/hop, mels) f32. Frame i is the power spectrum of a Hann window centered at sample i
/// · hop, after the mel filters. Samples beyond the ends are 0. The mel values equal those of librosa's melspectrogram
/// with htk=True, norm=None, power 2 and its default padding. Throws an Error if there is no sample.
Tensor log_mel(const std::vector<float>& samples, const SoundSpec& spec);

}  // namespace weft
#pragma GCC visibility pop
