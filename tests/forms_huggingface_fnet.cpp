// Hugging Face's FNet folders: read as they are, refused by name, written back.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint_form.h"
#include "weft/classifier.h"
#include "weft/fill_mask.h"
#include "weft/fnet.h"

namespace weft::test {
namespace {

using Json = nlohmann::ordered_json;
using Tensors = std::map<std::string, Tensor>;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr std::int64_t vocabulary = 11, d = 6, d_ffn = 10, layers = 2, length = 8, types = 4;

Json small_config(const std::string& architecture) {
  return {{"architectures", {architecture}},
          {"model_type", "fnet"},
          {"vocab_size", vocabulary},
          {"hidden_size", d},
          {"num_hidden_layers", layers},
          {"intermediate_size", d_ffn},
          {"hidden_act", "gelu_new"},
          {"hidden_dropout_prob", 0.1},
          {"max_position_embeddings", length},
          {"type_vocab_size", types},
          {"layer_norm_eps", 1e-12},
          {"pad_token_id", 3},
          {"bos_token_id", 1},
          {"initializer_range", 0.02},
          {"transformers_version", "4.13.0.dev0"}};
}

// Of transformers' modeling_fnet.py: every tensor of the class, by its name there.
Tensors small_tensors(const std::string& architecture) {
  Tensors all;
  std::uint64_t seed = 1;
  const std::string base = architecture == "FNetModel" ? "" : "fnet.";
  const auto add = [&](const std::string& name, const Shape& shape) {
    all[name] = Random(seed++).uniform(shape, -1, 1, DType::f32);
  };
  const auto linear = [&](const std::string& name, std::int64_t in, std::int64_t out) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".weight", {d});
    add(name + ".bias", {d});
  };
  add(base + "embeddings.word_embeddings.weight", {vocabulary, d});
  add(base + "embeddings.position_embeddings.weight", {length, d});
  add(base + "embeddings.token_type_embeddings.weight", {types, d});
  norm(base + "embeddings.LayerNorm");
  linear(base + "embeddings.projection", d, d);
  for (int i = 0; i < layers; ++i) {
    const std::string layer = base + "encoder.layer." + std::to_string(i);
    norm(layer + ".fourier.output.LayerNorm");
    linear(layer + ".intermediate.dense", d, d_ffn);
    linear(layer + ".output.dense", d_ffn, d);
    norm(layer + ".output.LayerNorm");
  }
  linear(base + "pooler.dense", d, d);
  if (architecture == "FNetForMaskedLM" || architecture == "FNetForPreTraining") {
    linear("cls.predictions.transform.dense", d, d);
    norm("cls.predictions.transform.LayerNorm");
    add("cls.predictions.bias", {vocabulary});
  }
  if (architecture == "FNetForPreTraining" || architecture == "FNetForNextSentencePrediction")
    linear("cls.seq_relationship", d, 2);
  if (architecture == "FNetForSequenceClassification") linear("classifier", d, 3);
  return all;
}

const char* const architectures_there[] = {"FNetModel", "FNetForMaskedLM", "FNetForPreTraining",
                                           "FNetForNextSentencePrediction", "FNetForSequenceClassification"};

struct Folder {
  TemporaryFolder folder;
  std::string path = folder / "fnet";
  Json config;
  Tensors tensors;

  explicit Folder(const std::string& architecture)
      : config(small_config(architecture)), tensors(small_tensors(architecture)) {
    if (architecture == "FNetForSequenceClassification")
      config["id2label"] = {{"0", "sad"}, {"1", "glad"}, {"2", "so-so"}};
    write();
  }
  void write() const {
    folder.write("fnet/config.json", config.dump(2));
    save_safetensors(path + "/model.safetensors", {tensors.begin(), tensors.end()}, {{"format", "pt"}});
  }
  Tensor of(const std::string& name) const { return tensors.at(name); }
  std::string error() const {
    write();
    return error_of([&] { (void)load_checkpoint(path); });
  }
};

// The class's forward pass, as modeling_fnet.py has it.
struct Theirs {
  const Folder& folder;
  std::string base;

