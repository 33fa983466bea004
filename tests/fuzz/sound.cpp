// WAV files, and the frames of short sounds.
#include "weft/sound.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  weft::test::refuses_or_works([&] {
    const weft::Sound sound = weft::read_wav(weft::test::text_of(data, size));
    if (sound.rate < 1 || sound.samples.size() > size) std::abort();
    constexpr std::size_t enough = 2000;  // the transforms of long sounds take time, but have no further branches
    if (sound.samples.size() > enough) return;
    const weft::SoundSpec spec{sound.rate, 4, 16, 8};
    const auto samples = static_cast<std::int64_t>(sound.samples.size());
    if (weft::log_mel(sound.samples, spec).size(0) != weft::frames_of_sound(samples, spec)) std::abort();
  });
  return 0;
}
