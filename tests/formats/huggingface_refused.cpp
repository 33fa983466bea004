// Tests of unsupported and damaged FNet folders of Hugging Face. The error names the part that is refused.
#include <doctest/doctest.h>

#include <functional>

#include "huggingface_fnet_support.h"
#include "weft/checkpoint_format.h"

namespace weft::test {

using namespace huggingface_fnet;

TEST_CASE("Hugging Face FNet: unsupported, missing or damaged parts are refused by name") {
  const auto with = [](const std::string& architecture, const std::function<void(Folder&)>& change) {
    Folder folder(architecture);
    change(folder);
    const std::string error = folder.error();
    CHECK(contains(error, folder.path + "/"));
    return error;
  };
  const auto config = [&](const std::string& architecture, const char* key, const Json& value) {
    return with(architecture, [&](Folder& f) { f.config[key] = value; });
  };
  for (const char* unknown : {"FNetForTokenClassification", "FNetForQuestionAnswering", "FNetForMultipleChoice"})
    CHECK(contains(config("FNetModel", "architectures", {unknown}),
                   "weft does not support \"" + std::string(unknown) + "\", only FNetForPreTraining, FNetForMaskedLM"));
  CHECK(contains(config("FNetForMaskedLM", "hidden_act", "quick_gelu"), "hidden_act: [activation] expected one of"));
  CHECK(contains(config("FNetForMaskedLM", "hidden_size", "six"), "\"hidden_size\" has the wrong type: \"six\""));
  CHECK(contains(config("FNetForMaskedLM", "hidden_size", 5), "the config requires (11, 5)"));
  CHECK(contains(config("FNetForMaskedLM", "hidden_size", 1 << 30), "the config requires a parameter of shape"));
  CHECK(contains(config("FNetForMaskedLM", "num_hidden_layers", 1 << 30), "the config requires a parameter of shape"));
  CHECK(contains(config("FNetForMaskedLM", "intermediate_size", 0), "expected an intermediate_size"));
  CHECK(contains(config("FNetForMaskedLM", "layer_norm_eps", 0), "finite eps > 0"));
  CHECK(contains(config("FNetForMaskedLM", "num_hidden_layers", 1),
                 "tensors that the config does not require: fnet.encoder.layer.1"));
  const std::string classifier = "FNetForSequenceClassification";
  CHECK(
      contains(config(classifier, "problem_type", "regression"), "weft does not support the problem_type regression"));
  CHECK(contains(config(classifier, "problem_type", "multi_label_classification"),
                 "weft does not support the problem_type multi_label"));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}}),
                 "weft does not support regression: expected at least 2 labels"));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}, {"2", "b"}}), "none with the key \"1\""));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}, {"1", "a"}, {"2", "b"}}), "the label \"a\" twice"));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}, {"1", "b"}}),
                 "classifier.weight is (3, 6), but the config requires (2, 6)"));
  CHECK(contains(with("FNetModel", [](Folder& f) { f.tensors.erase("pooler.dense.bias"); }),
                 "no tensors for these parameters: pooler.dense.bias"));
  CHECK(contains(with("FNetModel", [](Folder& f) { f.tensors["colour"] = Tensor::zeros({1}); }),
                 "tensors that the config does not require: colour"));
  CHECK(contains(
      with("FNetModel", [](Folder& f) { f.tensors["embeddings.LayerNorm.bias"] = Tensor::zeros({d}, DType::i64); }),
      "embeddings.LayerNorm.bias (encoder.embeddings.norm.bias) is I64, expected f32"));
  Folder bin("FNetModel");
  std::filesystem::rename(bin.path + "/model.safetensors", bin.path + "/pytorch_model.bin");
  CHECK(contains(error_of([&] { (void)load_checkpoint(bin.path); }), "tools/pt_to_safetensors.py"));
  std::filesystem::remove(bin.path + "/pytorch_model.bin");
  CHECK(contains(error_of([&] { (void)load_checkpoint(bin.path); }), "model.safetensors"));
  bin.folder.write("fnet/config.json", R"({"model_type":"bert"})");
  CHECK(find_checkpoint_format(bin.path).empty());
  bin.folder.write("fnet/config.json", "{");
  CHECK(find_checkpoint_format(bin.path).empty());
}

}  // namespace weft::test
