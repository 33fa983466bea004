// Tests of sounds: WAV files, mel spectra, and folders of sounds as data.
#include "weft/sound.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "contains.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "wav_files.h"
#include "weft/checkpoint.h"
#include "weft/classifier.h"
#include "weft/frame_rows.h"

namespace weft::test {
namespace {

constexpr double pi = 3.14159265358979323846;

std::string refused_wav(const std::string& bytes) {
  return error_of([&] { (void)read_wav(bytes); });
}

// The power of the spectrum of x, computed from the definition of the transform.
double power(const std::vector<double>& x, std::int64_t bin) {
  double re = 0, im = 0;
  const auto n = static_cast<double>(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    re += x[i] * std::cos(2 * pi * static_cast<double>(bin) * static_cast<double>(i) / n);
    im -= x[i] * std::sin(2 * pi * static_cast<double>(bin) * static_cast<double>(i) / n);
  }
  return re * re + im * im;
}

}  // namespace

TEST_CASE("sound: WAV files with every kind of samples") {
  const std::vector<float> expected{0, 0.5, -0.5, -1, 0.75};
  for (const int bits : {8, 16, 24, 32, -32}) {
    CAPTURE(bits);
    const Sound sound = read_wav(wav_of(expected, 8000, bits));
    CHECK(sound.rate == 8000);
    CHECK(sound.samples == expected);
  }
  // The result is the mean of the two channels.
  const Sound stereo = read_wav(wav_of({1.0F / 2, 0, -1, 1.0F / 2, 0, 0}, 44100, 16, 2));
  CHECK(stereo.rate == 44100);
  CHECK(stereo.samples == std::vector<float>{0.25, -0.25, 0});
  // Other chunks precede the data, and one has an odd size.
  std::string bytes = wav_of(expected, 8000, 16);
  bytes.insert(36, std::string("LIST\x03\0\0\0abc\0", 12));
  CHECK(read_wav(bytes).samples == expected);
}

TEST_CASE("sound: WAV files from a pipe, whose size the writer didn't know") {
  const std::vector<float> expected{0, 0.5, -0.5, -1};
  const std::string good = wav_of(expected, 8000, 16);
  const auto with = [&](std::uint64_t of_file, std::uint64_t of_data) {
    return good.substr(0, 4) + little_endian(of_file, 4) + good.substr(8, 32) + little_endian(of_data, 4) +
           good.substr(44);
  };
  for (const auto& sizes : {std::pair<std::uint64_t, std::uint64_t>{0xFFFFFFFF, 0xFFFFFFFF},  // ffmpeg
                            {0, 0},
                            {36, 0},  // Python's wave
                            {0xFFFFFFFF, 0},
                            {0x7FFFF024, 0x7FFFF000}}) {  // sox
    CAPTURE(sizes.second);
    const std::string wav = with(sizes.first, sizes.second);
    CHECK(read_wav(wav).samples == expected);
    CHECK(read_wav(wav + "x").samples == expected);  // half a sample is dropped
  }
  // An empty sound before another chunk.
  CHECK(read_wav(with(52, 0).substr(0, 44) + "LIST\x04" + std::string(3, '\0') + "abcd").samples.empty());
}

TEST_CASE("sound: damaged WAV files are refused") {
  const std::string good = wav_of({0, 0.5, -0.5, -1}, 8000, 16);
  for (std::size_t size = 0; size < good.size(); ++size) CHECK_FALSE(refused_wav(good.substr(0, size)).empty());
  CHECK(contains(refused_wav(good.substr(0, good.size() - 1)), "expected 8 bytes in the chunk \"data\", got 7"));
  CHECK(contains(refused_wav("RIFX"), "begins with RIFF and WAVE"));
  std::string compressed = good;
  compressed[20] = 2;
  CHECK(contains(refused_wav(compressed), "got format 2 with 16 bits"));
  std::string silent = good;
  silent[22] = 0;
  CHECK(contains(refused_wav(silent), "expected at least one channel"));
  CHECK(contains(refused_wav(wav_of({NAN}, 8000, -32)), "a sample is not finite"));
  for (const std::uint64_t rate : {std::uint64_t{0}, std::uint64_t{1'000'001}, std::uint64_t{0xFFFFFFFF}})
    CHECK(refused_wav(wav_of({0}, rate, 16)) ==
          "[wav] expected 1 to 1000000 samples a second, got " + std::to_string(rate));
}

TEST_CASE("sound: mel spectra follow their definition") {
  SoundSpec spec;
  spec.rate = 8000;
  spec.mels = 10;
  spec.window = 90;
  spec.hop = 40;
  std::vector<float> samples;
  for (int i = 0; i < 205; ++i)
    samples.push_back(static_cast<float>(0.5 * std::sin(0.3 * i) + 0.2 * std::cos(1.7 * i + 1) + 0.01 * (i % 7)));
  const Tensor frames = log_mel(samples, spec);
  REQUIRE(frames.shape() == Shape{6, 10});
  CHECK(frames_of_sound(205, spec) == 6);
  const auto got = frames.to_vector<float>();
  const auto filters = mel_filters(spec).to_vector<double>();
  for (std::int64_t frame = 0; frame < 6; ++frame) {
    std::vector<double> x(90, 0);
    for (std::int64_t i = 0; i < 90; ++i) {
      const std::int64_t at = frame * 40 + i - 45;
      if (at >= 0 && at < 205)
        x[static_cast<std::size_t>(i)] = static_cast<double>(samples[static_cast<std::size_t>(at)]) *
                                         std::pow(std::sin(pi * static_cast<double>(i) / 90), 2);
    }
    for (std::int64_t m = 0; m < 10; ++m) {
      double sum = 0;
      for (std::int64_t bin = 0; bin <= 45; ++bin)
        sum += power(x, bin) * filters[static_cast<std::size_t>(bin * 10 + m)];
      CHECK(std::abs(static_cast<double>(got[static_cast<std::size_t>(frame * 10 + m)]) - std::log(sum + 1e-6)) < 1e-5);
    }
  }
}

// Computed by librosa 0.11: librosa.filters.mel(sr=8000, n_fft=64, n_mels=5, htk=True, norm=None)[m, bin].
TEST_CASE("sound: mel filters equal those of librosa") {
  SoundSpec spec;
  spec.rate = 8000;
  spec.mels = 5;
  spec.window = 64;
  const auto filters = mel_filters(spec).to_vector<double>();
  struct Filter {
    std::int64_t m, bin;
    double value;
  };
  for (const auto& [m, bin, value] : {Filter{0, 1, 0.47808412},
                                      {0, 3, 0.68383861},
                                      {1, 3, 0.31616139},
                                      {1, 5, 0.99103868},
                                      {2, 9, 0.98352122},
                                      {3, 16, 0.77575582},
                                      {4, 31, 0.09779976}})
    CHECK(std::abs(filters[static_cast<std::size_t>(bin * 5 + m)] - value) < 1e-6);
  double sum = 0;
  for (const double f : filters) sum += f;
  CHECK(std::abs(sum - 25.81323814) < 1e-5);
}

// Computed by librosa 0.11 and NumPy in f64 from the samples x, which were rounded to f32:
// t = np.arange(n) / rate; x = 0.5 * np.sin(2 * np.pi * (200 * t + 3000 * t * t)) + 0.25 * np.sin(2 * np.pi * 2750 * t)
// np.log(librosa.feature.melspectrogram(y=x, sr=rate, n_fft=window, hop_length=hop, n_mels=40, htk=True, norm=None)
//        + 1e-6)[mel, frame]
TEST_CASE("sound: log-mel frames equal those of librosa") {
  struct Value {
    std::int64_t frame, mel;
    double log;
  };
  const auto check = [](const SoundSpec& spec, std::int64_t n, std::int64_t frames, const std::vector<Value>& values) {
    std::vector<float> samples;
    for (std::int64_t i = 0; i < n; ++i) {
      const double t = static_cast<double>(i) / static_cast<double>(spec.rate);
      samples.push_back(
          static_cast<float>(0.5 * std::sin(2 * pi * (200 * t + 3000 * t * t)) + 0.25 * std::sin(2 * pi * 2750 * t)));
    }
    const Tensor got = log_mel(samples, spec);
    REQUIRE(got.shape() == Shape{frames, 40});
    const auto numbers = got.to_vector<float>();
    for (const Value& value : values) {
      CAPTURE(value.frame);
      CAPTURE(value.mel);
      const auto index = static_cast<std::size_t>(value.frame * 40 + value.mel);
      CHECK(std::abs(static_cast<double>(numbers[index]) - value.log) < 1e-4);
    }
  };
  SoundSpec spec;
  spec.mels = 40;
  spec.rate = 8000;
  spec.window = 200;
  spec.hop = 80;
  check(spec, 4000, 51,
        {{0, 0, 2.245646},
         {0, 17, -4.241592},
         {1, 7, 5.037152},
         {1, 24, -9.526818},
         {2, 31, -8.984500},
         {7, 21, -11.255293},
         {17, 5, -13.454028},
         {25, 35, -6.168821},
         {42, 2, -13.815499},
         {49, 26, -6.145700},
         {50, 33, 4.285053},
         {50, 0, -4.033503}});
  spec.rate = 22050;
  spec.window = 551;  // an odd window
  spec.hop = 220;
  check(spec, 6000, 28,
        {{0, 0, 4.850107},
         {1, 24, -2.750819},
         {2, 14, -13.099208},
         {7, 21, -0.397437},
         {9, 28, -13.734825},
         {14, 12, 8.528886},
         {19, 19, -8.922664},
         {26, 9, -13.369019},
         {27, 16, 3.783302},
         {27, 39, -1.536225}});
}

TEST_CASE("sound: a folder for each label, which every architecture learns, and whose checkpoint classifies it") {
  const TemporaryFolder folder;
  write_tones(folder, "d", 12);
  const LabeledTexts rows = read_labeled(folder / "d");
  CHECK(rows.format == "a folder for each label, sounds of 8000 samples a second");
  CHECK(rows.content() == RowContent::sounds);
  CHECK(rows.names == std::vector<std::string>{"high", "low"});
  const InputSpec input = frame_input(rows);
  CHECK(input.sound.rate == 8000);
  CHECK(input.sound.window == 200);
  CHECK(input.sound.hop == 80);
  CHECK(input.channels == 40);
  CHECK(input.mean.size() == 40);
  const std::int64_t longest = longest_row(rows, input);
  CHECK(longest == 1 + 1900 / 80);
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const auto data = frame_data(rows, rows, {Task::classifier, rows.names}, input, longest, 8);
    const std::string config = R"({"d_model":8,"layers":1,"seq_len":)" + std::to_string(longest) + "}";
    const auto model = make_model(data->spec(arch, config), {Random(1), DType::f32});
    TrainOptions options = small_options(40);
    options.schedule.peak = 0.01;
    Trainer trainer(*model, *data, options);
    RunOptions run;
    run.folder = folder / ("run-" + arch);
    CHECK(trainer.run(run).evaluation->metric("accuracy") == 1);
    const Classifier classifier(load_checkpoint(run.folder, Purpose::inference));
    CHECK(input_to_json(classifier.checkpoint().model->input()) == input_to_json(input));
    for (std::size_t i = 0; i < rows.texts.size(); ++i)
      CHECK(classifier(rows.texts[i]).label == rows.names[static_cast<std::size_t>(rows.labels[i])]);
  }
}

