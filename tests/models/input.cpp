// Tests of models that read frames and pictures: patches, normalization, positions, and outputs that equal those for
// tokens.
#include "weft/input.h"

#include <doctest/doctest.h>

#include <cmath>

#include "contains.h"
#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/context.h"
#include "weft/fnet.h"

namespace weft::test {
namespace {

constexpr std::int64_t d_model = 6, vocabulary = 9, outputs = 3;

InputSpec frames_of(std::int64_t channels) {
  InputSpec spec;
  spec.channels = channels;
  return spec;
}

// Pictures of 4 x 6 pixels, in patches of 2 x 2 pixels.
InputSpec pictures(std::int64_t channels = 2) {
  InputSpec spec = frames_of(channels);
  spec.height = 4;
  spec.width = 6;
  spec.patch = 2;
  return spec;
}

std::string config_of(const std::string& arch, const std::string& more = "") {
  return std::string(R"({"d_model":6,"layers":2)") +
         (arch == "tnn" ? R"(,"rpe_dim":4,"rpe_layers":1)" : R"(,"seq_len":8)") + more + "}";
}

std::unique_ptr<Model> made(const std::string& arch, Task task, const InputSpec& input, std::int64_t symbols = 0,
                            const std::string& more = "") {
  ModelSpec spec{arch, task, symbols, outputs, config_of(arch, more), input};
  auto model = make_model(spec, init64);
  randomize(model->parameters(), 0.5);
  return model;
}

void set(const Model& model, const std::string& name, const Tensor& value) {
  for (auto [own, parameter] : model.parameters())
    if (own == name) return parameter.assign(value);
  FAIL(name);
}

std::string place(const std::string& arch) { return arch == "fnet" ? "encoder.frames." : "frames."; }
std::string words(const std::string& arch) {
  return arch == "fnet" ? "encoder.embeddings.word.weight" : "embedding.weight";
}

Tensor identity(std::int64_t n) {
  std::vector<double> x(static_cast<std::size_t>(n * n), 0);
  for (std::int64_t i = 0; i < n; ++i) x[static_cast<std::size_t>(i * n + i)] = 1;
  return Tensor::from(x, {n, n});
}

const std::vector<Task> row_tasks = {Task::classifier, Task::regression, Task::multilabel, Task::tagging,
                                     Task::forecast};

}  // namespace

TEST_CASE("patches: each patch is a block of the picture, row by row") {
  const Tensor x = random_numbers({2, 4, 6, 3});
  const Tensor y = patches_of(x, 2);
  REQUIRE(y.shape() == Shape{2, 6, 12});
  const auto at = [](const Tensor& t, const std::vector<std::int64_t>& where) {
    Tensor one = t;
    for (std::int64_t axis = 0; axis < std::ssize(where); ++axis)
      one = slice(one, axis, where[static_cast<std::size_t>(axis)], where[static_cast<std::size_t>(axis)] + 1);
    return one.item();
  };
  for (std::int64_t row = 0; row < 4; ++row)
    for (std::int64_t column = 0; column < 6; ++column)
      for (std::int64_t c = 0; c < 3; ++c) {
        const std::int64_t patch = row / 2 * 3 + column / 2, inside = (row % 2 * 2 + column % 2) * 3 + c;
        CHECK(at(y, {1, patch, inside}) == at(x, {1, row, column, c}));
      }
  CHECK_THROWS_WITH_AS((void)patches_of(x, 4), doctest::Contains("whose sides are multiples of 4 pixels"), Error);
  CHECK_THROWS_AS((void)patches_of(random_numbers({4, 6, 3}), 2), Error);
}

TEST_CASE("frame embedding: W (x - mean) / deviation + b, plus positions") {
  for (const char* positions : {"architecture", "none", "learned", "sinusoidal"}) {
    CAPTURE(positions);
    InputSpec spec = frames_of(3);
    spec.positions = positions;
    spec.length = 5;
    spec.mean = {1, -2, 0.5};
    spec.deviation = {2, 0.5, 4};
    const FrameEmbedding embedding(spec, 4, init64);
    const Tensor x = random_numbers({2, 5, 3});
    const Tensor scaled = div(sub(x, Tensor::from(spec.mean, {3})), Tensor::from(spec.deviation, {3}));
    Tensor want = linear(scaled, embedding.projection.weight, embedding.projection.bias);
    CHECK(embedding.positions.defined() == (positions == std::string("learned")));
    if (embedding.positions.defined()) want = add(want, embedding.positions);
    if (positions == std::string("sinusoidal")) {
      std::vector<double> table;
      for (int p = 0; p < 5; ++p)
        for (int i = 0; i < 4; ++i) {
          const double angle = p / std::pow(10000.0, i / 2 * 2 / 4.0);
          table.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
        }
      want = add(want, Tensor::from(table, {5, 4}));
    }
    CHECK(max_abs(sub(embedding(x), want)) < 1e-14);
    CHECK(max_abs(sub(embedding(slice(x, 1, 0, 2)), slice(want, 1, 0, 2))) < 1e-14);
    CHECK(gradient_error([&](const auto& in) { return embedding(in[0]); }, {x}, parameters_of(embedding)) < 1e-6);
    if (embedding.positions.defined())
      CHECK_THROWS_WITH_AS((void)embedding(random_numbers({1, 6, 3})), doctest::Contains("at most 5 frames"), Error);
  }
}

TEST_CASE("models of frames: outputs equal those for tokens whose embeddings are the frames") {
  const Tensor tokens = Tensor::from<std::int64_t>({1, 2, 3, 4, 5, 8, 7, 6}, {2, 4});
  for (const std::string& arch : own_architectures)
    for (const Task task : row_tasks)
      for (const char* kind : {"", "sinusoidal", "plain"}) {
        if (arch != "fnet" && kind[0] != 0) continue;
        CAPTURE(arch);
        CAPTURE(task_name(task));
        CAPTURE(kind);
        const std::string head = arch == "fnet" && task != Task::tagging ? R"(,"head":"mean")" : "";
        const std::string more = head + (kind[0] == 0 ? "" : std::string(R"(,"embeddings":")") + kind + "\"");
        const auto from_tokens = made(arch, task, {}, vocabulary, more);
        const auto from_frames = made(arch, task, frames_of(d_model), 0, more);
        for (const auto& [name, parameter] : from_tokens->parameters())
          if (name != words(arch)) set(*from_frames, name, parameter.value());
        set(*from_frames, place(arch) + "projection.weight", identity(d_model));
        set(*from_frames, place(arch) + "projection.bias", Tensor::zeros({d_model}, DType::f64));
        const bool is_scaled = arch != "fnet" || kind[0] != 0;
        const Tensor table = scale(value_of(*from_tokens, words(arch)), is_scaled ? std::sqrt(double{d_model}) : 1);
        const Tensor frames = embedding(tokens, table);
        const Tensor want = (*from_tokens)(tokens), got = from_frames->forward({{}, frames});
        CHECK(want.shape() == (task == Task::tagging ? Shape{2, 4, outputs} : Shape{2, outputs}));
        CHECK(max_abs(sub(got, want)) < 1e-12);
        CHECK(same_bits(from_tokens->forward({tokens, {}}), want));

        // The inputs are tokens and frames, half of each.
        const auto from_both = made(arch, task, frames_of(d_model), vocabulary, more);
        for (const auto& [name, parameter] : from_frames->parameters()) set(*from_both, name, parameter.value());
        set(*from_both, words(arch), scale(value_of(*from_tokens, words(arch)), 0.5));
        CHECK(max_abs(sub(from_both->forward({tokens, scale(frames, 0.5)}), want)) < 1e-12);
      }
}

TEST_CASE("models of frames: positions of the input replace those of the architecture") {
  const Tensor x = random_numbers({2, 4, 5});
  for (const std::string arch : {"gmlp", "fnet"}) {
    CAPTURE(arch);
    const std::string with = arch == "gmlp" ? R"(,"positions":true)" : "";
    const std::string without = arch == "gmlp" ? R"(,"positions":false)" : R"(,"embeddings":"plain")";
    InputSpec none = frames_of(5);
    none.positions = "none";
    const Tensor got = made(arch, Task::regression, none, 0, with)->forward({{}, x});
    CHECK(same_bits(got, made(arch, Task::regression, frames_of(5), 0, without)->forward({{}, x})));
    CHECK(max_abs(sub(got, made(arch, Task::regression, frames_of(5), 0, with)->forward({{}, x}))) > 1e-3);
  }
}

TEST_CASE("models of frames and pictures: gradients of every parameter") {
  for (const std::string& arch : own_architectures)
    for (const Task task : {Task::regression, Task::tagging})
      for (const char* positions : {"architecture", "learned"}) {
        CAPTURE(arch);
        CAPTURE(task_name(task));
        CAPTURE(positions);
        InputSpec spec = pictures();
        spec.positions = positions;
        spec.mean = {0.1, -0.2};
        spec.deviation = {2, 0.5};
        const auto model = made(arch, task, spec);
        const Tensor x = random_numbers({2, 4, 6, 2});
        CHECK(model->forward({{}, x}).shape() == (task == Task::tagging ? Shape{2, 6, outputs} : Shape{2, outputs}));
        CHECK(gradient_error(
                  [&](const auto& in) {
                    return model->forward({{}, in[0]});
                  },
                  {x}, model->parameters()) < 1e-6);
      }
}

TEST_CASE("models of frames: a row's outputs don't depend on other rows, nor its bits on the number of threads") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const auto model = made(arch, Task::regression, frames_of(5));
    const Tensor x = random_numbers({3, 7, 5});
    const Tensor all = model->forward({{}, x});
    for (std::int64_t row = 0; row < 3; ++row)
      CHECK(max_abs(sub(model->forward({{}, slice(x, 0, row, row + 1)}), slice(all, 0, row, row + 1))) < 1e-13);
    for (const int threads : {2, 3}) {
      Context context;
      context.set_threads(threads);
      const ContextScope scope(context);
      CHECK(same_bits(model->forward({{}, x}), all));
    }
  }
}

