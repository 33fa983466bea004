// Tests that checkpoints and training states of an earlier version load, evaluate, continue a text and resume as in
// that version. The files are in tests/fixtures.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>
#include <sstream>

#include "weft/checkpoint.h"
#include "weft/classifier_data.h"
#include "weft/generate.h"
#include "weft/os.h"
#include "weft/split.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

// Other instruction sets round differently. The tolerance of parameters is relative to their change over eight steps.
constexpr double loss_tolerance = 1e-5, parameters_tolerance = 2e-5;

std::string path(const std::string& name) { return std::string(WEFT_FIXTURES) + "/" + name; }

TrainOptions with(const std::string& optimizer, ScheduleKind schedule, double rate) {
  TrainOptions options;
  options.optimizer.name = optimizer;
  options.schedule.kind = schedule;
  options.schedule.peak = rate;
  options.schedule.warmup = 20;
  options.schedule.steps = 68;
  options.schedule.d_model = 8;
  options.seed = 7;
  return options;
}

// The options that tests/fixtures/make used.
TrainOptions options_of(const std::string& name) {
  using Rate = ScheduleKind;
  if (name == "gmlp-causal-lm") return with("adamw", Rate::cosine, 0.01);
  if (name == "gmlp-masked-lm") return with("adam", Rate::noam, 0.3);
  if (name == "gmlp-classifier") return with("sgd", Rate::constant, 0.03);
  if (name == "tnn-causal-lm") return with("adamw", Rate::noam, 0.3);
  if (name == "tnn-classifier") return with("adam", Rate::constant, 0.01);
  if (name == "fnet-masked-lm") return with("adamw", Rate::constant, 0.01);
  if (name == "fnet-classifier") return with("sgd", Rate::noam, 1);
  TrainOptions options;
  if (name == "gmlp-tied") {
    options = with("adam", Rate::cosine, 0.03);
    options.schedule.floor = 0.1;
    options.optimizer.own = {{"beta1", 0.8}, {"beta2", 0.95}, {"eps", 1e-6}};
  } else if (name == "tnn-options") {
    options = with("adamw", Rate::cosine, 0.01);
    options.optimizer.weight_decay = 0.3;
    options.optimizer.clip = 0.5;
  } else {
    REQUIRE(name == "tnn-masked-lm");
    options = with("sgd", Rate::cosine, 0.1);
    options.optimizer.own = {{"momentum", 0.8}};
    options.optimizer.weight_decay = 0.001;
    options.micro_batches = 2;
  }
  return options;
}

const char* const fixture_names[] = {"gmlp-causal-lm", "gmlp-tied",      "gmlp-masked-lm", "gmlp-classifier",
                                     "tnn-causal-lm",  "tnn-options",    "tnn-masked-lm",  "tnn-classifier",
                                     "fnet-masked-lm", "fnet-classifier"};

std::unique_ptr<Data> data_for(const Checkpoint& checkpoint) {
  const Task task = checkpoint.model->task();
  if (task != Task::classifier)
    return std::make_unique<TextData>(read_text(path("sums.txt")), checkpoint.tokenizer, task, 16, 4);
  LabeledTexts training = read_labeled(path("sums.csv"));
  const LabeledTexts validation = every_tenth(training);
  return std::make_unique<ClassifierData>(training, validation, checkpoint.tokenizer, 8, 4, Padding::full);
}

// Returns the losses of the steps in a log with the lines "step TAB loss TAB validation loss".
std::vector<double> logged_losses(const std::string& name) {
  std::istringstream lines(os::read_file(path(name + "/resumed/losses")));
  std::vector<double> losses;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line)) {
    const std::string loss = line.substr(line.find('\t') + 1);
    if (loss[0] != '-') losses.push_back(std::stod(loss));
  }
  return losses;
}

std::vector<double> all_values(const Model& model) {
  std::vector<double> values;
  for (const auto& [name, parameter] : model.parameters())
    for (double x : raw::convert(parameter.value(), DType::f64).to_vector<double>()) values.push_back(x);
  return values;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

}  // namespace

TEST_CASE("fixtures: each folder is in the table") {
  std::size_t folders = 0;
  for (const auto& entry : std::filesystem::directory_iterator(WEFT_FIXTURES))
    folders += std::filesystem::exists(entry.path() / "training.safetensors");
  CHECK(folders == std::size(fixture_names));
}

TEST_CASE("fixtures: an earlier version's checkpoints load, and evaluate as in that version") {
  for (const std::string name : fixture_names)
    for (const std::string& folder : {name, name + "/resumed"}) {
      CAPTURE(folder);
      const Checkpoint saved = load_checkpoint(path(folder));
      CHECK(saved.info.step == (folder == name ? 60 : 68));
      CHECK(name.find(saved.model->arch()) == 0);
      const bool classifies = saved.model->task() == Task::classifier;
      CHECK(saved.info.labels == (classifies ? std::vector<std::string>{"1", "2", "3"} : std::vector<std::string>{}));
      CHECK(saved.info.pad_to == (classifies ? 8 : 0));
      const Evaluation evaluation = evaluate(*saved.model, *data_for(saved));
      CHECK(evaluation.loss == doctest::Approx(*saved.info.validation_loss).epsilon(loss_tolerance));
    }
}

TEST_CASE("fixtures: an earlier version's language models continue a text as in that version") {
  for (const std::string name : {"gmlp-causal-lm", "gmlp-tied", "tnn-causal-lm", "tnn-options"}) {
    CAPTURE(name);
    const Checkpoint saved = load_checkpoint(path(name));
    GenerateOptions options;
    options.tokens = 48;
    options.temperature = 0;
    std::string text = "5 plus";
    const auto out = [&](const std::string& symbol) {
      text += symbol;
      return true;
    };
    generate(*saved.model, *saved.tokenizer, text, options, out);
    CHECK(text + "\n" == os::read_file(path(name + "/continued")));
  }
}

TEST_CASE("fixtures: an earlier version's training states continue as in that version") {
  for (const std::string name : fixture_names) {
    CAPTURE(name);
    const Checkpoint saved = load_checkpoint(path(name));
    const Checkpoint resumed = load_checkpoint(path(name + "/resumed"));
    const auto data = data_for(saved);
    const Model& m = *saved.model;
    const std::int64_t classes = m.task() == Task::classifier ? m.outputs() : 0;
    const auto model = make_model({m.arch(), m.task(), m.vocabulary(), classes, m.config()}, {Random(1), DType::f32});
    Trainer trainer(*model, *data, options_of(name));
    trainer.load_state(path(name + "/training.safetensors"));
    CHECK(trainer.steps_done() == 60);
    CHECK(distance(all_values(*model), all_values(m)) == 0);
    const std::vector<double> losses = logged_losses(name);
    REQUIRE(losses.size() == 8);
    for (double loss : losses) CHECK(trainer.step() == doctest::Approx(loss).epsilon(loss_tolerance));
    const double change = distance(all_values(*resumed.model), all_values(m));
    CHECK(distance(all_values(*model), all_values(*resumed.model)) < parameters_tolerance * change);
  }
}

}  // namespace weft::test