TEST_CASE("sound: unsuitable files are refused by name, or skipped") {
  const TemporaryFolder folder;
  folder.write("d/a/1.wav", wav_of({0, 0.5}, 8000, 16));
  const auto with = [&](const std::string& bytes) {
    folder.write("d/b/2.wav", bytes);
    LabeledOptions skip;
    skip.skip_bad_rows = true;
    CHECK(read_labeled(folder / "d", skip).skipped == 1);
    return error_of([&] { (void)read_labeled(folder / "d"); });
  };
  CHECK(
      contains(with(wav_of({0}, 44100, 16)), "expected 8000 samples per second, like the files before it, got 44100"));
  CHECK(contains(with("RIFF"), "b/2.wav\": [wav] expected a WAV file"));
  folder.write("short.wav", "RIFF1");
  CHECK(TextRows::open(folder / "short.wav") == nullptr);  // it contains a line of text
  folder.write("e/a/1", "RIFF1");
  CHECK(read_labeled(folder / "e").content() == RowContent::texts);
  CHECK(contains(with(wav_of({}, 8000, 16)), "the sound has no samples"));
  InputSpec other;
  other.channels = 40;
  other.sound.rate = 16000;
  CHECK(contains(error_of([&] { (void)frames_of_row(wav_of({0}, 8000, 16), other); }),
                 "expected 16000 samples a second, got 8000"));
  for (const char* bad :
       {R"({"channels":3,"sound":{"rate":8000}})", R"({"channels":40,"sound":{}})", R"({"channels":40,"sound":8000})",
        R"({"channels":40,"sound":{"rate":8000,"hop":0}})", R"({"channels":40,"sound":{"rate":8000,"windows":3}})"})
    CHECK_THROWS_AS((void)input_from_json(bad), Error);
}

}  // namespace weft::test
