#include "weft/trainer.h"

#include <doctest/doctest.h>

#include <time.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/safetensors.h"

namespace weft::test {
namespace {

TrainOptions small_options(std::int64_t steps) {
  TrainOptions options;
  options.schedule.steps = steps;
  options.schedule.warmup = 3;
  return options;
}

struct Files {
  std::string model, state, config;
  bool operator==(const Files& o) const { return model == o.model && state == o.state && config == o.config; }
};

Files files_of(const TemporaryFolder& folder) {
  const auto file = [&](const char* name) { return folder.read(std::string("run/") + name); };
  return {file("model.safetensors"), file("training.safetensors"), file("config.json")};
}

// Trains anew and gives the files of the checkpoint. stop_at: stops there and goes on with another trainer.
Files train(const std::string& arch, Task task, std::int64_t steps, std::int64_t stop_at = 0, const Sizes& sizes = {}) {
  const TemporaryFolder folder;
  RunOptions run;
  run.folder = folder / "run";
  if (stop_at > 0) {
    const SmallTask small = small_task(arch, task, sizes);
    Trainer trainer(*small.model, *small.data, small_options(steps));
    run.progress = [&](const Progress& p) { return p.step < stop_at; };
    CHECK(trainer.run(run).stopped);
    CHECK(trainer.steps_done() == stop_at);
    CHECK(load_checkpoint(run.folder).info.step == stop_at);
  }
  const SmallTask small = small_task(arch, task, sizes);
  Trainer trainer(*small.model, *small.data, small_options(steps));
  if (stop_at > 0) trainer.load_state(state_path(run.folder));
  run.progress = nullptr;
  const RunResult result = trainer.run(run);
  CHECK(trainer.steps_done() == steps);
  CHECK_FALSE(result.stopped);
  CHECK(std::isfinite(result.evaluation->loss));
  return files_of(folder);
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The part of the process's CPU time that other threads took while `body` ran.
double share_of_other_threads(const std::function<void()>& body) {
  const auto seconds = [](clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  };
  const double process = seconds(CLOCK_PROCESS_CPUTIME_ID), thread = seconds(CLOCK_THREAD_CPUTIME_ID);
  body();
  return 1 - (seconds(CLOCK_THREAD_CPUTIME_ID) - thread) / (seconds(CLOCK_PROCESS_CPUTIME_ID) - process);
}

}  // namespace

TEST_CASE("20 steps of training: the same bytes with 1, 2, 3 and 8 threads") {
  for (const std::string& arch : own_architectures)
    for (Task task : {usual_task(arch), Task::classifier}) {
      CAPTURE(arch);
      CAPTURE(task_name(task));
      Files first;
      for (int threads : {1, 2, 3, 8}) {
        Context context;
        context.set_threads(threads);
        const ContextScope scope(context);
        const Files files = train(arch, task, 20);
        if (threads == 1) first = files;
        CHECK(files == first);
      }
    }
}

TEST_CASE("training of a size that threads share: the same bytes with 1, 2, 3 and 8 threads") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    Files first;
    for (int threads : {1, 2, 3, 8}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      Files files;
      const double others = share_of_other_threads([&] { files = train(arch, usual_task(arch), 2, 0, {64, 64, 8}); });
      if (threads == 1) first = files;
      else CHECK(others > 0.05);
      CHECK(files == first);
    }
  }
}

TEST_CASE("training that was stopped and resumed gives the same bytes") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    CHECK(train(arch, usual_task(arch), 9) == train(arch, usual_task(arch), 9, 4));
  }
}

TEST_CASE("training lowers the loss, and a checkpoint has the loss that evaluation gives") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const TemporaryFolder folder;
    const SmallTask small = small_task(arch, usual_task(arch));
    TrainOptions options = small_options(60);
    options.schedule.peak = 5e-3;
    Trainer trainer(*small.model, *small.data, options);
    const double before = evaluate(*small.model, *small.data).loss;
    RunOptions run;
    run.folder = folder / "run";
    const RunResult result = trainer.run(run);
    CHECK(result.evaluation->loss < before - 0.2);
    const Checkpoint saved = load_checkpoint(run.folder);
    CHECK(evaluate(*saved.model, *small.data).loss == result.evaluation->loss);
    CHECK(*saved.info.validation_loss == result.evaluation->loss);
    CHECK(saved.info.step == 60);
    CHECK(saved.info.length == 16);
  }
}

