// Tests of Hugging Face's FNet folders, which weft reads directly.
#include <doctest/doctest.h>

#include "huggingface_fnet_support.h"
#include "weft/checkpoint_format.h"
#include "weft/classifier.h"
#include "weft/fnet.h"

namespace weft::test {

using namespace huggingface_fnet;

TEST_CASE("Hugging Face FNet: every class is read, for either purpose, and its outputs follow its formulas") {
  for (const std::string architecture : architectures_there) {
    CAPTURE(architecture);
    const Folder folder(architecture);
    CHECK(find_checkpoint_format(folder.path) == "huggingface-fnet");
    const Theirs theirs{folder, architecture == "FNetModel" ? "" : "fnet."};
    const Tensor hidden = theirs.hidden(ids_2x5, types_2x5), pooled = theirs.pooled(hidden);
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Checkpoint read = load_checkpoint(folder.path, purpose);
      CHECK(read.info.format == "huggingface-fnet");
      CHECK(read.info.length == length);
      CHECK(read.info.pad_to == 0);
      CHECK(read.tokenizer->kind() == std::string("ids"));
      CHECK(read.tokenizer->special().pad == 3);
      const FnetOutputs ours = dynamic_cast<const Fnet&>(*read.model).run(ids_2x5, types_2x5);
      CHECK(max_difference(ours.hidden, hidden) < 2e-5);
      CHECK(max_difference(ours.pooled, pooled) < 2e-5);
      if (ours.words.defined())
        CHECK(max_difference(ours.words, theirs.words(hidden, folder.of("fnet.embeddings.word_embeddings.weight"))) <
              5e-5);
      CHECK(ours.words.defined() == (architecture == "FNetForMaskedLM" || architecture == "FNetForPreTraining"));
      if (architecture == "FNetForPreTraining" || architecture == "FNetForNextSentencePrediction")
        CHECK(max_difference(ours.classes, theirs.dense("cls.seq_relationship", pooled)) < 2e-5);
      if (architecture == "FNetForSequenceClassification")
        CHECK(max_difference(ours.classes, theirs.dense("classifier", pooled)) < 2e-5);
    }
  }
}

TEST_CASE("Hugging Face FNet: folders that transformers wrote give the outputs that it computed (tests/interop)") {
  for (const std::string name : {"base", "classifier", "pre-training"}) {
    CAPTURE(name);
    const std::string folder = std::string(WEFT_INTEROP) + "/" + name;
    const Checkpoint read = load_checkpoint(folder);
    const SafetensorsFile theirs(folder + "/outputs.safetensors");
    const FnetOutputs ours = dynamic_cast<const Fnet&>(*read.model).run(theirs.load("ids"), theirs.load("types"));
    std::size_t compared = 0;
    for (const auto& [output, tensor] : std::map<std::string, Tensor>{
             {"hidden", ours.hidden}, {"pooled", ours.pooled}, {"words", ours.words}, {"classes", ours.classes}}) {
      if (!theirs.contains(output)) continue;
      ++compared;
      CHECK(max_difference(raw::convert(tensor, DType::f64), theirs.load(output)) < 2e-5);
    }
    CHECK(compared == (name == "pre-training" ? 3 : 2));
    CHECK(theirs.names().size() == compared + 2);
  }
}

