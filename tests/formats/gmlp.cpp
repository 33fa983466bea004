// Tests of state dicts of labml-nn's and g-mlp-pytorch's gMLPs: outputs according to their formulas, refusals, and
// round trips.
#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "contains.h"
#include "formats/name_table.h"
#include "op_table.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint_format.h"
#include "weft/gmlp.h"

namespace weft::test {
namespace {

using Tensors = std::map<std::string, Tensor>;

constexpr std::int64_t vocabulary = 7, d = 6, d_ffn = 8, layers = 2, length = 5;
const double root = std::sqrt(static_cast<double>(d));

Tensor random_values(const Shape& shape) {
  static std::uint64_t seed = 1;
  return Random(seed++).uniform(shape, -1, 1, DType::f32);
}

void add_linear(Tensors& all, const std::string& name, std::int64_t in, std::int64_t out) {
  all[name + ".weight"] = random_values({out, in});
  all[name + ".bias"] = random_values({out});
}

// Adds a norm with random weight and bias.
void add_norm(Tensors& all, const std::string& name, std::int64_t size) {
  all[name + ".weight"] = random_values({size});
  all[name + ".bias"] = random_values({size});
}

// sin and cos of p / 10000^(2i/d), (rows, 1, d)
Tensor positions(std::int64_t rows) {
  std::vector<float> values;
  for (std::int64_t p = 0; p < rows; ++p)
    for (std::int64_t i = 0; i < d; ++i) {
      const double angle = static_cast<double>(p) * std::exp(static_cast<double>(i / 2 * 2) * -std::log(10000.0) / d);
      values.push_back(static_cast<float>(i % 2 == 0 ? std::sin(angle) : std::cos(angle)));
    }
  return Tensor::from(values, {rows, 1, d});
}

Tensors labml_tensors() {
  Tensors all;
  all["src_embed.linear.weight"] = random_values({vocabulary, d});
  all["src_embed.positional_encodings"] = positions(5000);
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "encoder.layers." + std::to_string(i) + ".";
    add_norm(all, layer + "norm", d);
    add_linear(all, layer + "proj1", d, d_ffn);
    add_norm(all, layer + "sgu.norm", d_ffn / 2);
    all[layer + "sgu.weight"] = random_values({length, length});
    all[layer + "sgu.bias"] = random_values({length});
    add_linear(all, layer + "proj2", d_ffn / 2, d);
  }
  add_norm(all, "encoder.norm", d);
  add_linear(all, "generator.projection", d, vocabulary);
  return all;
}

Tensors g_mlp_tensors() {
  Tensors all;
  all["to_embed.weight"] = random_values({vocabulary, d});
  for (int i = 0; i < layers; ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".fn.";
    add_norm(all, layer + "norm", d);
    add_linear(all, layer + "fn.fn.proj_in.0", d, d_ffn);
    add_norm(all, layer + "fn.fn.sgu.norm", d_ffn / 2);
    all[layer + "fn.fn.sgu.weight"] = random_values({1, length, length});
    all[layer + "fn.fn.sgu.bias"] = random_values({1, length});
    add_linear(all, layer + "fn.fn.proj_out", d_ffn / 2, d);
  }
  add_norm(all, "to_logits.0", d);
  add_linear(all, "to_logits.1", d, vocabulary);
  return all;
}

// The formula of a block, with a name for each of its parts. x is (b, n, d).
struct Block {
  const Tensors& all;
  std::string norm, in, gate_norm, weight, bias, out;

  Tensor operator()(const Tensor& x, bool causal) const {
    const std::int64_t n = x.size(1);
    const auto dense = [&](const std::string& name, const Tensor& v) {
      return linear(v, all.at(name + ".weight"), all.at(name + ".bias"));
    };
    const auto normed = [&](const std::string& name, const Tensor& v) {
      return layer_norm(v, 1, all.at(name + ".weight"), all.at(name + ".bias"), 1e-5);
    };
    const Tensor z = activation(dense(in, normed(norm, x)), Activation::gelu);
    const Tensor z1 = slice(z, 2, 0, d_ffn / 2), z2 = normed(gate_norm, slice(z, 2, d_ffn / 2, d_ffn));
    Tensor w = slice(slice(reshape(all.at(weight), {length, length}), 0, 0, n), 1, 0, n);
    if (causal) w = mul(w, reshape(causal_mask(n, DType::f32), {n, n}));
    const Tensor b = reshape(slice(reshape(all.at(bias), {length}), 0, 0, n), {n, 1});
    return add(x, dense(out, mul(z1, add(einsum("ij,bjd->bid", {w, z2}), b))));
  }
};

Tensor head(const Tensors& all, const std::string& norm, const std::string& projection, const Tensor& x) {
  return linear(layer_norm(x, 1, all.at(norm + ".weight"), all.at(norm + ".bias"), 1e-5),
                all.at(projection + ".weight"), all.at(projection + ".bias"));
}

Tensor labml_output(const Tensors& all, const Tensor& ids) {
  const std::int64_t n = ids.size(1);
  Tensor x = scale(embedding(ids, all.at("src_embed.linear.weight")), root);
  x = add(x, reshape(slice(all.at("src_embed.positional_encodings"), 0, 0, n), {n, d}));
  for (int i = 0; i < layers; ++i) {
    const std::string l = "encoder.layers." + std::to_string(i) + ".";
    x = Block{all, l + "norm", l + "proj1", l + "sgu.norm", l + "sgu.weight", l + "sgu.bias", l + "proj2"}(x, true);
  }
  return head(all, "encoder.norm", "generator.projection", x);
}

Tensor g_mlp_output(const Tensors& all, const Tensor& ids, bool causal) {
  Tensor x = embedding(ids, all.at("to_embed.weight"));
  for (int i = 0; i < layers; ++i) {
    const std::string l = "layers." + std::to_string(i) + ".fn.", f = l + "fn.fn.";
    x = Block{all, l + "norm", f + "proj_in.0", f + "sgu.norm", f + "sgu.weight", f + "sgu.bias", f + "proj_out"}(
        x, causal);
  }
  return head(all, "to_logits.0", "to_logits.1", x);
}

struct File {
  TemporaryFolder folder;
  std::string path = folder / "there/model.safetensors";