TEST_CASE("the loss of a masked language model is the mean over what is predicted, batch by batch") {
  // 15 % of 7 is one, and so it is of the shorter last window.
  const auto vocabulary = Vocabulary::of_characters(small_text(), true);
  const TextData data(small_text(), vocabulary, Task::masked_lm, 7, 4);
  const auto model = make_model({"fnet", Task::masked_lm, vocabulary.size(), 0, R"({"d_model":8,"seq_len":7})"},
                                {Random(3), DType::f64});
  randomize(model->parameters());
  double sum = 0, count = 0;
  std::set<double> shares;
  for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
    const Batch batch = data.validation(k);
    const auto target = batch.target.to_vector<std::int64_t>();
    const auto log_p = log_softmax((*model)(batch.tokens), -1).to_vector<double>();
    const auto classes = log_p.size() / target.size();
    for (std::size_t i = 0; i < target.size(); ++i) {
      if (target[i] == -100) continue;
      sum -= log_p[i * classes + static_cast<std::size_t>(target[i])];
      ++count;
    }
    shares.insert(static_cast<double>(batch.predicted) / static_cast<double>(target.size()));
  }
  REQUIRE(shares.size() > 1);
  const Evaluation evaluation = evaluate(*model, data);
  CHECK(evaluation.predicted == count);
  CHECK(evaluation.loss == doctest::Approx(sum / count).epsilon(1e-12));
}

TEST_CASE("a classifier's accuracy") {
  const SmallTask small = small_task("gmlp", Task::classifier);
  TrainOptions options = small_options(60);
  options.schedule.peak = 5e-3;
  Trainer trainer(*small.model, *small.data, options);
  const RunResult result = trainer.run({});
  CHECK(result.evaluation->metric("accuracy") == 1);
  CHECK(result.evaluation->predicted == 6);
}

TEST_CASE("micro-batches: two of a batch are a step on their mean gradient") {
  // Without dropout and with batches of one row the two ways see the same rows.
  LabelledTexts rows = small_rows();
  const Vocabulary v = Vocabulary::of_words(rows.texts);
  const ClassifierData one(rows, rows, v, 8, 1, Padding::full), two(rows, rows, v, 8, 2, Padding::full);
  std::vector<double> values[2];
  for (std::size_t i : {0, 1}) {
    const auto model = make_model({"gmlp", Task::classifier, v.size(), 3, R"({"d_model":8,"layers":1,"seq_len":8})"},
                                  {Random(3), DType::f64});
    TrainOptions options = small_options(10);
    options.micro_batches = i == 0 ? 2 : 1;
    Trainer trainer(*model, i == 0 ? one : two, options);
    for (int step = 0; step < 3; ++step) trainer.step();
    for (const auto& [name, parameter] : model->parameters())
      for (double x : parameter.value().to_vector<double>()) values[i].push_back(x);
  }
  for (std::size_t i = 0; i < values[0].size(); ++i) CHECK(values[0][i] == doctest::Approx(values[1][i]).epsilon(1e-8));
}

TEST_CASE("micro-batches: their mean gradient, not their sum, makes a step, and is what clipping sees") {
  // SGD, whose steps are as large as the gradient. Adam's are not.
  LabelledTexts rows = small_rows();
  const Vocabulary v = Vocabulary::of_words(rows.texts);
  const ClassifierData one(rows, rows, v, 8, 1, Padding::full), two(rows, rows, v, 8, 2, Padding::full);
  for (double clip : {0.0, 0.5}) {
    std::vector<double> values[2];
    for (std::size_t i : {0, 1}) {
      const auto model = make_model({"gmlp", Task::classifier, v.size(), 3, R"({"d_model":8,"layers":1,"seq_len":8})"},
                                    {Random(3), DType::f64});
      TrainOptions options = small_options(10);
      options.micro_batches = i == 0 ? 2 : 1;
      options.optimizer.name = "sgd";
      options.optimizer.clip = clip;
      options.schedule.peak = 0.1;
      Trainer trainer(*model, i == 0 ? one : two, options);
      for (int step = 0; step < 3; ++step) trainer.step();
      for (const auto& [name, parameter] : model->parameters())
        for (double x : parameter.value().to_vector<double>()) values[i].push_back(x);
    }
    double worst = 0;
    for (std::size_t i = 0; i < values[0].size(); ++i) worst = std::max(worst, std::abs(values[0][i] - values[1][i]));
    CHECK(worst < 1e-10);
  }
}

