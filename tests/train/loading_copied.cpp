// Tests of models whose weights are copied from their file, so that changes to the file have no effect.
#include <doctest/doctest.h>

#include <cstring>
#include <functional>

#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/checkpoint_format.h"
#include "weft/context.h"
#include "weft/os.h"
#include "weft/quantize.h"
#include "weft/weft_c.h"

namespace weft::test {
namespace {

constexpr std::int64_t vocabulary = 40;

Checkpoint made_checkpoint(const std::string& arch, Task task) {
  Checkpoint checkpoint;
  const std::int64_t classes = task_source(task) == Source::rows ? 3 : 0;
  checkpoint.model = make_model({arch, task, vocabulary, classes, R"({"d_model":24,"layers":1})"}, Init{Random(3)});
  randomize(checkpoint.model->parameters(), 0.5);
  checkpoint.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":0})");
  return checkpoint;
}

// How a folder is written and loaded.
struct Format {
  std::string name;
  Checkpoint checkpoint;
  std::string save_as = "weft";
};

std::vector<Format> formats() {
  std::vector<Format> all;
  for (const std::string& arch : own_architectures) all.push_back({arch, made_checkpoint(arch, usual_task(arch))});
  for (const Quantization to : quantizations()) {
    all.push_back({"quantized", made_checkpoint("gmlp", Task::causal_lm)});
    quantize(*all.back().checkpoint.model, to);
  }
  all.push_back({"of transformers", made_checkpoint("fnet", Task::classifier), "huggingface-fnet"});
  all.push_back({"of labml-nn", made_checkpoint("gmlp", Task::causal_lm), "labml-gmlp"});
  return all;
}

std::vector<Tensor> copied_answers(const Model& model) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 24; ++i) ids.push_back(1 + i * 7 % (vocabulary - 1));
  std::vector<Tensor> all;
  for (int time = 0; time < 3; ++time) all.push_back(model(Tensor::from(ids, {2, 12})));
  all.push_back(model(Tensor::from(std::vector<std::int64_t>{1, 2}, {1, 2})));
  if (model.task() == Task::causal_lm) {
    const auto stream = model.stream();
    for (const std::int64_t token : {1, 5, 22}) all.push_back(stream->next(token));
  }
  return all;
}

LoadOptions copying() {
  LoadOptions options = Purpose::inference;
  options.copy = true;
  return options;
}

}  // namespace

TEST_CASE("loading a copy: after the file is truncated and overwritten, every format gives the same bits") {
  for (const Format& format : formats()) {
    CAPTURE(format.name);
    const TemporaryFolder folder;
    (void)save_checkpoint_as(format.save_as, folder / "saved", format.checkpoint);
    const std::string file = folder / "saved/model.safetensors";
    const auto load = [&](const LoadOptions& options) {
      return format.save_as == "weft" ? load_checkpoint(folder / "saved", options)
                                      : load_checkpoint_as(format.save_as, folder / "saved", options);
    };
    const auto want = copied_answers(*load(Purpose::inference).model);
    const Checkpoint written_over = load(copying()), cut = load(copying());
    check_same(copied_answers(*written_over.model), want);
    {
      std::fstream in_place(file, std::ios::in | std::ios::out | std::ios::binary);
      in_place << std::string(std::filesystem::file_size(file), '\x7f');
    }
    check_same(copied_answers(*written_over.model), want);
    std::filesystem::resize_file(file, 10);
    check_same(copied_answers(*cut.model), want);
    std::filesystem::resize_file(file, 0);
    check_same(copied_answers(*cut.model), want);
    CHECK_THROWS_WITH_AS((void)load(copying()), doctest::Contains(file.c_str()), Error);
  }
}

TEST_CASE("loading a copy: parameters are not writable, and lie in one block of the context's memory") {
  const TemporaryFolder folder;
  const Checkpoint saved = made_checkpoint("gmlp", Task::causal_lm);
  save_checkpoint(folder / "saved", *saved.model, *saved.tokenizer);
  Context context;
  const ContextScope scope(context);
  const std::size_t size = std::filesystem::file_size(folder / "saved/model.safetensors");
  Checkpoint loaded = load_checkpoint(folder / "saved", copying());
  CHECK(context.memory().use().current >= size);
  CHECK(context.memory().use().current < size * 3 / 2 + 4096);
  for (auto& [name, parameter] : loaded.model->parameters()) CHECK_FALSE(parameter.writable());
  CHECK_THROWS_WITH_AS(save_checkpoint(folder / "other", *loaded.model, *loaded.tokenizer),
                       doctest::Contains("loaded for inference"), Error);
  LoadOptions training;
  training.copy = true;
  const Checkpoint trained = load_checkpoint(folder / "saved", training);
  for (auto& [name, parameter] : trained.model->parameters()) CHECK(parameter.writable());
}