  Tensor dense(const std::string& name, const Tensor& x) const {
    return linear(x, folder.of(name + ".weight"), folder.of(name + ".bias"));
  }
  Tensor norm(const std::string& name, const Tensor& x) const {
    return layer_norm(x, 1, folder.of(name + ".weight"), folder.of(name + ".bias"), 1e-12);
  }
  Tensor hidden(const Tensor& ids, const Tensor& kinds) const {
    const std::string e = base + "embeddings.";
    Tensor x = add(embedding(ids, folder.of(e + "word_embeddings.weight")),
                   embedding(kinds, folder.of(e + "token_type_embeddings.weight")));
    x = add(x, slice(folder.of(e + "position_embeddings.weight"), 0, 0, ids.size(1)));
    x = dense(e + "projection", norm(e + "LayerNorm", x));
    for (int i = 0; i < layers; ++i) {
      const std::string layer = base + "encoder.layer." + std::to_string(i);
      x = norm(layer + ".fourier.output.LayerNorm", add(x, real(fft2(x, 1, 2))));
      const Tensor inner = activation(dense(layer + ".intermediate.dense", x), Activation::gelu_tanh);
      x = norm(layer + ".output.LayerNorm", add(dense(layer + ".output.dense", inner), x));
    }
    return x;
  }
  Tensor pooled(const Tensor& x) const {
    return activation(dense(base + "pooler.dense", reshape(slice(x, 1, 0, 1), {x.size(0), d})), Activation::tanh);
  }
  Tensor words(const Tensor& x, const Tensor& decoder) const {
    const Tensor h = activation(dense("cls.predictions.transform.dense", x), Activation::gelu_tanh);
    return linear(norm("cls.predictions.transform.LayerNorm", h), decoder, folder.of("cls.predictions.bias"));
  }
};

const Tensor ids_2x5 = Tensor::from<std::int64_t>({4, 7, 5, 9, 5, 4, 8, 10, 5, 3}, {2, 5});
const Tensor types_2x5 = Tensor::from<std::int64_t>({0, 0, 0, 1, 1, 0, 0, 0, 0, 0}, {2, 5});

}  // namespace