TEST_CASE("what progress says of each step; a wish to stop after the last step is none") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm), same = small_task("gmlp", Task::causal_lm);
  const TrainOptions options = small_options(7);
  Trainer trainer(*small.model, *small.data, options), by_hand(*same.model, *same.data, options);
  RunOptions run;
  run.eval_every = 3;
  run.folder = folder / "run";
  std::int64_t calls = 0;
  run.progress = [&](const Progress& p) {
    CHECK(p.step == ++calls);
    CHECK(p.steps == 7);
    CHECK(p.loss == by_hand.step());
    CHECK(p.learning_rate == options.schedule(p.step));
    CHECK(p.tokens_per_second > 0);
    CHECK((p.seconds_left > 0) == (p.step < 7));
    CHECK(p.evaluation.has_value() == (p.step == 3 || p.step == 6));
    if (p.evaluation) {
      CHECK(p.evaluation->loss == evaluate(*same.model, *same.data).loss);
      CHECK(load_checkpoint(run.folder).info.step == p.step);
    }
    return p.step < 7;
  };
  const RunResult result = trainer.run(run);
  CHECK(calls == 7);
  CHECK_FALSE(result.stopped);
  REQUIRE(result.evaluation.has_value());
  CHECK(result.evaluation->loss == evaluate(*same.model, *same.data).loss);
}

TEST_CASE("a parameter that comes twice is one") {
  const Parameter p(Tensor::zeros({2, 3}));
  const NamedParameters twice{{"a", p}, {"b", p}};
  CHECK(parameter_count(twice) == 6);
  const ParameterSet set(twice);
  CHECK(set.entries().size() == 1);
  CHECK(set.parameter_count() == 6);
}

TEST_CASE("evaluation records nothing") {
  const SmallTask small = small_task("tnn", Task::causal_lm);
  Tape tape;
  (void)evaluate(*small.model, *small.data);
  CHECK(tape.records() == 0);
}

TEST_CASE("micro-batches: each has rows and dropout masks of its own") {
  for (const std::string arch : {"gmlp", "tnn", "fnet"}) {
    CAPTURE(arch);
    const SmallTask small = small_task(arch, usual_task(arch)), same = small_task(arch, usual_task(arch));
    TrainOptions options = small_options(10);
    options.micro_batches = 3;
    options.seed = 5;
    const Random batches = Random(options.seed).split(1), dropout = Random(options.seed).split(2);
    double mean = 0;
    for (std::int64_t k = 0; k < 3; ++k) {
      const Batch batch = same.data->training(k, batches);
      const Random mask = dropout.split(static_cast<std::uint64_t>(k));
      mean += cross_entropy((*same.model)(batch.tokens, &mask), batch.target).item() / 3;
    }
    CHECK(Trainer(*small.model, *small.data, options).step() == doctest::Approx(mean).epsilon(1e-6));
  }
}

TEST_CASE("a loss that is not finite stops training at its step and keeps the last checkpoint") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  TrainOptions options = small_options(50);
  options.optimizer.name = "sgd";
  options.optimizer.clip = 0;
  options.schedule = {ScheduleKind::constant, 1e-3, 0, 4, 0, 1};
  RunOptions run;
  run.folder = folder / "run";
  run.eval_every = 2;
  Trainer(*small.model, *small.data, options).run(run);
  const Files before = files_of(folder);
  options.schedule.peak = 1e25;
  options.schedule.steps = 50;
  std::int64_t last = 0;
  run.progress = [&](const Progress& p) { return last = p.step, true; };
  run.eval_every = 40;
  Trainer trainer(*small.model, *small.data, options);
  const std::string message = error_of([&] { trainer.run(run); });
  CHECK(message.find("[train] step " + std::to_string(last + 1) + ": ") == 0);
  CHECK(last < 40);
  CHECK(files_of(folder) == before);
}

TEST_CASE("parameters that are not finite are never saved") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  save_checkpoint(folder / "run", *small.model, small.data->vocabulary());
  const std::string before = folder.read("run/model.safetensors");
  Parameter p = small.model->parameters()[0].second;
  p.assign(Tensor::full(p.value().shape(), std::nan("")));
  CHECK_THROWS_AS(save_checkpoint(folder / "run", *small.model, small.data->vocabulary()), Error);
  Trainer trainer(*small.model, *small.data, small_options(1));
  CHECK_THROWS_AS(trainer.run({}), Error);
  CHECK(folder.read("run/model.safetensors") == before);
}

TEST_CASE("the state is written before the checkpoint") {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "run/model.safetensors");  // no file can have that name
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  Trainer trainer(*small.model, *small.data, small_options(2));
  RunOptions run;
  run.folder = folder / "run";
  CHECK_THROWS_AS(trainer.run(run), Error);
  Trainer resumed(*small.model, *small.data, small_options(2));
  resumed.load_state(state_path(run.folder));
  CHECK(resumed.steps_done() == 2);
}

