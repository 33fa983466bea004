// Tests of weft/weft_c.h through a C program (c/use.c): it gives the same bits as the C++ interface, and a status for
// every mistake.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <thread>

#include "c/use.h"
#include "contains.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/classifier.h"
#include "weft/context.h"
#include "weft/fit.h"
#include "weft/generate.h"
#include "weft/split.h"

namespace weft::test {
namespace {

// Saves a checkpoint whose parameters differ from those of any other checkpoint.
Checkpoint save_small(const std::string& folder, const std::string& arch, Task task) {
  const SmallTask small = small_task(arch, task);
  randomize(small.model->parameters(), 0.3);
  CheckpointInfo info;
  info.step = 12;
  info.length = 16;
  if (task == Task::classifier) info.labels = {"colour", "number", "wind"};
  else info.validation_loss = 1.5;
  save_checkpoint(folder, *small.model, *small.data->tokenizer(), info);
  return load_checkpoint(folder, Purpose::inference);
}

std::vector<float> first(const float* numbers, std::size_t count) { return {numbers, numbers + count}; }

GenerateOptions options_of_c() {
  GenerateOptions options;
  options.tokens = 20;
  options.temperature = 0.8;
  options.top_k = 12;
  options.top_p = 0.95;
  options.seed = 7;
  options.stop = {"\n\n\n"};
  return options;
}

// Owns a model of the C interface, for tests written in C++.
struct Handle {
  explicit Handle(const std::string& folder) { REQUIRE(weft_load(folder.c_str(), &model) == WEFT_OK); }
  ~Handle() { weft_model_free(model); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  weft_model* model = nullptr;
};

std::vector<float> run(const weft_model* model, const std::vector<std::int64_t>& tokens) {
  std::size_t count = 0;
  const auto n = static_cast<std::int64_t>(tokens.size());
  CHECK(weft_run(model, tokens.data(), 1, n, nullptr, 0, &count) == WEFT_BUFFER_TOO_SMALL);
  std::vector<float> logits(count);
  CHECK(weft_run(model, tokens.data(), 1, n, logits.data(), count, nullptr) == WEFT_OK);
  return logits;
}

}  // namespace

TEST_CASE("C interface: a language model's logits, stream and texts equal those of the C++ interface, bit by bit") {
  for (const char* arch : {"gmlp", "tnn"}) {
    CAPTURE(arch);
    const TemporaryFolder folder;
    const Checkpoint saved = save_small(folder / "lm", arch, Task::causal_lm);
    const std::string prompt = "line 7: quick";
    const auto made = std::make_unique<c_language_answers>();
    c_language_answers& answers = *made;
    c_use_language_model((folder / "lm").c_str(), prompt.c_str(), &answers);
    REQUIRE(std::string(c_failure()) == "");

    CHECK(answers.info.vocabulary == saved.model->vocabulary());
    CHECK(answers.info.outputs == saved.model->outputs());
    CHECK(answers.info.max_length == saved.model->max_length());
    CHECK(answers.info.trained_length == 16);
    CHECK(answers.info.steps == 12);
    CHECK(answers.info.labels == 0);
    CHECK(answers.info.pad_to == 0);
    CHECK(answers.info.validation_loss == 1.5);
    std::int64_t parameters = 0;
    for (const auto& [name, parameter] : saved.model->parameters()) parameters += parameter.value().numel();
    CHECK(answers.info.parameters == parameters);

    const std::vector<std::int64_t> ids = saved.tokenizer->encode(prompt);
    CHECK(std::vector<std::int64_t>(answers.tokens, answers.tokens + answers.tokens_count) == ids);
    CHECK(answers.decoded == prompt);
    const auto n = std::ssize(ids);
    const Tensor logits = (*saved.model)(Tensor::from(ids, {1, n}));
    CHECK(first(answers.logits, answers.logits_count) == logits.to_vector<float>());

    const std::vector<std::int64_t> one(ids.begin(), ids.begin() + n / 2), two(ids.begin() + n / 2, ids.end());
    const auto stream = saved.model->stream();
    (void)stream->append(Tensor::from(one, {1, std::ssize(one)}));
    const auto copy = stream->select({0});
    const Tensor after = stream->append(Tensor::from(two, {1, std::ssize(two)}));
    CHECK(first(answers.stream_logits, answers.stream_count) == after.to_vector<float>());
    CHECK(first(answers.copy_logits, answers.stream_count) == copy->next(ids[0]).to_vector<float>());

    std::string text, stopped;
    const auto symbols =
        generate(*saved.model, *saved.tokenizer, prompt, options_of_c(), [&](const std::string& symbol) {
          text += symbol;
          return true;
        });
    int pieces = 0;
    generate(*saved.model, *saved.tokenizer, prompt, options_of_c(), [&](const std::string& symbol) {
      stopped += symbol;
      return ++pieces < 3;
    });
    CHECK(answers.generated == text);
    CHECK(answers.symbols == symbols);
    CHECK(answers.stopped == stopped);
    CHECK(answers.stopped_symbols == 3);
  }
}

TEST_CASE("C interface: a classifier's probabilities equal those of the C++ interface, bit by bit") {
  const TemporaryFolder folder;
  Checkpoint saved = save_small(folder / "classes", "fnet", Task::classifier);
  const std::vector<std::string> texts = {"red green and 5", "north", "", "one two three four five six"};
  std::vector<const char*> given;
  for (const std::string& text : texts) given.push_back(text.c_str());
  const auto made = std::make_unique<c_class_answers>();
  c_class_answers& answers = *made;
  const std::string bytes = folder.read("classes/model.safetensors");
  c_use_classifier(bytes.data(), bytes.size(), given.data(), given.size(), &answers);
  REQUIRE(std::string(c_failure()) == "");

  CHECK(std::string(answers.info.task) == "classifier");
  CHECK(std::isnan(answers.info.validation_loss));
  CHECK(answers.info.labels == 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(answers.labels[i] == saved.info.labels[i]);
  const Tensor rows = Tensor::from<std::int64_t>({1, 2, 3, 3, 2, 1}, {2, 3});
  CHECK(first(answers.logits, answers.logits_count) == (*saved.model)(rows).to_vector<float>());
  std::vector<double> expected;
  const Classifier classifier(std::move(saved));
  for (const auto& row : classifier.probabilities(texts)) expected.insert(expected.end(), row.begin(), row.end());
  CHECK(std::vector<double>(answers.probabilities, answers.probabilities + answers.count) == expected);
}

TEST_CASE("C interface: a tagger gives logits for each token, a regression for each row") {
  const TemporaryFolder folder;
  const auto tokenizer = characters("abcdef");
  for (const Task task : {Task::tagging, Task::regression}) {
    const auto model = small_model("tnn", task, tokenizer->size(), 3, {});
    CheckpointInfo info;
    info.labels = {"A", "B", "C"};
    const std::string path = folder / task_name(task);
    save_checkpoint(path, *model, *tokenizer, info);
    const std::vector<float> logits = run(Handle(path).model, {1, 2, 3, 2, 1});
    CHECK(logits.size() == (task == Task::tagging ? 15 : 3));
    const Tensor tokens = Tensor::from<std::int64_t>({1, 2, 3, 2, 1}, {1, 5});
    CHECK(logits == (*load_checkpoint(path, Purpose::inference).model)(tokens).to_vector<float>());
  }
}

TEST_CASE("C interface: training on rows in memory gives a model that weft_load reads") {
  const TemporaryFolder folder;
  std::vector<const char*> texts, labels;
  for (int i = 0; i < 8; ++i)
    for (const char* color : {"red", "green", "blue"}) {
      texts.push_back(color);
      labels.push_back(color);
    }
  struct Seen {
    std::int64_t steps = 0, stop_at = 0;
    double loss = 0;
  } seen;
  weft_train_options options = WEFT_TRAIN_OPTIONS_INIT;
  options.arch = "gmlp";
  options.config = R"({"d_model":8,"layers":1,"seq_len":4})";
  options.batch = 4;
  options.steps = 60;
  options.learning_rate = 0.02;
  options.progress = [](void* user, std::int64_t step, std::int64_t steps, double loss) {
    Seen& now = *static_cast<Seen*>(user);
    CHECK(step == ++now.steps);
    CHECK(steps == 60);
    now.loss = loss;
    return step == now.stop_at ? 5 : 0;
  };
  options.user = &seen;
  const auto train = [&](const std::string& name) {
    seen.steps = 0;
    return weft_train(texts.data(), labels.data(), texts.size(), &options, (folder / name).c_str());
  };
  REQUIRE(train("run") == WEFT_OK);
  CHECK(seen.steps == 60);
  CHECK(seen.loss < 1);
  // fit() in C++ trains the same model.
  const Handle model(folder / "run");
  weft_info info{};
  info.struct_size = sizeof info;
  REQUIRE(weft_model_info(model.model, &info) == WEFT_OK);
  CHECK(std::string(info.architecture) == "gmlp");
  CHECK(info.labels == 3);
  const LabeledTexts all = labeled_rows({texts.begin(), texts.end()}, {labels.begin(), labels.end()});
  CHECK(all.names == std::vector<std::string>{"blue", "green", "red"});
  LabeledTexts training = all;
  LabeledTexts held = hold_out(training, 0.1, 1);
  FitOptions same;
  same.arch = "gmlp";
  same.config = options.config;
  same.batch = 4;
  same.steps = 60;
  same.lr = 0.02;
  RunOptions run;
  run.folder = folder / "cpp";
  run.eval_every = 0;
  (void)fit(training, held, same, run);
  CHECK(folder.read("cpp/best/model.safetensors") == folder.read("run/best/model.safetensors"));

  CHECK(train("run") == WEFT_FAILED);
  CHECK(contains(weft_last_error(), "already exists; to replace it, set options->overwrite"));
  options.overwrite = 1;
  seen.stop_at = 7;
  CHECK(train("run") == WEFT_OK);
  CHECK(seen.steps == 7);
  CHECK(Handle(folder / "run").model != nullptr);
  options.progress = [](void*, std::int64_t, std::int64_t, double) -> int { throw Error("enough"); };
  CHECK(train("thrown") == WEFT_CALLBACK_FAILED);
  CHECK(contains(weft_last_error(), "the callback threw: enough"));
  options.progress = nullptr;
  options.steps = 1;
  CHECK(train("short") == WEFT_OK);
}

TEST_CASE("C interface: mistakes in training are reported") {
  const TemporaryFolder folder;
  const char *texts[] = {"a", "b", "c"}, *labels[] = {"x", "y", "x"}, *missing[] = {"a", nullptr, "c"};
  const std::string path = folder / "run";
  const auto refused = [&](const std::function<void(weft_train_options&)>& change, weft_status status,
                           const char* message) {
    weft_train_options options = WEFT_TRAIN_OPTIONS_INIT;
    options.steps = 1;
    change(options);
    CHECK(weft_train(texts, labels, 3, &options, path.c_str()) == status);
    CHECK_MESSAGE(contains(weft_last_error(), message), weft_last_error());
  };
  refused([](auto& o) { o.struct_size = 8; }, WEFT_INVALID_ARGUMENT, "expected sizeof(weft_train_options)");
  refused([](auto& o) { o.arch = nullptr; }, WEFT_INVALID_ARGUMENT, "options->arch is NULL");
  refused([](auto& o) { o.task = nullptr; }, WEFT_INVALID_ARGUMENT, "options->task is NULL");
  refused([](auto& o) { o.batch = 0; }, WEFT_INVALID_ARGUMENT, "a batch of at least 1");
  refused([](auto& o) { o.arch = "none"; }, WEFT_FAILED, "none");
  refused([](auto& o) { o.task = "causal-lm"; }, WEFT_FAILED, "expected a task that learns from rows");
  refused([](auto& o) { o.config = "{"; }, WEFT_FAILED, "");
  refused([](auto& o) { o.tokenizer = "none"; }, WEFT_FAILED, "none");
  refused([](auto& o) { o.learning_rate = -1; }, WEFT_FAILED, "learning rate");
  refused([](auto& o) { o.validation = 1; }, WEFT_FAILED, "");
  CHECK(weft_train(texts, labels, 3, nullptr, nullptr) == WEFT_INVALID_ARGUMENT);
  CHECK(weft_train(nullptr, labels, 3, nullptr, path.c_str()) == WEFT_INVALID_ARGUMENT);
  CHECK(weft_train(texts, missing, 3, nullptr, path.c_str()) == WEFT_INVALID_ARGUMENT);
  CHECK(contains(weft_last_error(), "labels[1] is NULL"));
  CHECK(weft_train(missing, labels, 3, nullptr, path.c_str()) == WEFT_INVALID_ARGUMENT);
  CHECK(weft_train(nullptr, nullptr, 0, nullptr, path.c_str()) == WEFT_FAILED);
  CHECK_FALSE(std::filesystem::exists(path));
}

TEST_CASE("C interface: every mistake gives a status and a message, and changes nothing") {
  const TemporaryFolder folder;
  (void)save_small(folder / "lm", "gmlp", Task::causal_lm);
  (void)save_small(folder / "classes", "fnet", Task::classifier);
  c_make_mistakes((folder / "lm").c_str(), (folder / "classes").c_str());
  CHECK(std::string(c_failure()) == "");
}

TEST_CASE("C interface: a callback that throws ends the text, and no exception crosses the interface") {
  const TemporaryFolder folder;
  (void)save_small(folder / "lm", "gmlp", Task::causal_lm);
  const Handle handle(folder / "lm");
  std::int64_t count = 0;
  int calls = 0;
  const auto throwing = [](void* user, const char*, std::size_t) -> int {
    if (++*static_cast<int*>(user) == 2) throw std::runtime_error("enough of it");
    return 0;
  };
  CHECK(weft_generate(handle.model, "line", nullptr, throwing, &calls, &count) == WEFT_CALLBACK_FAILED);
  CHECK(std::string(weft_last_error()) == "weft_generate: the callback threw: enough of it");
  CHECK(count == 2);
  const auto strange = [](void*, const char*, std::size_t) -> int { throw 7; };
  CHECK(weft_generate(handle.model, "line", nullptr, strange, nullptr, nullptr) == WEFT_CALLBACK_FAILED);
  CHECK(std::string(weft_last_error()).find("an unknown type") != std::string::npos);
}

TEST_CASE("C interface: a callback may call weft") {
  const TemporaryFolder folder;
  (void)save_small(folder / "lm", "gmlp", Task::causal_lm);
  const Handle handle(folder / "lm");
  struct Inner {
    const weft_model* model;
    std::vector<float> logits;
  } inner{handle.model, {}};
  const auto nested = [](void* user, const char*, std::size_t) -> int {
    auto* mine = static_cast<Inner*>(user);
    mine->logits = run(mine->model, {1, 2, 3});
    return 1;
  };
  CHECK(weft_generate(handle.model, "line", nullptr, nested, &inner, nullptr) == WEFT_OK);
  CHECK(inner.logits == run(handle.model, {1, 2, 3}));
}

TEST_CASE("C interface: a change of precision invalidates the streams") {
  const TemporaryFolder folder;
  const Checkpoint saved = save_small(folder / "lm", "gmlp", Task::causal_lm);
  const Handle handle(folder / "lm");
  weft_stream* stream = nullptr;
  const std::int64_t token = 1;
  REQUIRE(weft_stream_new(handle.model, &stream) == WEFT_OK);
  REQUIRE(weft_stream_append(stream, &token, 1, nullptr, 0, nullptr) == WEFT_OK);
  CHECK(weft_set_precision(handle.model, "bf16") == WEFT_OK);
  weft_info info{};
  info.struct_size = sizeof info;
  REQUIRE(weft_model_info(handle.model, &info) == WEFT_OK);
  CHECK(std::string(info.precision) == "bf16");
  saved.model->set_precision(Precision::bf16);
  const Tensor logits = (*saved.model)(Tensor::from<std::int64_t>({1, 2, 3}, {1, 3}));
  CHECK(run(handle.model, {1, 2, 3}) == raw::convert(logits, DType::f32).to_vector<float>());
  CHECK(weft_stream_append(stream, &token, 1, nullptr, 0, nullptr) == WEFT_FAILED);
  weft_stream_free(stream);
}

TEST_CASE("C interface: a stream keeps its model alive") {
  const TemporaryFolder folder;
  (void)save_small(folder / "lm", "tnn", Task::causal_lm);
  weft_stream* stream = nullptr;
  std::vector<float> logits(512), expected(512);
  const std::int64_t tokens[] = {1, 2, 3};
  {
    const Handle handle(folder / "lm");
    weft_stream* other = nullptr;
    REQUIRE(weft_stream_new(handle.model, &stream) == WEFT_OK);
    REQUIRE(weft_stream_new(handle.model, &other) == WEFT_OK);
    REQUIRE(weft_stream_append(other, tokens, 3, expected.data(), expected.size(), nullptr) == WEFT_OK);
    weft_stream_free(other);
  }
  CHECK(weft_stream_append(stream, tokens, 3, logits.data(), logits.size(), nullptr) == WEFT_OK);
  CHECK(logits == expected);
  weft_stream_free(stream);
}

TEST_CASE("C interface: concurrent threads share a model, and each has its own last error" *
          doctest::test_suite("threads")) {
  const TemporaryFolder folder;
  (void)save_small(folder / "lm", "gmlp", Task::causal_lm);
  const Handle handle(folder / "lm");
  const std::vector<float> alone = run(handle.model, {1, 2, 3, 4});
  REQUIRE(weft_load("here/isn't one", nullptr) == WEFT_INVALID_ARGUMENT);
  const std::string mine = weft_last_error();
  std::vector<std::vector<float>> logits(3);
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < logits.size(); ++i)
    threads.emplace_back([&, i] {
      errors[i] = weft_last_error();
      weft_status status = weft_set_threads(1);
      for (int k = 0; k < 5 && status == WEFT_OK; ++k) {
        logits[i].resize(alone.size());
        const std::int64_t tokens[] = {1, 2, 3, 4};
        status = weft_run(handle.model, tokens, 1, 4, logits[i].data(), alone.size(), nullptr);
      }
      if (status != WEFT_OK || weft_threads() != 1) errors[i] = "failed";
    });
  for (std::thread& thread : threads) thread.join();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    CHECK(logits[i] == alone);
    CHECK(errors[i] == "");
  }
  CHECK(std::string(weft_last_error()) == mine);
}

TEST_CASE("C interface: numbers of threads") {
  const int before = default_threads(), mine = Context::current().threads();
  CHECK(weft_threads() == mine);
  int inherited = 0;
  CHECK(weft_set_default_threads(3) == WEFT_OK);
  std::thread([&] { inherited = weft_threads(); }).join();
  CHECK(inherited == 3);
  std::thread([&] {
    if (weft_set_threads(2) == WEFT_OK) inherited = weft_threads();
  }).join();
  CHECK(inherited == 2);
  set_default_threads(before);
}

}  // namespace weft::test
