// Tests of a custom architecture, which is registered and then, by its name, created, trained, saved, loaded, evaluated
// and used to generate text.
#include "weft/architecture.h"

#include <doctest/doctest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/generate.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

struct MeanConfig {
  std::int64_t d_model = 8;
  std::int64_t seq_len = 16;
  bool learned_start = true;
  double scale = 2;
  std::string name = "mean";

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model, "width of the model");
    visit("seq_len", self.seq_len, "longest sequence");
    visit("learned_start", self.learned_start, "adds a learned vector");
    visit("scale", self.scale, "of the embeddings");
    visit("name", self.name, "a word");
  }
};

// logits_i = head(tanh(start + mean_(j <= i) scale · E[token_j])). The mean is over the last seq_len tokens.
class MeanModel : public Model {
 public:
  MeanModel(const ModelSpec& spec, const Init& init)
      : config_(config_from_json<MeanConfig>("mean", spec.config)),
        task_(spec.task),
        outputs_(task_source(spec.task) == Source::rows ? spec.classes : spec.vocabulary),
        embedding_(spec.vocabulary, config_.d_model, init.child(0)),
        start_(init.child(1).normal({config_.d_model}, 0.5)),
        head_(config_.d_model, outputs_, init.child(2)),
        vocabulary_(spec.vocabulary) {
    check_size("mean", "d_model", config_.d_model, 1);
  }

  static Architecture architecture() {
    return {"mean", {Task::causal_lm, Task::classifier}, config_fields<MeanConfig>(), make_as<MeanModel>};
  }

  const char* arch() const noexcept override { return "mean"; }
  Task task() const noexcept override { return task_; }
  std::int64_t outputs() const noexcept override { return outputs_; }
  std::int64_t vocabulary() const noexcept override { return vocabulary_; }
  std::string config() const override { return config_to_json(config_); }
  std::int64_t max_length() const noexcept override { return config_.seq_len; }
  Tensor operator()(const Tensor& tokens, const Random* = nullptr) const override {
    const std::int64_t n = tokens.size(1);
    if (n < 1 || n > config_.seq_len) throw Error("[mean] a sequence of " + std::to_string(n) + " tokens");
    std::vector<float> share;  // (n, n): 1/(i+1) for j <= i; for a classifier (1, n): 1/n
    for (std::int64_t i = task_ == Task::classifier ? n - 1 : 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) share.push_back(j <= i ? 1.0f / static_cast<float>(i + 1) : 0.0f);
    const std::int64_t rows = static_cast<std::int64_t>(share.size()) / n;
    const Tensor x = scale(embedding_(tokens), config_.scale);
    const Tensor mean = einsum("in,bnd->bid", {Tensor::from(share, {rows, n}), x});
    const Tensor y = head_(activation(add(mean, start_), Activation::tanh));
    return task_ == Task::classifier ? reshape(y, {tokens.size(0), outputs_}) : y;
  }
  void collect(const std::string& prefix, NamedParameters& out) const override {
    embedding_.collect(prefix + "embedding.", out);
    out.emplace_back(prefix + "start", start_);
    head_.collect(prefix + "head.", out);
  }

 private:
  MeanConfig config_;
  Task task_;
  std::int64_t outputs_;
  Embedding embedding_;
  Parameter start_;
  Linear head_;
  std::int64_t vocabulary_;
};

void register_mean() {
  static const bool once = [] {
    register_architecture(MeanModel::architecture());
    return true;
  }();
  (void)once;
}

Architecture named(const std::string& name) {
  Architecture other = MeanModel::architecture();
  other.name = name;
  return other;
}

bool known(const std::string& name) {
  for (const std::string& arch : architectures())
    if (arch == name) return true;
  return false;
}

}  // namespace