TEST_CASE("model, data and options that don't agree") {
  const SmallTask lm = small_task("gmlp", Task::causal_lm), masked = small_task("gmlp", Task::masked_lm);
  CHECK_THROWS_AS(Trainer(*lm.model, *masked.data, small_options(1)), Error);
  const std::string text = small_text();
  const TextData longer(text, Vocabulary::of_characters(text), Task::causal_lm, 17, 2);
  CHECK_THROWS_WITH(Trainer(*lm.model, longer, small_options(1)),
                    "[train] sequences of 17 tokens; the model takes at most 16");
  const TextData other("abcabcabcabcabcabcabc", Vocabulary::of_characters("abc"), Task::causal_lm, 4, 2);
  CHECK_THROWS_AS(Trainer(*lm.model, other, small_options(1)), Error);
  CHECK_THROWS_AS(Trainer(*lm.model, *lm.data, small_options(0)), Error);
  TrainOptions options = small_options(1);
  options.micro_batches = 0;
  CHECK_THROWS_AS(Trainer(*lm.model, *lm.data, options), Error);
  options = small_options(1);
  options.schedule.peak = std::nan("");
  CHECK_THROWS_AS(Trainer(*lm.model, *lm.data, options), Error);
  options = small_options(1);
  options.optimizer = {"sgd", {{"beta1", 0.5}}};
  CHECK_THROWS_WITH(Trainer(*lm.model, *lm.data, options), "[optimizer] sgd has no beta1, its options are momentum");
}

TEST_CASE("an evaluation has the metrics of its data, and no others") {
  const SmallTask lm = small_task("gmlp", Task::causal_lm), classifier = small_task("gmlp", Task::classifier);
  CHECK(evaluate(*lm.model, *lm.data).metrics.empty());
  CHECK_THROWS_WITH((void)evaluate(*lm.model, *lm.data).metric("accuracy"), "[evaluate] no accuracy was measured");
  const Evaluation evaluation = evaluate(*classifier.model, *classifier.data);
  REQUIRE(evaluation.metrics.size() == 1);
  CHECK(evaluation.metrics[0].name == "accuracy");
  CHECK(evaluation.metric("accuracy") == evaluation.metrics[0].value);

  // Rows 0 and 2 of this batch are right, the second ties: the first class wins.
  const auto meter = classifier.data->meter();
  const Tensor logits = Tensor::from<double>({1, 3, 2, 5, 5, 0, -1, -2, -3}, {3, 3});
  meter->add(logits, {{}, Tensor::from<std::int64_t>({1, 1, 0}, {3}), 3});
  CHECK(meter->metrics()[0].value == 2.0 / 3);
  meter->add(logits, {{}, Tensor::from<std::int64_t>({0, 0, 0}, {3}), 3});
  CHECK(meter->metrics()[0].value == 4.0 / 6);
}

// A task of its own: predicts only the last symbol, and measures how far the loss is from a guess.
TEST_CASE("data with a loss and metrics of their own") {
  class LastSymbol : public TextData {
   public:
    using TextData::TextData;
    Tensor loss(const Tensor& output, const Batch& batch) const override {
      const std::int64_t n = output.size(1);
      return cross_entropy(slice(output, 1, n - 1, n), slice(batch.target, 1, n - 1, n));
    }
    std::unique_ptr<Meter> meter() const override {
      class Count : public Meter {
        void add(const Tensor& output, const Batch&) override { count_ += static_cast<double>(output.size(0)); }
        std::vector<Metric> metrics() const override { return {{"rows", count_}, {"half", count_ / 2}}; }
        double count_ = 0;
      };
      return std::make_unique<Count>();
    }
  };
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  const LastSymbol data(small_text(), small.data->vocabulary(), Task::causal_lm, 16, 4);
  const Evaluation own = evaluate(*small.model, data);
  CHECK(own.loss != evaluate(*small.model, *small.data).loss);
  CHECK(own.metric("half") * 2 == own.metric("rows"));
  CHECK(own.metric("rows") >= static_cast<double>(data.validation_batches()));

  Trainer trainer(*small.model, data, small_options(1));
  const Batch batch = data.training(0, Random(small_options(1).seed).split(1));
  const SmallTask same = small_task("gmlp", Task::causal_lm);
  const Random dropout = Random(small_options(1).seed).split(2).split(0);
  const double want = data.loss((*same.model)(batch.tokens, &dropout), batch).item();
  CHECK(trainer.step() == doctest::Approx(want).epsilon(1e-6));
}