TEST_CASE("Hugging Face FNet: every class is read, for either purpose, with the outputs of its own formulas") {
  for (const std::string architecture : architectures_there) {
    CAPTURE(architecture);
    const Folder folder(architecture);
    CHECK(find_checkpoint_form(folder.path) == "huggingface-fnet");
    const Theirs theirs{folder, architecture == "FNetModel" ? "" : "fnet."};
    const Tensor hidden = theirs.hidden(ids_2x5, types_2x5), pooled = theirs.pooled(hidden);
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      const Checkpoint read = load_checkpoint(folder.path, purpose);
      CHECK(read.info.form == "huggingface-fnet");
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

TEST_CASE("Hugging Face FNet: folders that transformers wrote, with the outputs that it computed (tests/interop)") {
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

TEST_CASE("Hugging Face FNet: labels, classes without a name in the config, tensors of older and other files") {
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
  CHECK(contains(read.info.notes[1], "fnet.embeddings.position_ids is left out"));
  old.tensors["cls.predictions.decoder.weight"] = Tensor::zeros({vocabulary, d});
  CHECK(contains(old.error(),
                 "cls.predictions.decoder.weight and fnet.embeddings.word_embeddings.weight are both "
                 "encoder.embeddings.word.weight, and differ"));
  // Where they say so, it is a weight of its own.
  old.config["tie_word_embeddings"] = false;
  REQUIRE(old.error().empty());
  const Checkpoint untied = load_checkpoint(old.path);
  const FnetOutputs outputs = dynamic_cast<const Fnet&>(*untied.model).run(ids_2x5);
  const Theirs theirs{old, "fnet."};
  CHECK(max_difference(outputs.words, theirs.words(outputs.hidden, Tensor::zeros({vocabulary, d}))) < 5e-5);
  // Then it is read with its own bias, and both are written.
  old.tensors["cls.predictions.bias"] = Tensor::zeros({vocabulary});
  REQUIRE(old.error().empty());
  const Checkpoint own_bias = load_checkpoint(old.path);
  CHECK(max_difference((*own_bias.model)(ids_2x5), outputs.words) == 0);
  CHECK(contains(own_bias.info.notes.back(), "cls.predictions.bias is left out"));
  (void)save_checkpoint_as("huggingface-fnet", old.folder / "back", own_bias);
  const SafetensorsFile back(old.folder / "back/model.safetensors");
  for (const char* name : {"cls.predictions.bias", "cls.predictions.decoder.bias"})
    CHECK(back.load(name).to_vector<float>() == old.of("cls.predictions.decoder.bias").to_vector<float>());
  old.tensors.erase("cls.predictions.decoder.weight");
  CHECK(contains(old.error(), "no tensor is named as these parameters: head.decoder.weight"));
  // A masked language model that was saved without the pooler, which it doesn't use.
  Folder without("FNetForMaskedLM");
  without.tensors.erase("fnet.pooler.dense.weight");
  without.tensors.erase("fnet.pooler.dense.bias");
  CHECK(without.error().empty());
  CHECK(max_difference((*load_checkpoint(without.path).model)(ids_2x5), want) == 0);
}

TEST_CASE("Hugging Face FNet: what weft hasn't, and what is missing or damaged, is refused by name") {
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
                   "weft has no \"" + std::string(unknown) + "\", its FNets are FNetForPreTraining, FNetForMaskedLM"));
  CHECK(contains(config("FNetForMaskedLM", "hidden_act", "quick_gelu"), "hidden_act: [activation] expected one of"));
  CHECK(contains(config("FNetForMaskedLM", "hidden_size", "six"), "\"hidden_size\" has the wrong type: \"six\""));
  CHECK(contains(config("FNetForMaskedLM", "hidden_size", 5), "its config asks for (11, 5)"));
  CHECK(contains(config("FNetForMaskedLM", "hidden_size", 1 << 30), "its config asks for a parameter of shape"));
  CHECK(contains(config("FNetForMaskedLM", "num_hidden_layers", 1 << 30), "its config asks for a parameter of shape"));
  CHECK(contains(config("FNetForMaskedLM", "intermediate_size", 0), "expected an intermediate_size"));
  CHECK(contains(config("FNetForMaskedLM", "layer_norm_eps", 0), "finite eps > 0"));
  CHECK(contains(config("FNetForMaskedLM", "num_hidden_layers", 1),
                 "its config asks for none of these tensors: fnet.encoder.layer.1"));
  const std::string classifier = "FNetForSequenceClassification";
  CHECK(contains(config(classifier, "problem_type", "regression"), "weft has no regression (problem_type)"));
  CHECK(contains(config(classifier, "problem_type", "multi_label_classification"), "weft has no multi_label"));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}}), "weft has no regression: expected 2 labels or more"));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}, {"2", "b"}}), "none of \"1\""));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}, {"1", "a"}, {"2", "b"}}), "the label \"a\" twice"));
  CHECK(contains(config(classifier, "id2label", {{"0", "a"}, {"1", "b"}}),
                 "classifier.weight is (3, 6), its config asks for (2, 6)"));
  CHECK(contains(with("FNetModel", [](Folder& f) { f.tensors.erase("pooler.dense.bias"); }),
                 "no tensor is named as these parameters: pooler.dense.bias"));
  CHECK(contains(with("FNetModel", [](Folder& f) { f.tensors["colour"] = Tensor::zeros({1}); }),
                 "its config asks for none of these tensors: colour"));
  CHECK(contains(
      with("FNetModel", [](Folder& f) { f.tensors["embeddings.LayerNorm.bias"] = Tensor::zeros({d}, DType::i64); }),
      "embeddings.LayerNorm.bias (encoder.embeddings.norm.bias) is I64, expected f32"));
  Folder bin("FNetModel");
  std::filesystem::rename(bin.path + "/model.safetensors", bin.path + "/pytorch_model.bin");
  CHECK(contains(error_of([&] { (void)load_checkpoint(bin.path); }), "tools/pt_to_safetensors.py"));
  std::filesystem::remove(bin.path + "/pytorch_model.bin");
  CHECK(contains(error_of([&] { (void)load_checkpoint(bin.path); }), "model.safetensors"));
  bin.folder.write("fnet/config.json", R"({"model_type":"bert"})");
  CHECK(find_checkpoint_form(bin.path).empty());
  bin.folder.write("fnet/config.json", "{");
  CHECK(find_checkpoint_form(bin.path).empty());
}