TEST_CASE("architectures: weft's own architectures state their tasks") {
  CHECK(architecture("gmlp").tasks == std::vector<Task>{Task::causal_lm, Task::masked_lm, Task::classifier,
                                                        Task::regression, Task::multilabel, Task::tagging,
                                                        Task::forecast, Task::retrieval});
  CHECK(architecture("tnn").tasks == architecture("gmlp").tasks);
  CHECK(architecture("fnet").tasks == std::vector<Task>{Task::masked_lm, Task::classifier, Task::regression,
                                                        Task::multilabel, Task::tagging, Task::forecast,
                                                        Task::retrieval});
  CHECK(usual_task("gmlp") == Task::causal_lm);
  CHECK(usual_task("fnet") == Task::masked_lm);
  CHECK(usual_task(architecture("fnet"), Source::rows) == Task::classifier);
  CHECK_THROWS_WITH((void)architecture("rnn"),
                    doctest::Contains("unknown architecture \"rnn\", expected one of gmlp, tnn, fnet"));
  for (const std::string& arch : own_architectures) {
    const auto model = make_model({arch, usual_task(arch), 7, 0, "{}"}, {});
    for (const ConfigField& field : architecture(arch).fields) {
      const std::string config = "{\"" + field.name + "\":" + field.usual + "}";
      CAPTURE(config);
      CHECK(make_model({arch, usual_task(arch), 7, 0, config}, {})->config() == model->config());
    }
  }
}

TEST_CASE("a registered architecture: created, trained, saved, loaded, evaluated") {
  register_mean();
  for (Task task : {Task::causal_lm, Task::classifier}) {
    SmallTask small = small_task("gmlp", task);
    small.model = make_model({"mean", task, small.data->tokenizer()->size(), 3, "{}"}, {Random(3)});
    const TemporaryFolder folder;
    TrainOptions options;
    options.schedule.steps = 60;
    options.schedule.warmup = 3;
    options.schedule.peak = 2e-2;
    const double before = evaluate(*small.model, *small.data).loss;
    RunOptions run;
    run.folder = folder / "run";
    const RunResult result = Trainer(*small.model, *small.data, options).run(run);
    CHECK(result.evaluation->loss < before - 0.2);
    const Checkpoint loaded = load_checkpoint(run.folder);
    CHECK(loaded.model->arch() == std::string("mean"));
    CHECK(loaded.model->config() == R"({"d_model":8,"seq_len":16,"learned_start":true,"scale":2.0,"name":"mean"})");
    CHECK(evaluate(*loaded.model, *small.data).loss == result.evaluation->loss);
    Trainer resumed(*loaded.model, *small.data, options);
    resumed.load_state(state_path(run.folder));
    CHECK(resumed.steps_done() == 60);
  }
}

TEST_CASE("a registered architecture without a stream: generation repeats passes over its latest tokens") {
  register_mean();
  const auto tokenizer = characters("abcdef");
  const auto model = make_model({"mean", Task::causal_lm, 7, 0, R"({"seq_len":5})"}, {Random(3)});
  const auto stream = model->stream();
  std::vector<std::int64_t> tokens;
  for (std::int64_t i = 0; i < 12; ++i) {
    tokens.push_back(i * i % 7);
    CHECK_THROWS_AS(stream->next(7), Error);  // the token is beyond the vocabulary, so the text is unchanged
    const Tensor logits = stream->next(tokens.back());
    const std::int64_t n = std::min<std::int64_t>(i + 1, 5);
    const std::vector<std::int64_t> latest(tokens.end() - n, tokens.end());
    const Tensor full = (*model)(Tensor::from(latest, {1, n}));
    CHECK(same_bits(logits, reshape(slice(full, 1, n - 1, n), {7})));
  }
  const auto at_once = model->stream();
  (void)at_once->append(Tensor::from(tokens, {1, 12}));
  CHECK(same_bits(at_once->next(3), stream->next(3)));
  CHECK(model->why_stream_is_slow() == "its architecture, mean, does not implement a token stream");
  Parameter start = model->parameters()[1].second;
  start.assign(scale(start, 0.5));
  CHECK_THROWS_WITH_AS(stream->next(1), doctest::Contains("a parameter was written after this text's first token"),
                       Error);
  CHECK_NOTHROW(model->stream()->next(1));
  std::string text;
  GenerateOptions options;
  options.tokens = 20;
  generate(*model, *tokenizer, "abc", options, [&](const std::string& symbol) {
    text += symbol;
    return true;
  });
  CHECK(text.size() == 20);
  const auto rows = make_model({"mean", Task::classifier, 7, 2, "{}"}, {});
  CHECK_THROWS_WITH(
      (void)rows->stream(),
      "[generate] a model with the task classifier can't continue a text: only a causal language model can");
}

