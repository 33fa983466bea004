// Folders as transformers writes them for every class of its FNet, and the outputs of each class.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "contains.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/ops.h"
#include "weft/safetensors.h"

namespace weft::test::huggingface_fnet {

using Json = nlohmann::ordered_json;
using Tensors = std::map<std::string, Tensor>;

constexpr std::int64_t vocabulary = 11, d = 6, d_ffn = 10, layers = 2, length = 8, types = 4;

inline Json small_config(const std::string& architecture) {
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

// Returns every tensor of the class, by its name in transformers' modeling_fnet.py.
inline Tensors small_tensors(const std::string& architecture) {
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

inline const char* const architectures_there[] = {"FNetModel", "FNetForMaskedLM", "FNetForPreTraining",
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

// The forward pass of the class, as in modeling_fnet.py.
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

inline const Tensor ids_2x5 = Tensor::from<std::int64_t>({4, 7, 5, 9, 5, 4, 8, 10, 5, 3}, {2, 5});
inline const Tensor types_2x5 = Tensor::from<std::int64_t>({0, 0, 0, 1, 1, 0, 0, 0, 0, 0}, {2, 5});

}  // namespace weft::test::huggingface_fnet