TEST_CASE("Hugging Face FNet: labels, classes that the config doesn't name, tensors of older and other files") {
  const Folder classifier("FNetForSequenceClassification");
  CHECK(load_checkpoint(classifier.path).info.labels == std::vector<std::string>{"sad", "glad", "so-so"});
  const Folder next("FNetForNextSentencePrediction");
  CHECK(load_checkpoint(next.path).info.labels == std::vector<std::string>{"follows", "random"});
  for (const std::string architecture : architectures_there) {
    CAPTURE(architecture);
    Folder folder(architecture);
    const std::string before = load_checkpoint(folder.path).model->config();
    folder.config.erase("architectures");
    folder.write();
    CHECK(load_checkpoint(folder.path).model->config() == before);
  }
  Folder old("FNetForMaskedLM");
  const Tensor want = (*load_checkpoint(old.path).model)(ids_2x5);
  old.tensors["fnet.embeddings.position_ids"] = Tensor::zeros({1, length}, DType::i64);
  old.tensors["cls.predictions.decoder.weight"] = old.of("fnet.embeddings.word_embeddings.weight");
  old.tensors["cls.predictions.decoder.bias"] = old.of("cls.predictions.bias");
  old.write();
  const Checkpoint read = load_checkpoint(old.path);
  CHECK(max_difference((*read.model)(ids_2x5), want) == 0);
  REQUIRE(read.info.notes.size() == 2);
  CHECK(contains(read.info.notes[1], "fnet.embeddings.position_ids is ignored"));
  old.tensors["cls.predictions.decoder.weight"] = Tensor::zeros({vocabulary, d});
  CHECK(contains(old.error(),
                 "cls.predictions.decoder.weight and fnet.embeddings.word_embeddings.weight both hold "
                 "encoder.embeddings.word.weight, but differ"));
  // If the config says so, the decoder has a separate weight.
  old.config["tie_word_embeddings"] = false;
  REQUIRE(old.error().empty());
  const Checkpoint untied = load_checkpoint(old.path);
  const FnetOutputs outputs = dynamic_cast<const Fnet&>(*untied.model).run(ids_2x5);
  const Theirs theirs{old, "fnet."};
  CHECK(max_difference(outputs.words, theirs.words(outputs.hidden, Tensor::zeros({vocabulary, d}))) < 5e-5);
  // Then the decoder is read with its own bias, and both biases are written.
  old.tensors["cls.predictions.bias"] = Tensor::zeros({vocabulary});
  REQUIRE(old.error().empty());
  const Checkpoint own_bias = load_checkpoint(old.path);
  CHECK(max_difference((*own_bias.model)(ids_2x5), outputs.words) == 0);
  CHECK(contains(own_bias.info.notes.back(), "cls.predictions.bias is ignored"));
  (void)save_checkpoint_as("huggingface-fnet", old.folder / "back", own_bias);
  const SafetensorsFile back(old.folder / "back/model.safetensors");
  for (const char* name : {"cls.predictions.bias", "cls.predictions.decoder.bias"})
    CHECK(back.load(name).to_vector<float>() == old.of("cls.predictions.decoder.bias").to_vector<float>());
  old.tensors.erase("cls.predictions.decoder.weight");
  CHECK(contains(old.error(), "no tensors for these parameters: head.decoder.weight"));
  // A masked language model that was saved without the pooler, which it doesn't use.
  Folder without("FNetForMaskedLM");
  without.tensors.erase("fnet.pooler.dense.weight");
  without.tensors.erase("fnet.pooler.dense.bias");
  CHECK(without.error().empty());
  CHECK(max_difference((*load_checkpoint(without.path).model)(ids_2x5), want) == 0);
}

TEST_CASE("Hugging Face FNet: keys missing in config.json get the defaults of transformers") {
  Folder folder("FNetForMaskedLM");
  const std::string before = load_checkpoint(folder.path).model->config();
  CHECK(contains(before, "\"dropout\":0.1,"));
  for (const char* key : {"hidden_act", "hidden_dropout_prob", "type_vocab_size", "layer_norm_eps", "pad_token_id"}) {
    CAPTURE(key);
    REQUIRE(folder.config.erase(key) == 1);
    folder.write();
    const Checkpoint read = load_checkpoint(folder.path);
    CHECK(read.model->config() == before);
    CHECK(read.tokenizer->special().pad == 3);
  }
}

TEST_CASE("Hugging Face FNet: a bare encoder has no classes; a classifier can be trained from it") {
  const Folder base("FNetModel");
  CHECK_THROWS_WITH((void)Classifier(load_checkpoint(base.path)),
                    doctest::Contains("an encoder whose outputs are features"));
  const Checkpoint from = load_checkpoint(base.path);
  const auto to = make_model({"fnet", Task::classifier, vocabulary, 3, from.model->config_for(Task::classifier)}, {});
  CHECK(copy_parameters(from, *to, {"a", "b", "c"}) ==
        std::vector<std::string>{"classifier.weight", "classifier.bias"});
}

}  // namespace weft::test