TEST_CASE("a registered architecture: config and tasks") {
  register_mean();
  const auto& fields = architecture("mean").fields;
  REQUIRE(fields.size() == 5);
  CHECK(fields[0].name == "d_model");
  CHECK(fields[0].usual == "8");
  CHECK(fields[2].usual == "true");
  CHECK(fields[3].usual == "2.0");
  CHECK(fields[4].usual == "\"mean\"");
  CHECK(fields[4].meaning == "a word");
  const auto make = [](Task task, const std::string& config, std::int64_t classes = 0) {
    return make_model({"mean", task, 7, classes, config}, {});
  };
  CHECK_THROWS_WITH(
      make(Task::masked_lm, "{}"),
      "[mean] this architecture does not support the task masked-lm; its tasks are causal-lm, classifier");
  CHECK_THROWS_WITH(make(Task::classifier, "{}"), "[model] the task classifier needs at least 1 class, got 0");
  const Task lm = Task::causal_lm;
  CHECK_THROWS_WITH(make(lm, R"({"depth":1})"),
                    "[mean] unknown config key \"depth\", expected one of d_model, seq_len, learned_start, scale, "
                    "name");
  CHECK_THROWS_WITH(make(lm, R"({"scale":"wide"})"),
                    "[mean] the value of \"scale\" has the wrong type: \"wide\", expected a number");
  CHECK_THROWS_WITH(make(lm, "[]"), "[mean] the config is not a JSON object");
  CHECK(make(lm, R"({"scale":3,"name":"x"})")->config() ==
        R"({"d_model":8,"seq_len":16,"learned_start":true,"scale":3.0,"name":"x"})");
}

TEST_CASE("register_architecture: names that are taken, and invalid architectures") {
  register_mean();
  for (const char* name : {"gmlp", "mean"})
    CHECK_THROWS_WITH(register_architecture(named(name)), doctest::Contains("is taken"));
  CHECK_THROWS_AS(register_architecture(named("")), Error);
  Architecture idle = named("idle");
  idle.tasks.clear();
  CHECK_THROWS_AS(register_architecture(idle), Error);
  Architecture empty = named("empty");
  empty.make = nullptr;
  CHECK_THROWS_AS(register_architecture(empty), Error);
  for (const char* name : {"", "idle", "empty"}) CHECK_FALSE(known(name));

  register_architecture(named("alias"));  // its models call themselves "mean"
  CHECK_THROWS_WITH(
      make_model({"alias", Task::causal_lm, 7, 0, "{}"}, {}),
      "[model] expected a model of the architecture alias with the task causal-lm, but the function that makes "
      "it returned one of the architecture mean with the task causal-lm");
}

TEST_CASE("a checkpoint of a model whose config is not a JSON object is refused, and nothing is written") {
  struct Odd : MeanModel {
    using MeanModel::MeanModel;
    std::string config() const override { return text; }
    std::string text;
  };
  const TemporaryFolder folder;
  Odd model({"mean", Task::causal_lm, 30, 0, "{}"}, {});
  for (const char* text : {"", "7", "{", "[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]"}) {
    model.text = text;
    CHECK_THROWS_AS(save_checkpoint(folder / "odd", model, *characters("ab")), Error);
    CHECK_THROWS_AS(model_description(model, *characters("ab")), Error);
  }
  CHECK(!std::filesystem::exists(folder / "odd"));
}

TEST_CASE("architectures: concurrent threads register and look up" * doctest::test_suite("threads")) {
  const Architecture& gmlp = architecture("gmlp");
  constexpr int count = 3, rounds = 200;
  std::atomic<int> arrived{0}, taken{0}, wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < count; ++t)
    threads.emplace_back([&] {
      for (int round = 0; round < rounds; ++round) {
        const std::string name = "shared-" + std::to_string(round);
        ++arrived;
        while (arrived < count * (round + 1)) std::this_thread::yield();  // then all threads start together
        try {
          register_architecture(named(name));
        } catch (const Error&) {
          ++taken;
        }
        if (&architecture("gmlp") != &gmlp || architecture(name).name != name) ++wrong;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(taken == rounds * (count - 1));
  CHECK(wrong == 0);
  CHECK(gmlp.name == "gmlp");
}

}  // namespace weft::test