TEST_CASE("models of frames: bf16 rounds the activations") {
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const ModelSpec spec{arch, Task::regression, 0, outputs, config_of(arch), pictures()};
    const auto model = make_model(spec, {Random(3), DType::f32});
    const Tensor x = random_numbers({2, 4, 6, 2}, 4, DType::f32);
    const Tensor want = model->forward({{}, x});
    model->set_precision(Precision::bf16);
    const Tensor got = model->forward({{}, x});
    CHECK(got.dtype() == DType::bf16);
    const double error = max_abs(sub(raw::convert(got, DType::f32), want));
    CHECK(error < 0.05);
    CHECK(error > 0);
  }
}

TEST_CASE("errors for inputs that don't fit a model name the input") {
  const auto refused = [](const Model& model, const ModelInput& input) {
    return error_of([&] { (void)model.forward(input); });
  };
  const Tensor tokens = Tensor::from<std::int64_t>({1, 2, 3}, {1, 3});
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const auto frames = made(arch, Task::regression, frames_of(5));
    CHECK(refused(*frames, {{}, random_numbers({1, 3, 4})}) ==
          "[" + arch + "] expected frames f32 or f64 (b, n, 5), got f64 (1, 3, 4)");
    CHECK(contains(refused(*frames, {{}, random_numbers({3, 5})}), "(b, n, 5), got f64 (3, 5)"));
    CHECK(contains(refused(*frames, {{}, random_numbers({1, 0, 5})}), "frames, got 0"));
    CHECK(contains(refused(*frames, {tokens, random_numbers({1, 3, 5})}), "this model reads no tokens"));
    CHECK(contains(refused(*frames, {}), "got none"));
    CHECK(contains(error_of([&] { (void)(*frames)(tokens); }), "this model reads no tokens"));
    const auto picture = made(arch, Task::regression, pictures());
    CHECK(contains(refused(*picture, {{}, random_numbers({1, 6, 4, 2})}), "(b, 4, 6, 2), got f64 (1, 6, 4, 2)"));
    const auto both = made(arch, Task::regression, frames_of(5), vocabulary);
    CHECK(contains(refused(*both, {tokens, random_numbers({1, 4, 5})}), "expected tokens for each frame, (1, 4)"));
    CHECK(contains(refused(*both, {{}, random_numbers({1, 4, 5})}), "got an undefined tensor"));
    const auto only_tokens = made(arch, Task::regression, {}, vocabulary);
    CHECK(contains(refused(*only_tokens, {tokens, random_numbers({1, 3, 5})}), "this model reads only tokens"));
    if (arch == "tnn") continue;
    CHECK(contains(refused(*frames, {{}, random_numbers({1, 9, 5})}), "expected sequences of 1 to 8 frames, got 9"));
    InputSpec large = pictures();
    large.height = 8;
    CHECK(contains(error_of([&] { (void)made(arch, Task::regression, large); }), "a seq_len of at least 12"));
  }
}

