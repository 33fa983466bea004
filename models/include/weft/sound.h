/// \file
/// Sounds: functions that read WAV files and compute frames, which are logarithms of mel spectra.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "weft/input.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// A sound with one channel.
struct Sound {
  std::int64_t rate = 0;       ///< samples per second
  std::vector<float> samples;  ///< the samples, from -1 to 1
};

/// Reads a WAV file (RIFF) with integers of 8, 16, 24 or 32 bits, or f32. Several channels are averaged. Programs that
/// write to a pipe don't know the size of the data and write 0, 0xFFFFFFFF or nearly 2^31 as the size. For such a size,
/// the function reads all bytes that follow. Throws an Error if the bytes are not such a WAV file, if the file is
/// truncated, or if there are more than 1,000,000 samples per second.
Sound read_wav(std::string_view bytes);

/// Returns the mel filters (window/2 + 1, mels) f64. Each filter is a triangle with a peak of 1 over the frequency bins
/// of the Fourier transform, which range from 0 to rate/2. The corners of the triangles are equally spaced on the mel
/// scale 2595 log10(1 + f/700) (O'Shaughnessy 1987).
Tensor mel_filters(const SoundSpec& spec);

/// Returns the number of frames that log_mel() computes for this number of samples: 1 + samples/hop, rounded down.
std::int64_t frames_of_sound(std::int64_t samples, const SoundSpec& spec);

/// Returns log(mel + 1e-6) for n samples, (1 + n/hop, mels) f32. For frame i, the mel values are the products of the
/// mel filters with the power spectrum of a Hann window centered at sample i · hop. Samples beyond the ends count as 0.
/// The mel values equal those of librosa's melspectrogram with htk=True, norm=None, power 2 and its default padding.
/// Throws an Error if there is no sample.
Tensor log_mel(const std::vector<float>& samples, const SoundSpec& spec);

}  // namespace weft
WEFT_PUBLIC_END
