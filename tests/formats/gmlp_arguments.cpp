// Tests of g-mlp-pytorch's models. A config.json next to a state dict has the arguments that the state dict lacks.
// Without it, weft assumes defaults and reports them.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "contains.h"
#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "weft/checkpoint_format.h"
#include "weft/gmlp.h"

namespace weft::test {
namespace {

const std::string format = "g-mlp-pytorch";

Checkpoint made(Task task, std::int64_t d_ffn = 12) {
  GmlpConfig config;
  config.d_model = 6;
  config.d_ffn = d_ffn;
  config.layers = 2;
  config.seq_len = 5;
  config.positions = false;
  Checkpoint checkpoint;
  checkpoint.model = make_model(model_spec(config, task, 7), Init{Random(3)});
  randomize(checkpoint.model->parameters(), 0.5);
  checkpoint.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":7})");
  return checkpoint;
}

// Saves only the state dict, like g-mlp-pytorch.
void save_theirs(const std::string& folder) {
  (void)save_checkpoint_as(format, folder, made(Task::causal_lm));
  std::vector<std::pair<std::string, Tensor>> tensors;
  {
    const SafetensorsFile file(folder + "/model.safetensors");
    for (const std::string& name : file.names()) tensors.emplace_back(name, file.load(name, Load::copy));
  }
  save_safetensors(folder + "/model.safetensors", tensors);
  std::filesystem::remove(folder + "/config.json");
}

std::string error_of(const std::string& path, const LoadOptions& options = {}) {
  try {
    (void)load_checkpoint_as(format, path, options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

bool notes(const Checkpoint& checkpoint, const std::string& part) {
  const auto& all = checkpoint.info.notes;
  return std::any_of(all.begin(), all.end(), [&](const std::string& note) { return contains(note, part); });
}

LoadOptions as(Task task) {
  LoadOptions options;
  options.task = task;
  return options;
}

const Tensor five_ids = Tensor::from(std::vector<std::int64_t>{1, 2, 3, 4, 5}, {1, 5});

}  // namespace

TEST_CASE("g-mlp-pytorch: a model written with its arguments is read unchanged, causal or not") {
  for (const Task task : {Task::causal_lm, Task::masked_lm}) {
    const TemporaryFolder folder;
    const Checkpoint saved = made(task);
    (void)save_checkpoint_as(format, folder / "out", saved);
    const auto arguments = nlohmann::json::parse(folder.read("out/config.json"));
    CHECK(arguments == nlohmann::json{{"num_tokens", 7},
                                      {"dim", 6},
                                      {"depth", 2},
                                      {"seq_len", 5},
                                      {"ff_mult", 2},
                                      {"causal", task == Task::causal_lm}});
    const Checkpoint read = load_checkpoint_as(format, folder / "out");
    CHECK(read.model->task() == task);
    CHECK(max_difference((*read.model)(five_ids), (*saved.model)(five_ids)) < 1e-5);
    CHECK(!notes(read, "taken for"));
  }
  const TemporaryFolder folder;
  (void)save_checkpoint_as(format, folder / "out", made(Task::causal_lm, 8));  // no ff_mult gives this width
  CHECK(!contains(folder.read("out/config.json"), "ff_mult"));
}

TEST_CASE("g-mlp-pytorch: without a config.json the assumed defaults are reported") {
  const TemporaryFolder folder;
  save_theirs(folder / "out");
  const Checkpoint causal = load_checkpoint_as(format, folder / "out");
  CHECK(causal.model->task() == Task::causal_lm);
  CHECK(
      notes(causal,
            "assumes that the model is causal, and that it has no token shift and no activation function on the gate"));
  const Checkpoint masked = load_checkpoint_as(format, folder / "out", as(Task::masked_lm));
  CHECK(masked.model->task() == Task::masked_lm);
  CHECK(notes(masked, "assumes that the model is not causal"));
}

TEST_CASE(
    "g-mlp-pytorch: arguments that weft's gMLP doesn't support, or that don't fit the sizes, are refused by name") {
  const TemporaryFolder folder;
  save_theirs(folder / "out");
  const auto refused = [&](const std::string& arguments, const LoadOptions& options = {}) {
    folder.write("out/config.json", arguments);
    const std::string error = error_of(folder / "out", options);
    CHECK((error.empty() || contains(error, folder / "out/config.json")));
    return error;
  };
  CHECK(contains(refused(R"({"causal":true,"shift_tokens":1})"),
                 "shift_tokens 1 means token shift, which weft's gMLP does not support"));
  CHECK(contains(refused(R"j({"causal":true,"act":"Tanh()"})j"),
                 "act \"Tanh()\" means an activation function on the gate"));
  CHECK(contains(refused(R"({"causal":true,"heads":2})"), "heads 2 means a spatial gate of several heads"));
  CHECK(contains(refused(R"({"causal":true,"attn_dim":64})"), "attn_dim 64 means tiny attention"));
  CHECK(contains(refused(R"({"causal":true,"circulant_matrix":true})"),
                 "circulant_matrix true means a circulant matrix"));
  CHECK(contains(refused(R"({"depth":3})"), "depth is 3, but the tensors have 2"));
  CHECK(contains(refused(R"({"dim":8})"), "dim is 8, but the tensors have 6"));
  CHECK(contains(refused(R"({"seq_len":8})"), "seq_len is 8, but the tensors have 5"));
  CHECK(contains(refused(R"({"num_tokens":8})"), "num_tokens is 8, but the tensors have 7"));
  CHECK(contains(refused(R"({"ff_mult":4})"), "ff_mult is 4, but the tensors have 2"));
  CHECK(contains(refused(R"({"causal":"yes"})"), "\"causal\" has the wrong type"));
  CHECK(contains(refused(R"({"causal":true})", as(Task::masked_lm)),
                 "the value of \"causal\" contradicts the task masked-lm"));
  CHECK(contains(refused(R"({"causal":false})", as(Task::causal_lm)),
                 "the value of \"causal\" contradicts the task causal-lm"));
  const std::string usual =
      R"j({"causal":true,"heads":1,"attn_dim":null,"shift_tokens":0,"act":"Identity()","circulant_matrix":false})j";
  CHECK(refused(usual) == "");
  CHECK(refused("{}") == "");
  CHECK(load_checkpoint_as(format, folder / "out").model->task() == Task::masked_lm);  // g-mlp-pytorch's default
  CHECK(refused("{}", as(Task::causal_lm)) == "");
  CHECK(refused(R"({"prob_survival":0.9})") == "");
  CHECK(notes(load_checkpoint_as(format, folder / "out"), "prob_survival"));
}

TEST_CASE(
    "g-mlp-pytorch: several heads and a circulant matrix are also recognized by the tensors, and refused by name") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::vector<std::pair<std::string, Tensor>>& more) {
    std::vector<std::pair<std::string, Tensor>> all = {{"to_embed.weight", Tensor::zeros({7, 6})},
                                                       {"layers.0.fn.fn.fn.proj_in.0.weight", Tensor::zeros({8, 6})}};
    all.insert(all.end(), more.begin(), more.end());
    save_safetensors(folder / "model.safetensors", all);
    return error_of(folder / "model.safetensors");
  };
  CHECK(
      contains(refused({{"layers.0.fn.fn.fn.sgu.weight", Tensor::zeros({2, 5, 5})}}),
               "sgu.weight belongs to a spatial gate of several heads (heads 2), which weft's gMLP does not support"));
  CHECK(contains(refused({{"layers.0.fn.fn.fn.sgu.weight", Tensor::zeros({1, 5})},
                          {"layers.0.fn.fn.fn.sgu.circulant_pos_x", Tensor::zeros({1, 5})}}),
                 "belongs to a circulant matrix (circulant_matrix), which weft's gMLP does not support"));
}

}  // namespace weft::test
