// Trains a model on sequences of numbers: it learns the frequency of noisy waves of different lengths.
#include <weft/checkpoint.h>
#include <weft/context.h>
#include <weft/ops.h>
#include <weft/row_data.h>
#include <weft/trainer.h>

#include <cmath>
#include <cstdio>

#include "check.h"

namespace {

constexpr std::int64_t longest = 32;
const char* const config = R"({"d_model":32,"layers":2,"seq_len":32})";

// A wave of 24 to 32 frames: sin(2 π f t + phase), plus noise. The target is f in waves per 32 frames, 1 … 5.
weft::Row row(std::int64_t k) {
  const weft::Random random = weft::Random(7).split(static_cast<std::uint64_t>(k));
  const std::int64_t n = 24 + k % 9;
  const double frequency = 1 + 4 * random.uniform(0), phase = 6.28 * random.uniform(1);
  std::vector<float> frames;
  for (std::int64_t t = 0; t < n; ++t) {
    const double noise = 0.2 * (random.uniform(static_cast<std::uint64_t>(2 + t)) - 0.5);
    frames.push_back(static_cast<float>(std::sin(6.2832 * frequency * static_cast<double>(t) / 32 + phase) + noise));
  }
  return {{}, weft::Tensor::from(frames, {n, 1}), weft::Tensor::full({1}, frequency)};
}

weft::Row held_out(std::int64_t k) { return row(1000 + k); }

void learn(const std::string& folder) {
  weft::RowDataOptions options;
  options.task = weft::Task::regression;
  options.outputs = {"frequency"};
  options.input.channels = 1;
  options.length = longest;
  const weft::RowData data({400, row}, {50, held_out}, options);
  const auto model = weft::make_model(data.spec("gmlp", config), {weft::Random(1)});

  weft::TrainOptions training;
  training.schedule.steps = 300;
  training.schedule.peak = 5e-3;
  weft::Trainer trainer(*model, data, training);
  weft::RunOptions run;
  run.folder = folder;
  const weft::Evaluation measured = *trainer.run(run).evaluation;
  std::printf("mean absolute error %.3f, R2 %.3f\n", measured.metric("MAE"), measured.metric("R2"));
  check(measured.metric("R2") > 0.8, "the frequencies of new waves are found");

  const weft::Checkpoint saved = weft::load_checkpoint(folder, weft::Purpose::inference);
  const weft::Row wave = held_out(0);
  const weft::NoGrad suspended;
  const weft::Tensor frames = weft::reshape(wave.frames, {1, wave.frames.size(0), 1});
  const double found = saved.model->forward({{}, frames}).item();
  std::printf("frequency %.2f, predicted %.2f\n", wave.target.item(), found);
  check(std::abs(found - wave.target.item()) < 1, "the predicted frequency is near the right one");
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) {
    std::fprintf(stderr, "usage: frames FOLDER\n");
    return 2;
  }
  learn(argv[1]);
  return 0;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "frames: %s\n", error.what());
  return 1;
}