TEST_CASE("input specs: conversion to JSON and back, and invalid specs") {
  InputSpec spec = pictures();
  spec.positions = "learned";
  spec.mean = {0.1, 1.0 / 3};
  spec.deviation = {1e-7, 300};
  const InputSpec read = input_from_json(input_to_json(spec));
  CHECK(input_to_json(read) == input_to_json(spec));
  CHECK(read.mean == spec.mean);
  CHECK(read.deviation == spec.deviation);
  CHECK(read.patches() == 6);
  CHECK(input_to_json(frames_of(3)) == R"({"channels":3})");
  for (const char* bad :
       {"{}", "[]", "x", R"({"channels":0})", R"({"channels":1.5})", R"({"channels":1,"heigth":4})",
        R"({"channels":1,"height":4})", R"({"channels":1,"height":4,"width":4,"patch":3})",
        R"({"channels":1,"height":4,"width":4,"patch":0})", R"({"channels":1,"patch":2})",
        R"({"channels":1,"positions":"learned"})", R"({"channels":1,"positions":"some"})",
        R"({"channels":1,"mean":[0]})", R"({"channels":2,"mean":[0,0],"deviation":[1]})",
        R"({"channels":1,"mean":[0],"deviation":[0]})", R"({"channels":1,"mean":["a"],"deviation":[1]})",
        R"({"channels":1,"mean":[0],"deviation":[null]})"}) {
    CAPTURE(bad);
    CHECK_THROWS_AS((void)input_from_json(bad), Error);
  }
}

