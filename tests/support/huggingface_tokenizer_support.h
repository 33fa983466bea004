// The tokenizer.json of Hugging Face's FNet, as several versions of transformers write it.
#pragma once
#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>

#include "fnet_tokenizer_support.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint_format.h"
#include "weft/fnet.h"

namespace weft::test::fnet_pieces {

// A folder whose only tokenizer file is a tokenizer.json.
struct Alone {
  TemporaryFolder folder;
  std::string path = folder / "fnet";
  Json json;

  explicit Alone(const std::shared_ptr<const Tokenizer>& tokenizer) {
    register_sentencepiece();
    FnetConfig config;
    config.d_model = 8;
    Checkpoint checkpoint;
    checkpoint.model = make_model(model_spec(config, Task::masked_lm, tokenizer->size()), {});
    checkpoint.tokenizer = tokenizer;
    (void)save_checkpoint_as("huggingface-fnet", path, checkpoint);
    std::filesystem::remove(path + "/spiece.model");
    std::filesystem::remove(path + "/tokenizer_config.json");
    json = Json::parse(folder.read("fnet/tokenizer.json"));
  }
  std::shared_ptr<const Tokenizer> read() const {
    folder.write("fnet/tokenizer.json", json.dump());
    return load_checkpoint(path).tokenizer;
  }
  std::string error() const {
    return error_of([&] { (void)read(); });
  }
};

// Changes `json` to the form that transformers 5 writes. The pipeline is "words" for FNetTokenizer(vocab=...). If there
// is only a spiece.model, it is "spaces" (5.23) or "pieces" (5.24).
inline void pass_through(Json& json, const std::string& pipeline) {
  const auto replace = [](const char* kind, const char* what, const char* by) {
    return Json{{"type", "Replace"}, {"pattern", {{kind, what}}}, {"content", by}};
  };
  Json& steps = json["normalizer"]["normalizers"];
  const Json characters =
      *std::find_if(steps.begin(), steps.end(), [](const Json& s) { return s["type"] == "Precompiled"; });
  const Json word = {{"type", "Metaspace"}, {"replacement", "\u2581"}, {"prepend_scheme", "always"}, {"split", true}};
  for (Json& piece : json["model"]["vocab"])
    if (piece[1].get<float>() < -100.f) piece[1] = piece[1].get<float>() + 100.f;
  json["added_tokens"][6]["lstrip"] = false;
  if (pipeline == "words") {
    steps.erase(steps.size() - 1);
    json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", {{{"type", "WhitespaceSplit"}}, word}}};
    return;
  }
  json["post_processor"] = Json::parse(R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A","type_id":0}}],)"
                                       R"("pair":[{"Sequence":{"id":"A","type_id":0}},)"
                                       R"({"Sequence":{"id":"B","type_id":1}}],"special_tokens":{}})");
  if (pipeline == "spaces") {
    steps = {characters, replace("String", " ", "\u2581")};
    json["pre_tokenizer"] = nullptr;
    return;
  }
  steps = {characters, replace("Regex", "\\A +| +\\z", ""), replace("Regex", " {2,}", " "),
           replace("String", " ", "\u2581"), replace("Regex", "\\A\u2581", "\u2581\u2581")};
  Json whole = word;
  whole["split"] = false;
  json["pre_tokenizer"] = {{"type", "Sequence"}, {"pretokenizers", Json::array({whole})}};
}

}  // namespace weft::test::fnet_pieces
