// Tests that training gives the same bits on all instruction sets with fused multiply-adds, on every machine.
#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "base/hash.h"
#include "every_isa.h"
#include "weft/classifier_data.h"
#include "weft/os.h"
#include "weft/split.h"
#include "weft/tokenizer.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

struct SmallRun {
  const char* arch;
  Task task;
  const char *config, *optimizer;
  DType dtype;
  std::uint64_t parameters;  // the hash of the parameters after six steps, with g++ and glibc
};

const SmallRun small_runs[] = {
    {"gmlp", Task::causal_lm, R"({"d_model":40,"layers":2,"seq_len":37,"dropout":0.1})", "adamw", DType::f32,
     0xeb92aeb0a7290e63},
    {"gmlp", Task::masked_lm, R"({"d_model":24,"layers":1,"seq_len":37})", "muon", DType::f32, 0x4e737a3d3dd2643},
    {"gmlp", Task::classifier, R"({"d_model":24,"layers":2,"seq_len":8})", "lion", DType::f32, 0x6aa9c911bcb3a3a1},
    {"gmlp", Task::causal_lm, R"({"d_model":28,"layers":1,"seq_len":37})", "adamw", DType::f64, 0xe7adf638a538b74b},
    {"tnn", Task::causal_lm, R"({"d_model":40,"layers":2,"heads":2,"rpe_dim":16})", "adamw", DType::f32,
     0xfc1e21409ae5753f},
    {"tnn", Task::masked_lm, R"({"d_model":24,"layers":1,"par_type":4,"norm_type":"simplermsnorm"})", "adafactor",
     DType::f32, 0x73fe8ffa8ef054ae},
    {"tnn", Task::classifier, R"({"d_model":24,"layers":1,"use_decay":false,"use_multi_decay":true})", "sgd",
     DType::f32, 0xc3177ad645023450},
    {"fnet", Task::masked_lm, R"({"d_model":40,"layers":2,"seq_len":37,"dropout":0.1})", "adam", DType::f32,
     0x68da0ad1b5cda48d},
    {"fnet", Task::classifier, R"({"d_model":24,"layers":1,"seq_len":8})", "adamw", DType::f32, 0x921521c49da05f01},
};

std::string fixture(const char* name) { return os::read_file(std::string(WEFT_FIXTURES) + "/" + name); }

std::uint64_t trained(const SmallRun& run) {
  std::unique_ptr<Data> data;
  std::int64_t vocabulary = 0;
  if (run.task == Task::classifier) {
    LabeledTexts rows = read_labeled(std::string(WEFT_FIXTURES) + "/sums.csv");
    const LabeledTexts validation = every_tenth(rows);
    const auto words = learn_tokenizer("words", rows.texts);
    vocabulary = words->size();
    data = std::make_unique<ClassifierData>(rows, validation, words, 8, 20, Padding::full);
  } else {
    const std::string text = fixture("sums.txt");
    const auto characters = learn_tokenizer("characters", text);
    vocabulary = characters->size();
    data = std::make_unique<TextData>(text, characters, run.task, 37, 5);
  }
  const ModelSpec spec{run.arch, run.task, vocabulary, run.task == Task::classifier ? 3 : 0, run.config};
  const auto model = make_model(spec, {Random(3), run.dtype});
  TrainOptions options;
  options.optimizer.name = run.optimizer;
  options.schedule.peak = 0.01;
  options.schedule.warmup = 2;
  options.schedule.steps = 6;
  options.seed = 11;
  Trainer trainer(*model, *data, options);
  for (int i = 0; i < 6; ++i) trainer.step();
  detail::BytesHash hash;
  for (const auto& [name, parameter] : model->parameters()) {
    const auto add = [&](const auto& values) { hash.add(values.data(), values.size() * sizeof values[0]); };
    if (run.dtype == DType::f64) add(parameter.value().to_vector<double>());
    else add(parameter.value().to_vector<float>());
  }
  return hash.value();
}

}  // namespace

// The stored numbers depend on the compiler and on its mathematical library, which weft uses outside of the kernels.
TEST_CASE("training: the same bits on all instruction sets with fused multiply-adds") {
  for (const SmallRun& run : small_runs) {
#if defined(__GLIBC__) && !defined(__clang__)
    std::optional<std::uint64_t> expected = run.parameters;
#else
    std::optional<std::uint64_t> expected;
#endif
    for_every_isa([&] {
      if (!has_fused_multiply_add(Context::current().isa())) return;
      CAPTURE(std::string(run.arch));
      CAPTURE(std::string(run.optimizer));
      const std::uint64_t parameters = trained(run);
      CHECK(parameters == expected.value_or(parameters));
      expected = parameters;
    });
  }
}

}  // namespace weft::test
