// Tests of writing Hugging Face's FNet folders.
#include <doctest/doctest.h>

#include "huggingface_fnet_support.h"
#include "weft/checkpoint_format.h"
#include "weft/fnet.h"

namespace weft::test {

using namespace huggingface_fnet;

TEST_CASE("Hugging Face FNet: every class that is read and written back has the same tensors and config") {
  for (const std::string architecture : architectures_there) {
    CAPTURE(architecture);
    const Folder folder(architecture);
    const Checkpoint read = load_checkpoint(folder.path);
    const std::string back = folder.folder / "back";
    const auto notes = save_checkpoint_as("huggingface-fnet", back, read);
    CHECK(notes ==
          std::vector<std::string>{"this format can't store the tokenizer (ids): pass token ids to the model"});
    const SafetensorsFile file(back + "/model.safetensors");
    CHECK(file.metadata().at("format") == "pt");
    CHECK(file.names().size() == folder.tensors.size());
    for (const auto& [key, tensor] : folder.tensors) {
      const std::string& name = key;  // lambdas of clang 14 can't capture structured bindings
      CAPTURE(name);
      REQUIRE(file.contains(name));
      CHECK(file.load(name).to_vector<float>() == tensor.to_vector<float>());
    }
    const Json config = Json::parse(folder.folder.read("back/config.json"));
    for (const auto& entry : folder.config.items()) {
      CAPTURE(entry.key());
      if (entry.key() == "transformers_version") continue;
      REQUIRE(config.contains(entry.key()));
      CHECK(config[entry.key()] == entry.value());
    }
    // The model also survives a save in weft's own format.
    save_checkpoint(folder.folder / "own", *read.model, *read.tokenizer, read.info);
    const Checkpoint own = load_checkpoint(folder.folder / "own");
    CHECK(own.info.format.empty());
    CHECK(max_difference((*own.model)(ids_2x5), (*read.model)(ids_2x5)) == 0);
    (void)save_checkpoint_as("huggingface-fnet", folder.folder / "again", own);
    CHECK(folder.folder.read("again/model.safetensors") == folder.folder.read("back/model.safetensors"));
    CHECK(folder.folder.read("again/config.json") == folder.folder.read("back/config.json"));
  }
}

TEST_CASE("Hugging Face FNet: weft's own FNets are written, unless the format can't represent them") {
  const TemporaryFolder folder;
  const auto tokenizer = tokenizer_from_json(R"({"unit":"ids","size":11})");
  const auto made = [&](const FnetConfig& config, Task task, std::int64_t classes = 0) {
    Checkpoint checkpoint;
    checkpoint.model = make_model(model_spec(config, task, vocabulary, classes), Init{Random(1)});
    checkpoint.tokenizer = tokenizer;
    return checkpoint;
  };
  FnetConfig config;
  config.d_model = d;
  config.seq_len = length;
  config.activation = "relu";
  const Checkpoint lm = made(config, Task::masked_lm);
  const auto notes = save_checkpoint_as("huggingface-fnet", folder / "lm", lm);
  REQUIRE(notes.size() == 2);
  CHECK(contains(notes[0], "the model has no pooler"));
  const Checkpoint back = load_checkpoint(folder / "lm");
  CHECK(max_difference((*back.model)(ids_2x5), (*lm.model)(ids_2x5)) == 0);
  CHECK(contains(back.model->config(), R"("activation":"relu")"));
  const auto refused = [&](const Checkpoint& checkpoint) {
    const std::string error =
        error_of([&] { (void)save_checkpoint_as("huggingface-fnet", folder / "no", checkpoint); });
    CHECK_FALSE(std::filesystem::exists(folder / "no"));
    return error;
  };
  FnetConfig pre = config;
  pre.norm = "pre";
  CHECK(contains(refused(made(pre, Task::masked_lm)), "the format does not support norms placed \"pre\""));
  FnetConfig act = config;
  act.activation = "2+elu";
  CHECK(contains(refused(made(act, Task::masked_lm)), "the format does not support the activation 2+elu"));
  Checkpoint gmlp;
  gmlp.model = make_model({"gmlp", Task::causal_lm, 11, 0, R"({"d_model":6})"}, {});
  gmlp.tokenizer = tokenizer;
  CHECK(contains(refused(gmlp), "the format is for FNet, but this model has the architecture gmlp"));
}

}  // namespace weft::test