TEST_CASE("normalization: mean and deviation of each channel") {
  InputSpec spec = frames_of(2);
  set_normalization(spec, Tensor::from<float>({1, 5, 3, 5, 5, 5}, {3, 2}));
  CHECK(spec.mean == std::vector<double>{3, 5});
  CHECK(spec.deviation[0] == doctest::Approx(std::sqrt(8.0 / 3)));
  CHECK(spec.deviation[1] == 1);
  CHECK_THROWS_AS(set_normalization(spec, Tensor::zeros({0, 2})), Error);
  CHECK_THROWS_AS(set_normalization(spec, Tensor::zeros({2, 3})), Error);
  CHECK_THROWS_AS(set_normalization(spec, Tensor::from<float>({1, INFINITY}, {1, 2})), Error);
}

TEST_CASE("models that read frames: refused for language models and for architectures that only read tokens") {
  for (const std::string& arch : own_architectures)
    CHECK_THROWS_WITH_AS(
        (void)made(arch, Task::masked_lm, frames_of(2), vocabulary),
        doctest::Contains("the task masked-lm needs a model that reads only tokens, got frames of 2 channels"), Error);
  CHECK_THROWS_WITH_AS((void)made("gmlp", Task::regression, {}, 0), doctest::Contains("a vocabulary of at least 1"),
                       Error);
}

TEST_CASE("models that read frames are saved and loaded") {
  const Tensor x = random_numbers({2, 4, 6, 2}, 9, DType::f32);
  for (const std::string& arch : own_architectures)
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      CAPTURE(arch);
      const TemporaryFolder folder;
      InputSpec spec = pictures();
      spec.mean = {0.25, -3};
      spec.deviation = {1.0 / 3, 7};
      const auto model =
          make_model({arch, Task::multilabel, 0, outputs, config_of(arch), spec}, {Random(3), DType::f32});
      CheckpointInfo info;
      info.labels = {"a", "b", "c"};
      save_checkpoint(folder / "model", *model, *no_tokenizer(), info);
      const Checkpoint loaded = load_checkpoint(folder / "model", purpose);
      CHECK(input_to_json(loaded.model->input()) == input_to_json(spec));
      CHECK(loaded.model->task() == Task::multilabel);
      CHECK(loaded.info.labels == info.labels);
      CHECK(loaded.tokenizer == no_tokenizer());
      CHECK(same_bits(loaded.model->forward({{}, x}), model->forward({{}, x})));
      CHECK_THROWS_WITH_AS((void)loaded.tokenizer->encode("a"), doctest::Contains("reads numbers, not texts"), Error);
      CHECK(copy_parameters(*loaded.model, *model).empty());
      std::string config = folder.read("model/config.json");  // belongs to a model with other parameters
      config.replace(config.find("0.25"), 4, "0.75");
      folder.write("model/config.json", config);
      CHECK_THROWS_AS((void)load_checkpoint(folder / "model", purpose), Error);
    }
}

TEST_CASE("a task of a host program: any architecture with such outputs can do it") {
  const Task task = register_task({"ranking", Source::rows, OutputShape::per_row, false});
  CHECK(task_name(task) == std::string("ranking"));
  CHECK(task_from_name("ranking") == task);
  CHECK_THROWS_WITH_AS((void)register_task({"ranking"}), "[task] the name \"ranking\" is taken", Error);
  CHECK_THROWS_AS((void)register_task({}), Error);
  CHECK_THROWS_AS((void)task_kind(static_cast<Task>(1000)), Error);
  CHECK(task_name(static_cast<Task>(1000)) == std::string("unknown"));
  for (const std::string& arch : own_architectures) {
    const auto model = made(arch, task, frames_of(5));
    CHECK(model->task() == task);
    CHECK(model->forward({{}, random_numbers({2, 3, 5})}).shape() == Shape{2, outputs});
  }
  const Task causal = register_task({"causal ranking", Source::rows, OutputShape::per_token, true});
  CHECK_THROWS_WITH_AS((void)made("gmlp", causal, frames_of(5)),
                       doctest::Contains("does not support the task causal ranking"), Error);
}

}  // namespace weft::test
