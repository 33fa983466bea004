// Tests of edge cases of other programs' checkpoints: folders that held another model, models without labels, forged
// files.
#include <doctest/doctest.h>

#include <filesystem>

#include "temporary_folder.h"
#include "weft/checkpoint_format.h"
#include "weft/classifier.h"
#include "weft/fnet.h"
#include "weft/weft_c.h"

namespace weft::test {
namespace {

Checkpoint classifier(const std::string& config, std::int64_t classes) {
  Checkpoint made;
  made.model = make_model({"fnet", Task::classifier, 40, classes, config}, Init{Random(3)});
  made.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":3})");
  return made;
}

}  // namespace

TEST_CASE("Hugging Face FNet: a folder's previous tokenizer is removed with its model") {
  const TemporaryFolder folder;
  folder.write("out/spiece.model", "of another model");
  folder.write("out/tokenizer_config.json", "{}");
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", classifier(R"({"d_model":8})", 3));
  CHECK(!std::filesystem::exists(folder / "out/spiece.model"));
  CHECK(!std::filesystem::exists(folder / "out/tokenizer_config.json"));
  CHECK(load_checkpoint(folder / "out").tokenizer->kind() == std::string("ids"));
}

TEST_CASE("Hugging Face FNet: labels without names are numbers; a classifier has no decoder, tied or not") {
  const TemporaryFolder folder;
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", classifier(R"({"d_model":8,"tied":false})", 4));
  CHECK(load_checkpoint(folder / "out").info.labels == std::vector<std::string>{"1", "2", "3", "4"});
  Checkpoint wrong = classifier(R"({"d_model":8})", 2);
  wrong.info.labels = {"a", "\xff"};
  CHECK_THROWS_AS((void)save_checkpoint_as("huggingface-fnet", folder / "wrong", wrong), Error);
}

TEST_CASE("Hugging Face FNet: an encoder whose outputs are features also runs in the C interface") {
  const TemporaryFolder folder;
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", classifier(R"({"d_model":8,"head":"pooler"})", 8));
  weft_model* model = nullptr;
  REQUIRE(weft_load((folder / "out").c_str(), &model) == WEFT_OK);
  const std::int64_t tokens[2] = {1, 2};
  float features[8];
  CHECK(weft_run(model, tokens, 1, 2, features, 8, nullptr) == WEFT_OK);
  const char* const text = "1 2";
  double probabilities[8];
  CHECK(weft_classify(model, &text, 1, probabilities, 8, nullptr) == WEFT_FAILED);
  CHECK(std::string(weft_last_error()).find("whose outputs are features") != std::string::npos);
  weft_model_free(model);
}

TEST_CASE("Hugging Face FNet: a classifier of ids has logits in the C interface, but can't classify texts") {
  const TemporaryFolder folder;
  (void)save_checkpoint_as("huggingface-fnet", folder / "out", classifier(R"({"d_model":8})", 3));
  CHECK(Classifier::why_not(load_checkpoint(folder / "out")) ==
        "the model's folder has neither a spiece.model nor a tokenizer.json, so texts can't be tokenized: copy the "
        "original files into it");
  CHECK(Classifier::why_not(classifier(R"({"d_model":8})", 3)) ==
        "the tokenizer of the checkpoint, ids, was not made for a classifier");
  weft_model* model = nullptr;
  REQUIRE(weft_load((folder / "out").c_str(), &model) == WEFT_OK);
  const std::int64_t tokens[2] = {1, 2};
  float logits[3];
  CHECK(weft_run(model, tokens, 1, 2, logits, 3, nullptr) == WEFT_OK);
  weft_model_free(model);
}

TEST_CASE("labml gMLP: a table of positions with the largest number of rows in a file, but no elements") {
  const TemporaryFolder folder;
  save_safetensors(folder / "m.safetensors",
                   {{"src_embed.linear.weight", Tensor::zeros({5, 0})},
                    {"src_embed.positional_encodings", Tensor::zeros({std::int64_t{1} << 57, 1, 0})},
                    {"encoder.layers.0.proj1.weight", Tensor::zeros({8, 0})},
                    {"encoder.layers.0.sgu.weight", Tensor::zeros({4, 4})}});
  CHECK_THROWS_AS((void)load_checkpoint_as("labml-gmlp", folder / "m.safetensors"), Error);
}

TEST_CASE("forms: no format can represent padded rows, and weft reports this") {
  const TemporaryFolder folder;
  const auto has = [](const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
  };
  const auto note_of = [&](const std::string& to, const std::string& config, std::int64_t pad_to) {
    Checkpoint checkpoint;
    checkpoint.model = make_model({"fnet", Task::classifier, 7, 3, config}, {});
    checkpoint.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":7,"pad":3})");
    checkpoint.info.pad_to = pad_to;
    std::string all;
    for (const std::string& note : save_checkpoint_as(to, folder / to, checkpoint)) all += note + "\n";
    return all;
  };
  const std::string usual = R"({"d_model":4,"layers":1,"seq_len":8})";
  const std::string labml =
      R"({"d_model":4,"layers":1,"seq_len":8,"norm":"pre","activation":"relu","eps":1e-5,"embeddings":"sinusoidal","head":"last"})";
  CHECK(has(note_of("huggingface-fnet", usual, 8), "rows were padded to 8 tokens"));
  CHECK(has(note_of("huggingface-fnet", usual, 8), "use --pad-to 8"));
  CHECK(has(note_of("labml-fnet", labml, 6), "use --pad-to 6"));
  CHECK(!has(note_of("huggingface-fnet", usual, 0), "--pad-to"));
  CHECK(!has(note_of("labml-fnet", labml, 0), "--pad-to"));
}

}  // namespace weft::test
