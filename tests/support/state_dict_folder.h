// Folders with a state dict from tests/interop, which may be changed by the test.
#pragma once
#include <doctest/doctest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "contains.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint_format.h"
#include "weft/safetensors.h"

namespace weft::test {

// The tensors and the config.json, which may be null.
struct StateDict {
  std::string format, name;
  std::map<std::string, Tensor> tensors;
  nlohmann::ordered_json config;
  Tensor ids, out;  // input and output of the other program

  StateDict(const std::string& its_format, const std::string& folder) : format(its_format), name(folder) {
    const std::string path = std::string(WEFT_INTEROP) + "/" + folder;
    const SafetensorsFile file(path + "/model.safetensors"), outputs(path + "/outputs.safetensors");
    for (const std::string& tensor : file.names()) tensors[tensor] = file.load(tensor);
    if (std::filesystem::exists(path + "/config.json"))
      config = nlohmann::ordered_json::parse(std::ifstream(path + "/config.json"));
    ids = outputs.load("ids");
    out = outputs.load("out");
  }

  void write(const std::string& folder) const {
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
    save_safetensors(folder + "/model.safetensors", {tensors.begin(), tensors.end()});
    if (!config.is_null()) std::ofstream(folder + "/config.json") << config;
  }

  Checkpoint read(const LoadOptions& options = {}) const {
    const TemporaryFolder folder;
    write(folder / "in");
    return load_checkpoint_as(format, folder / "in", options);
  }

  // Returns the error message without the folder's path. The message must contain the path.
  std::string error(const LoadOptions& options = {}) const {
    const TemporaryFolder folder;
    write(folder / "in");
    const std::string message = error_of([&] { (void)load_checkpoint_as(format, folder / "in", options); });
    CHECK_MESSAGE(contains(message, folder / "in"), message);
    return message;
  }

  // Returns the difference between the model's output and the other program's output.
  double distance(const Checkpoint& read) const {
    return max_difference(raw::convert((*read.model)(ids), DType::f64), out);
  }

  // Checks that saving in this format writes the same tensors, and that loading them gives the same model.
  void check_back(const Checkpoint& read) const {
    const TemporaryFolder folder;
    (void)save_checkpoint_as(format, folder / "back", read);
    const SafetensorsFile file(folder / "back/model.safetensors");
    CHECK(file.names().size() == tensors.size());
    for (const auto& [key, tensor] : tensors) {
      const std::string& name_there = key;  // lambdas of clang 14 can't capture structured bindings
      CAPTURE(name_there);
      REQUIRE(file.contains(name_there));
      REQUIRE(file.shape(name_there) == tensor.shape());
      CHECK(max_difference(file.load(name_there), tensor) < 1e-6);
    }
    LoadOptions options;
    options.task = read.model->task();
    const Checkpoint again = load_checkpoint_as(format, folder / "back", options);
    CHECK(again.model->config() == read.model->config());
    CHECK(max_difference((*again.model)(ids), (*read.model)(ids)) == 0);
  }
};

inline LoadOptions of_task(Task task) {
  LoadOptions options;
  options.task = task;
  return options;
}

// Returns the error message for a model that a format can't represent. Checks that nothing is written.
inline std::string refused(const std::string& format, const ModelSpec& spec) {
  const TemporaryFolder folder;
  Checkpoint checkpoint;
  checkpoint.model = make_model(spec, {});
  checkpoint.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":)" + std::to_string(spec.vocabulary) + "}");
  const std::string error = error_of([&] { (void)save_checkpoint_as(format, folder / "no", checkpoint); });
  CHECK_FALSE(std::filesystem::exists(folder / "no"));
  return error;
}

}  // namespace weft::test