TEST_CASE("Hugging Face FNet: written back, every class has the tensors and the config that it came with") {
  for (const std::string architecture : architectures_there) {
    CAPTURE(architecture);
    const Folder folder(architecture);
    const Checkpoint read = load_checkpoint(folder.path);
    const std::string back = folder.folder / "back";
    const auto notes = save_checkpoint_as("huggingface-fnet", back, read);
    CHECK(notes == std::vector<std::string>{"the tokenizer, ids, has no place there: give the model ids"});
    const SafetensorsFile file(back + "/model.safetensors");
    CHECK(file.metadata().at("format") == "pt");
    CHECK(file.names().size() == folder.tensors.size());
    for (const auto& [key, tensor] : folder.tensors) {
      const std::string& name = key;  // what clang 14's lambdas can hold
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
    // And through weft's own form.
    save_checkpoint(folder.folder / "own", *read.model, *read.tokenizer, read.info);
    const Checkpoint own = load_checkpoint(folder.folder / "own");
    CHECK(own.info.form.empty());
    CHECK(max_difference((*own.model)(ids_2x5), (*read.model)(ids_2x5)) == 0);
    (void)save_checkpoint_as("huggingface-fnet", folder.folder / "again", own);
    CHECK(folder.folder.read("again/model.safetensors") == folder.folder.read("back/model.safetensors"));
    CHECK(folder.folder.read("again/config.json") == folder.folder.read("back/config.json"));
  }
}

TEST_CASE("Hugging Face FNet: weft's own FNets are written, unless it has no place for what they are") {
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
  CHECK(contains(refused(made(pre, Task::masked_lm)), "it has no norms of the place \"pre\""));
  FnetConfig act = config;
  act.activation = "2+elu";
  CHECK(contains(refused(made(act, Task::masked_lm)), "it has no activation 2+elu"));
  Checkpoint gmlp;
  gmlp.model = make_model({"gmlp", Task::causal_lm, 11, 0, R"({"d_model":6})"}, {});
  gmlp.tokenizer = tokenizer;
  CHECK(contains(refused(gmlp), "it is of FNets, this is a gmlp"));
}

TEST_CASE("Hugging Face FNet: an encoder alone isn't asked for classes; one is trained that begins with it") {
  const Folder base("FNetModel");
  CHECK_THROWS_WITH((void)Classifier(load_checkpoint(base.path)), doctest::Contains("an encoder without a classifier"));
  const Checkpoint from = load_checkpoint(base.path);
  const auto to = make_model({"fnet", Task::classifier, vocabulary, 3, from.model->config_for(Task::classifier)}, {});
  CHECK(copy_parameters(from, *to, {"a", "b", "c"}) ==
        std::vector<std::string>{"classifier.weight", "classifier.bias"});
}

TEST_CASE("checkpoint forms: the table, a form of a program's own") {
  CHECK(checkpoint_forms().front() == "weft");
  CHECK_THROWS_WITH((void)checkpoint_form("onnx"),
                    doctest::Contains("unknown form \"onnx\", expected one of weft, hugg"));
  CheckpointForm form;
  form.name = "nothing";
  CHECK_THROWS_WITH(register_checkpoint_form(form), doctest::Contains("reads or writes it"));
  form.load = [](const std::string&, const LoadOptions&) { return Checkpoint(); };
  form.holds = [](const std::string& path) { return contains(path, "nothing-in-particular"); };
  register_checkpoint_form(form);
  CHECK_THROWS_WITH(register_checkpoint_form(form), "[checkpoint] the name \"nothing\" is taken");
  CHECK(find_checkpoint_form("/x/nothing-in-particular") == "nothing");
  CHECK_THROWS_WITH((void)load_checkpoint("/x/nothing-in-particular"), doctest::Contains("gave no model"));
  CHECK_THROWS_WITH((void)save_checkpoint_as("nothing", "x", Checkpoint()),
                    "[checkpoint] \"nothing\" is read, not written");
}

}  // namespace weft::test