TEST_CASE("loading a copy: also from bytes with an owner") {
  const TemporaryFolder folder;
  const Checkpoint saved = made_checkpoint("tnn", Task::causal_lm);
  save_checkpoint(folder / "saved", *saved.model, *saved.tokenizer);
  const auto bytes = std::make_shared<std::string>(folder.read("saved/model.safetensors"));
  const Checkpoint copied = load_checkpoint({bytes->data(), bytes->size(), bytes, false}, copying());
  const auto want = copied_answers(*saved.model);
  std::memset(bytes->data(), 0x7f, bytes->size());
  check_same(copied_answers(*copied.model), want);
  CHECK(bytes.use_count() == 1);
}

TEST_CASE("safetensors: a file that is read into memory") {
  const TemporaryFolder folder;
  save_safetensors(folder / "a", {{"x", Tensor::full({1000}, 3)}});
  const SafetensorsFile file(folder / "a", Load::copy);
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(folder / "a"));
  for (int i = 0; i < 3; ++i) (void)Tensor::full({size}, 7, DType::i8);  // would reuse the memory if it had been freed
  const Tensor view = file.load("x");
  std::filesystem::resize_file(folder / "a", 0);
  CHECK(view.data<float>()[999] == 3);
  CHECK(file.load("x", Load::copy).data<float>()[0] == 3);
  CHECK(file.path() == folder / "a");
  for (const std::string& path : {folder / "a", folder / "", folder / "missing"}) {
    CAPTURE(path);
    CHECK_THROWS_WITH_AS(SafetensorsFile(path, Load::copy), doctest::Contains(path.c_str()), Error);
  }
  std::error_code unsupported;
  std::filesystem::resize_file(folder / "a", std::uintmax_t{1} << 43, unsupported);
  if (!unsupported) CHECK_THROWS_WITH_AS(SafetensorsFile(folder / "a", Load::copy), doctest::Contains("/a\": "), Error);
}

TEST_CASE("C interface: weft_load_with copies the weights") {
  const TemporaryFolder folder;
  const Checkpoint saved = made_checkpoint("gmlp", Task::causal_lm);
  save_checkpoint(folder / "saved", *saved.model, *saved.tokenizer);
  const std::string path = folder / "saved";
  const std::vector<std::int64_t> tokens = {1, 2, 3};
  const auto run = [&](const weft_model* model) {
    std::vector<float> logits(tokens.size() * vocabulary);
    CHECK(weft_run(model, tokens.data(), 1, 3, logits.data(), logits.size(), nullptr) == WEFT_OK);
    return logits;
  };
  weft_model *usual = nullptr, *copied = nullptr;
  REQUIRE(weft_load_with(path.c_str(), nullptr, &usual) == WEFT_OK);
  const auto want = run(usual);
  weft_model_free(usual);
  weft_load_options options = WEFT_LOAD_OPTIONS_INIT;
  CHECK(options.copy == 0);
  options.copy = 1;
  REQUIRE(weft_load_with(path.c_str(), &options, &copied) == WEFT_OK);
  std::filesystem::resize_file(path + "/model.safetensors", 0);
  CHECK(run(copied) == want);
  weft_model_free(copied);

  weft_model* none = nullptr;
  CHECK(weft_load_with(path.c_str(), &options, &none) == WEFT_FAILED);
  CHECK(weft_load_with(nullptr, &options, &none) == WEFT_INVALID_ARGUMENT);
  CHECK(weft_load_with(path.c_str(), &options, nullptr) == WEFT_INVALID_ARGUMENT);
  options.struct_size = 0;
  CHECK(weft_load_with(path.c_str(), &options, &none) == WEFT_INVALID_ARGUMENT);
  CHECK(std::string(weft_last_error()).find("struct_size is 0, expected sizeof(weft_load_options)") !=
        std::string::npos);
  CHECK(none == nullptr);
}

}  // namespace weft::test