  std::string write(const Tensors& all) const {
    std::filesystem::create_directories(folder / "there");
    save_safetensors(path, {all.begin(), all.end()});
    return path;
  }
  std::string error(const std::string& format, const Tensors& all, const LoadOptions& options = {}) const {
    write(all);
    const std::string message = error_of([&] { (void)load_checkpoint_as(format, path, options); });
    CHECK(contains(message, path));
    return message;
  }
};

const Tensor ids_2x4 = Tensor::from<std::int64_t>({1, 5, 0, 6, 2, 2, 3, 4}, {2, 4});
const Tensor ids_1x5 = Tensor::from<std::int64_t>({1, 5, 0, 6, 2}, {1, 5});

void check_same_tensors(const std::string& path, const Tensors& all) {
  const SafetensorsFile file(path);
  CHECK(file.names().size() == all.size());
  for (const auto& [key, tensor] : all) {
    const std::string& name = key;  // lambdas of clang 14 can't capture structured bindings
    CAPTURE(name);
    REQUIRE(file.contains(name));
    CHECK(file.shape(name) == tensor.shape());
    CHECK(max_difference(file.load(name), tensor) < 1e-6);
  }
}

}  // namespace

TEST_CASE("names: a table translates in both directions") {
  const std::vector<detail::NamePair> table = {
      {"blocks.*.norm.", "layers.*.fn.norm."}, {"head", "cls.bias"}, {"head", "b"}};
  CHECK(detail::our_name(table, "layers.12.fn.norm.weight") == "blocks.12.norm.weight");
  CHECK(detail::their_name(table, "blocks.3.norm.bias") == "layers.3.fn.norm.bias");
  CHECK(detail::their_name(table, "head") == "cls.bias");
  CHECK(detail::our_name(table, "b") == "head");
  for (const char* other :
       {"layers.x.fn.norm.weight", "layers..fn.norm.weight", "layers.1.fn.normal", "cls.bias.x", "cls", ""})
    CHECK_FALSE(detail::our_name(table, other));
  CHECK(detail::number_in("layers.*.", "layers.7.x") == "7");
  CHECK_FALSE(detail::number_in("layers.*.", "layer.7.x"));
}

TEST_CASE("labml's gMLP: outputs follow its formula, and round trips") {
  const File file;
  const Tensors all = labml_tensors();
  for (const std::string& path : {file.write(all), file.folder / "there"}) {
    const Checkpoint read = load_checkpoint_as("labml-gmlp", path, Purpose::inference);
    CHECK(read.info.format == "labml-gmlp");
    CHECK(read.model->task() == Task::causal_lm);
    REQUIRE(read.info.notes.size() == 2);
    CHECK(contains(read.info.notes[0], "src_embed.positional_encodings is ignored"));
    for (const Tensor& ids : {ids_2x4, ids_1x5})
      CHECK(max_difference((*read.model)(ids), labml_output(all, ids)) < 5e-5);
    (void)save_checkpoint_as("labml-gmlp", file.folder / "back", read);
    check_same_tensors(file.folder / "back/model.safetensors", all);
  }
  Tensors learned = all;
  learned["src_embed.positional_encodings"] = random_values({5000, 1, d});
  CHECK(contains(file.error("labml-gmlp", learned), "src_embed.positional_encodings has learned positions"));
  Tensors more = all;
  more["src_attn.query.weight"] = random_values({2});
  CHECK(contains(file.error("labml-gmlp", more), "tensors that the config does not require: src_attn.query.weight"));
  Tensors fewer = all;
  fewer.erase("encoder.layers.1.proj2.bias");
  CHECK(contains(file.error("labml-gmlp", fewer), "no tensors for these parameters: blocks.1.proj2.bias"));
  CHECK(contains(file.error("labml-gmlp", {{"x", random_values({2})}}), "no tensor is named"));
  LoadOptions masked;
  masked.task = Task::masked_lm;
  CHECK(contains(file.error("labml-gmlp", all, masked), "labml-gmlp does not support the task masked-lm"));
}