// Files of weft 0.x's first commits have the options of all optimizers, whichever it was.
TEST_CASE("a state that has options of other optimizers, too") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  Trainer trainer(*small.model, *small.data, small_options(5));
  (void)trainer.step();
  trainer.save_state(folder / "state");
  const SafetensorsFile file(folder / "state");
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name, Load::copy));
  nlohmann::json run = nlohmann::json::parse(file.metadata().at("weft-training"));
  for (const char* key : {"optimizer", "beta1", "beta2", "eps", "weight-decay", "clip", "schedule"})
    CHECK(run.contains(key));
  run["momentum"] = 0.9;
  save_safetensors(folder / "old", tensors, {{"weft-training", run.dump()}});
  Trainer resumed(*small.model, *small.data, small_options(5));
  resumed.load_state(folder / "old");
  CHECK(resumed.steps_done() == 1);
}

TEST_CASE("a state of another run is refused") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  const std::string path = folder / "state";
  Trainer(*small.model, *small.data, small_options(5)).save_state(path);
  const auto load = [&](const SmallTask& task, const TrainOptions& options) {
    return error_of([&] { Trainer(*task.model, *task.data, options).load_state(path); });
  };
  CHECK(load(small, small_options(5)).empty());
  CHECK(load(small, small_options(9)).empty());  // a longer run
  TrainOptions options = small_options(5);
  options.seed = 2;
  CHECK(load(small, options) == "\"" + path + "\": it is of a run with seed 1, now it is 2");
  options = small_options(5);
  options.optimizer.name = "sgd";
  CHECK(load(small, options) == "\"" + path + "\": it is of a run with optimizer \"adamw\", now it is \"sgd\"");
  options = small_options(5);
  options.optimizer.own["beta2"] = 0.95;
  CHECK(load(small, options) == "\"" + path + "\": it is of a run with beta2 0.99, now it is 0.95");
  options = small_options(5);
  options.optimizer.weight_decay = 0;
  CHECK(load(small, options) == "\"" + path + "\": it is of a run with weight-decay 0.1, now it is 0.0");
  CHECK(load(small_task("fnet", Task::masked_lm), small_options(5)) ==
        "\"" + path + "\": it is of a run with another model or vocabulary");
  const std::pair<const char*, std::function<void(TrainOptions&)>> others[] = {
      {"micro-batches", [](TrainOptions& o) { o.micro_batches = 2; }},
      {"optimizer", [](TrainOptions& o) { o.optimizer.name = "adam"; }},
      {"beta1", [](TrainOptions& o) { o.optimizer.own["beta1"] = 0.8; }},
      {"beta2", [](TrainOptions& o) { o.optimizer.own["beta2"] = 0.98; }},
      {"eps", [](TrainOptions& o) { o.optimizer.own["eps"] = 1e-7; }},
      {"weight-decay", [](TrainOptions& o) { o.optimizer.weight_decay = 0.2; }},
      {"clip", [](TrainOptions& o) { o.optimizer.clip = 2; }},
      {"schedule", [](TrainOptions& o) { o.schedule.kind = ScheduleKind::constant; }},
      {"lr", [](TrainOptions& o) { o.schedule.peak = 1; }},
      {"warmup", [](TrainOptions& o) { o.schedule.warmup = 4; }},
      {"lr-floor", [](TrainOptions& o) { o.schedule.floor = 0.5; }}};
  for (const auto& change : others) {
    TrainOptions other = small_options(5);
    change.second(other);
    const std::string message = load(small, other);
    CAPTURE(message);
    CHECK(message.find(std::string("it is of a run with ") + change.first + " ") != std::string::npos);
  }
  const std::string bytes = folder.read("state");
  SmallTask changed = small_task("gmlp", Task::causal_lm);  // two characters change places
  std::string text = small_text();
  std::swap(text[0], text[1]);
  changed.data = std::make_unique<TextData>(text, changed.data->vocabulary(), Task::causal_lm, 16, 4);
  CHECK(load(changed, small_options(5)).find("it is of a run with data ") != std::string::npos);
  for (std::size_t cut : {std::size_t{0}, std::size_t{7}, bytes.size() / 2, bytes.size() - 1}) {
    folder.write("state", bytes.substr(0, cut));
    CHECK(load(small, small_options(5)).find(path) != std::string::npos);
  }
  save_checkpoint(folder / "run", *small.model, small.data->vocabulary());
  folder.write("state", folder.read("run/model.safetensors"));
  CHECK(load(small, small_options(5)) == "\"" + path + "\": it is not the state of a training run");
}

}  // namespace weft::test