TEST_CASE("g-mlp-pytorch: outputs follow its formula, causal or not, and round trips") {
  const File file;
  const Tensors all = g_mlp_tensors();
  for (const Task task : {Task::causal_lm, Task::masked_lm}) {
    LoadOptions options;
    options.task = task;
    const Checkpoint read = load_checkpoint_as("g-mlp-pytorch", file.write(all), options);
    CHECK(read.model->task() == task);
    CHECK(max_difference((*read.model)(ids_1x5), g_mlp_output(all, ids_1x5, task == Task::causal_lm)) < 5e-5);
    const auto notes = save_checkpoint_as("g-mlp-pytorch", file.folder / "back", read);
    REQUIRE(notes.size() == 2);
    CHECK(notes[1] ==
          (task == Task::causal_lm ? "construct the model with causal=True" : "construct the model with causal=False"));
    check_same_tensors(file.folder / "back/model.safetensors", all);
  }
  CHECK(load_checkpoint_as("g-mlp-pytorch", file.write(all)).model->task() == Task::causal_lm);
  Tensors attention = all;
  attention["layers.0.fn.fn.fn.attn.to_qkv.weight"] = random_values({2, 2});
  CHECK(contains(file.error("g-mlp-pytorch", attention),
                 "belongs to tiny attention (attn_dim), which weft's gMLP does not support"));
  Tensors turned = all;
  turned["layers.1.fn.fn.fn.sgu.weight"] = random_values({1, length, length + 1});
  CHECK(contains(file.error("g-mlp-pytorch", turned),
                 "layers.1.fn.fn.fn.sgu.weight (blocks.1.sgu.weight) is (5, 6) after rearranging"));
  LoadOptions classifier;
  classifier.task = Task::classifier;
  CHECK(contains(file.error("g-mlp-pytorch", all, classifier), "g-mlp-pytorch does not support the task classifier"));
}

TEST_CASE("g-mlp-pytorch in bf16: the embedding has been rounded once, by its writer, and weft uses it in f32") {
  const File file;
  Tensors rounded, halves = g_mlp_tensors();
  for (auto& [name, tensor] : halves) {
    tensor = raw::convert(tensor, DType::bf16);
    rounded[name] = raw::convert(tensor, DType::f32);
  }
  const auto embedding_of = [](const Checkpoint& read) {
    for (const auto& [name, parameter] : read.model->parameters())
      if (name == "embedding.weight") return parameter.value();
    return Tensor();
  };
  const Tensor want = embedding_of(load_checkpoint_as("g-mlp-pytorch", file.write(rounded)));
  for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
    const Checkpoint read = load_checkpoint_as("g-mlp-pytorch", file.write(halves), purpose);
    CHECK(same_bits(embedding_of(read), want));
    CHECK(max_difference((*read.model)(ids_1x5), g_mlp_output(rounded, ids_1x5, true)) < 5e-5);
  }
}

TEST_CASE("gMLPs that the two formats can't represent are refused, and nothing is written") {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& format, const std::string& arch, Task task, const std::string& config) {
    Checkpoint checkpoint;
    checkpoint.model = make_model({arch, task, 7, 3, config}, {});
    checkpoint.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":7})");
    const std::string error = error_of([&] { (void)save_checkpoint_as(format, folder / "no", checkpoint); });
    CHECK_FALSE(std::filesystem::exists(folder / "no"));
    return error;
  };
  const std::string positions = R"({"d_model":6,"layers":1,"seq_len":5,"positions":true})";
  const std::string none = R"({"d_model":6,"layers":1,"seq_len":5,"positions":false})";
  CHECK(
      contains(refused("g-mlp-pytorch", "gmlp", Task::causal_lm, positions), "the format has no sinusoidal positions"));
  CHECK(contains(refused("labml-gmlp", "gmlp", Task::causal_lm, none), "the format always has sinusoidal positions"));
  CHECK(contains(refused("labml-gmlp", "gmlp", Task::masked_lm, positions), "does not support the task masked-lm"));
  CHECK(contains(refused("g-mlp-pytorch", "gmlp", Task::classifier, none), "does not support the task classifier"));
  CHECK(contains(refused("labml-gmlp", "gmlp", Task::causal_lm, R"({"d_model":6,"tied":true,"positions":true})"),
                 "the format does not support a head that is tied"));
  CHECK(contains(refused("labml-gmlp", "fnet", Task::masked_lm, R"({"d_model":6})"),
                 "the format is for the architecture gmlp, but this model has the architecture fnet"));
}

}  // namespace weft::test
