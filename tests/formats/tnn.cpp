// Tests of state dicts of TNNs by OpenNLPLab's fairseq and by tnn-pytorch: their outputs, the meaning of shapes and
// config.json, and refusals.
#include "weft/tnn.h"
#include "state_dict_folder.h"
#include "weft/quantize.h"

namespace weft::test {
namespace {

using Json = nlohmann::ordered_json;

TnnConfig config_of(const Checkpoint& read) { return config_from_json<TnnConfig>("tnn", read.model->config()); }

StateDict fairseq(const std::string& name = "fairseq-tnn") { return {"fairseq-tnn", name}; }
StateDict pytorch(const std::string& name = "tnn-pytorch") { return {"tnn-pytorch", name}; }

std::string with_tensor(StateDict all, const std::string& name, const Shape& shape = {6}) {
  all.tensors[name] = Tensor::full(shape, 0.5);
  return all.error();
}
std::string without_tensor(StateDict all, const std::string& name) {
  REQUIRE(all.tensors.erase(name) == 1);
  return all.error();
}
std::string with_argument(StateDict all, const std::string& key, const Json& value) {
  all.config[key] = value;
  return all.error();
}

bool has_note(const Checkpoint& read, const std::string& part) {
  for (const std::string& note : read.info.notes)
    if (contains(note, part)) return true;
  return false;
}

}  // namespace

TEST_CASE("TNN forms: outputs follow their formulas (tests/interop), and round trips") {
  const struct {
    const char *format, *folder;
    Task task;
  } all[] = {{"fairseq-tnn", "fairseq-tnn", Task::causal_lm},
             {"fairseq-tnn", "fairseq-tnn-many", Task::causal_lm},
             {"tnn-pytorch", "tnn-pytorch", Task::causal_lm},
             {"tnn-pytorch", "tnn-pytorch-both-sides", Task::masked_lm},
             {"tnn-pytorch", "tnn-pytorch-classifier", Task::classifier}};
  for (const auto& one : all) {
    CAPTURE(one.folder);
    const StateDict state(one.format, one.folder);
    for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
      LoadOptions options = of_task(one.task);
      options.purpose = purpose;
      const Checkpoint read = state.read(options);
      CHECK(read.model->task() == one.task);
      CHECK(read.info.format == one.format);
      CHECK(state.distance(read) < 2e-5);
    }
    state.check_back(state.read(of_task(one.task)));
  }
  CHECK(pytorch("tnn-pytorch-both-sides").read().model->task() == Task::masked_lm);  // because of "causal"
  CHECK(pytorch().read().model->task() == Task::causal_lm);
}

TEST_CASE("TNN forms: without a config.json, sizes, heads and decay come from the tensors, and the rest has defaults") {
  StateDict state = fairseq();
  state.config = nullptr;
  const Checkpoint read = state.read();
  CHECK(state.distance(read) < 2e-5);
  const TnnConfig config = config_of(read);
  CHECK(config.d_model == 6);
  CHECK(config.layers == 2);
  CHECK(config.heads == 2);
  CHECK(std::floor(config.expand_ratio * 6) == 8);
  CHECK(config.rpe_dim == 3);
  CHECK(config.rpe_layers == 1);
  CHECK(config.glu_dim == 5);
  CHECK(config.use_decay);
  CHECK(config.gamma == static_cast<double>(0.9F));
  CHECK(config.norm_type == "simplermsnorm");
  CHECK(config.final_norm == "layernorm");
  CHECK_FALSE(config.tied);
  CHECK(has_note(read, "there is no config.json"));
  CHECK(has_note(read, "decoder.version is ignored"));
  CHECK(has_note(read, "decoder.layers.1.self_attn.gtu.toep.gamma is ignored"));
  CHECK(read.info.length == 0);
  CHECK(fairseq("fairseq-tnn-many").read().info.length == 16);
  CHECK_FALSE(has_note(fairseq().read(), "config.json"));
}

TEST_CASE("TNN forms: expand_ratio gives the tensors' size, even where a plain quotient would not") {
  // In f64, 15 / 11 · 11 is less than 15.
  const TemporaryFolder folder;
  for (const std::string format : {"fairseq-tnn", "tnn-pytorch"}) {
    Checkpoint wide;
    wide.model = make_model({"tnn", Task::causal_lm, 7, 0,
                             R"({"d_model":11,"expand_ratio":1.4,"layers":1,"use_decay":false,"heads":3,"gamma":0.5})"},
                            Init{});
    wide.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":7})");
    (void)save_checkpoint_as(format, folder / format, wide);
    const Checkpoint read = load_checkpoint_as(format, folder / format);
    const Tensor ids = Tensor::from<std::int64_t>({1, 2, 3, 4, 5}, {1, 5});
    CHECK(std::floor(config_of(read).expand_ratio * 11) == 15);
    CHECK(config_of(read).heads == 3);
    CHECK(max_difference((*read.model)(ids), (*wide.model)(ids)) == 0);
  }
}

TEST_CASE("fairseq's TNN: the head is tied to the embedding if their values are equal or the head is absent") {
  StateDict state = fairseq();
  const Tensor embedding = state.tensors.at("decoder.embed_tokens.weight");
  state.tensors["decoder.output_projection.weight"] = embedding;
  const Checkpoint twice = state.read();
  CHECK(config_of(twice).tied);
  state.tensors.erase("decoder.output_projection.weight");
  const Checkpoint once = state.read();
  CHECK(once.model->config() == twice.model->config());
  CHECK(max_difference((*once.model)(state.ids), (*twice.model)(state.ids)) == 0);
  StateDict two = pytorch();
  two.tensors["head.weight"] = two.tensors.at("embedding.weight");
  CHECK(config_of(two.read()).tied);
  CHECK(two.distance(two.read()) < 2e-5);
}

TEST_CASE("TNN forms: gamma is a constant, or learned if config.json says so") {
  StateDict state = fairseq("fairseq-tnn-many");
  CHECK(config_of(state.read()).use_multi_decay);
  CHECK(config_of(state.read()).gamma == 0.9);
  state.config.erase("use_multi_decay");
  CHECK(contains(state.error(),
                 "decoder.layers.0.self_attn.gtu.toep.gamma isn't constant: if it is learned, put "
                 "\"use_multi_decay\": true and the \"gamma\" of the model's arguments into a config.json"));
  StateDict two = fairseq();
  two.tensors["decoder.layers.1.self_attn.gtu.toep.gamma"] = Tensor::full({2, 1, 4}, 0.5);
  CHECK(contains(two.error(), "decoder.layers.1.self_attn.gtu.toep.gamma isn't constant"));
  CHECK(contains(without_tensor(fairseq(), "decoder.layers.1.self_attn.gtu.toep.gamma"),
                 "some layers have a tensor toep.gamma and some have none"));
  StateDict none = fairseq();
  for (const std::string layer : {"0", "1"})
    none.tensors.erase("decoder.layers." + layer + ".self_attn.gtu.toep.gamma");
  CHECK(contains(none.error(), "config.json\": use_decay is true, but the tensors have false"));
  none.config.erase("use_decay");
  CHECK_FALSE(config_of(none.read()).use_decay);
}

TEST_CASE("fairseq's TNN: unsupported parts are refused by name") {
  const std::string layer = "decoder.layers.0.", gtu = layer + "self_attn.gtu.",
                    not_here = ", which weft's TNN does not support";
  CHECK(contains(with_tensor(fairseq(), gtu + "d"), gtu + "d belongs to resi_param" + not_here));
  CHECK(contains(with_tensor(fairseq(), layer + "final_layer_norm.scale"), "scale belongs to rmsnorm" + not_here));
  StateDict gated = fairseq();
  gated.tensors[layer + "final_layer_norm.scale"] = Tensor::full({6}, 1);
  CHECK(contains(with_tensor(gated, layer + "final_layer_norm.gate"), "gate belongs to gatedrmsnorm" + not_here));
  CHECK(contains(with_tensor(fairseq(), layer + "final_layer_norm.scala"), "scala belongs to scalenorm" + not_here));
  CHECK(contains(without_tensor(fairseq(), layer + "glu.l3.weight"), "has glu_type 2" + not_here));
  CHECK(contains(with_argument(fairseq(), "glu_type", 2), "glu_type 2 means the second kind of gated linear unit"));
  CHECK(contains(with_tensor(fairseq(), gtu + "in_proj.weight"), "(gtu_type 3)" + not_here));
  CHECK(contains(with_argument(fairseq(), "gtu_type", 3), "gtu_type 3 means the third kind of gated Toeplitz unit"));
  CHECK(contains(with_argument(fairseq(), "fina_act", "silu"), "fina_act \"silu\" is an activation after the gated"));
  CHECK(contains(with_argument(fairseq(), "resi_param", true), "resi_param true means a factor of the residual"));
  CHECK(contains(with_tensor(fairseq(), "decoder.embed_tokens.embeddings.0.0.weight"),
                 "belongs to adaptive_input" + not_here));
  CHECK(contains(with_tensor(fairseq(), "decoder.adaptive_softmax.head.weight"),
                 "belongs to an adaptive softmax" + not_here));
  CHECK(
      contains(with_argument(fairseq(), "no_scale_embedding", true), "no_scale_embedding true means embeddings that"));
  CHECK(contains(with_tensor(fairseq(), "encoder.layers.0.fc1.weight"), "belongs to an encoder, or attention to one"));
  CHECK(contains(with_tensor(fairseq(), layer + "encoder_attn.gtu.o.weight"), "belongs to attention to an encoder"));
  CHECK(
      contains(with_tensor(fairseq(), "decoder.embed_positions.weight"), "positions that are added to the embeddings"));
  CHECK(contains(with_argument(fairseq(), "no_token_positional_embeddings", false), "positions that are added"));
  CHECK(contains(with_argument(fairseq(), "decoder_normalize_before", false),
                 "false means norms after each sum" + not_here));
  CHECK(contains(with_argument(fairseq(), "no_decoder_final_norm", true),
                 "true means no norm before the head" + not_here));
  CHECK(contains(with_argument(fairseq(), "causal", false), "causal false means a mixing that sees the future"));
  StateDict bare = fairseq();
  bare.tensors.erase("decoder.layer_norm.weight");
  bare.tensors.erase("decoder.layer_norm.bias");
  CHECK(contains(bare.error(),
                 "there is no tensor decoder.layer_norm.weight: weft's TNN supports neither norms after each sum "
                 "(decoder_normalize_before false) nor no_decoder_final_norm"));
  CHECK(contains(with_tensor(fairseq(), "decoder.version", {1}),
                 "decoder.version has a value for which fairseq leaves out the norm before the head"));
  CHECK(contains(fairseq().error(of_task(Task::masked_lm)), "fairseq-tnn does not support the task masked-lm"));
}

TEST_CASE("TNN forms: entries that are missing, are unknown or contradict the tensors") {
  const std::string layer = "decoder.layers.1.";
  CHECK(contains(without_tensor(fairseq(), layer + "glu.l1.bias"), "no tensors for these parameters"));
  CHECK(contains(with_tensor(fairseq(), "decoder.layernorm_embedding.weight"),
                 "tensors that the config does not require: decoder.layernorm_embedding.weight"));
  CHECK(
      contains(without_tensor(fairseq(), "decoder.layers.0.glu.l1.bias"),
               "some linear layers have a bias and some have none, but in weft's TNN either all or none have a bias"));
  StateDict norms = fairseq();
  norms.tensors["decoder.layers.0.self_attn_layer_norm.weight"] = Tensor::full({6}, 1);
  CHECK(contains(
      norms.error(),
      "have a different kind of norm than their relative position encoders, but weft's TNN supports only one"));
  CHECK(contains(with_argument(fairseq(), "rpe_embedding", 64), "rpe_embedding is 64, but the tensors have 3"));
  CHECK(contains(with_argument(fairseq(), "glu_dim", -1), "glu_dim is 6, but the tensors have 5"));
  CHECK(contains(with_argument(fairseq(), "norm_type", "rmsnorm"),
                 "norm_type is \"rmsnorm\", but the tensors have \"simplermsnorm\""));
  CHECK(contains(with_argument(fairseq(), "act_fun", "tanh"), "config.json\": act_fun \"tanh\": expected none, gelu"));
  CHECK(contains(with_argument(fairseq(), "residual", "yes"), "the value of \"residual\" has the wrong type"));
  CHECK(fairseq().read().model->task() == Task::causal_lm);
  StateDict other = fairseq();
  other.config["decoder_attention_heads"] = nullptr;  // has the same effect as no entry
  other.config["act_fun"] = "None";
  CHECK(config_of(other.read()).act == "none");
  CHECK(config_of(other.read()).heads == 2);
  CHECK(contains(pytorch().error(of_task(Task::masked_lm)), "the value of \"causal\" contradicts the task masked-lm"));
  CHECK(contains(with_tensor(pytorch(), "layers.0.token_mixer.d"),
                 "belongs to resi_param, which weft's TNN does not support"));
  CHECK(contains(with_tensor(pytorch(), "layers.0.token_mixer.pre_norm.weight"), "belongs to an early version's norm"));
  CHECK(contains(with_tensor(pytorch(), "layers.0.token_norm.scale"),
                 "belongs to rmsnorm, which weft's TNN does not support"));
  StateDict nothing = pytorch();
  nothing.tensors = {{"x", Tensor::full({2}, 1)}};
  CHECK(contains(nothing.error(), "embedding.weight"));
}

TEST_CASE("TNN forms: models that the formats can't represent are refused") {
  const auto tnn = [](const std::string& more, Task task = Task::causal_lm) {
    return ModelSpec{"tnn", task, 7, task == Task::classifier ? 3 : 0,
                     R"({"d_model":6,"layers":1,"seq_len":5)" + more + "}"};
  };
  CHECK(contains(refused("fairseq-tnn", tnn("", Task::classifier)),
                 "the format does not support the task classifier; nothing was written"));
  CHECK(contains(refused("fairseq-tnn", tnn("", Task::masked_lm)), "does not support the task masked-lm"));
  CHECK(contains(refused("fairseq-tnn", tnn(R"(,"prenorm":false)")), "does not support norms after the mixers"));
  CHECK(contains(refused("fairseq-tnn", tnn(R"(,"bias":false)")),
                 "does not support gated Toeplitz units without biases"));
  CHECK(contains(refused("fairseq-tnn", tnn(R"(,"final_norm":"simplermsnorm")")),
                 "does not support a norm before the head other than"));
  CHECK(contains(refused("tnn-pytorch", tnn(R"(,"causal":true)", Task::classifier)),
                 "the format does not support causal layers for the task classifier"));
  CHECK(contains(refused("tnn-pytorch", tnn(R"(,"head":"last")", Task::classifier)),
                 "the format does not support the head \"last\""));
  for (const std::string format : {"fairseq-tnn", "tnn-pytorch"}) {
    CHECK(contains(refused(format, tnn(R"(,"par_type":4)")), "the format does not support positions as waves"));
    CHECK(contains(refused(format, tnn(R"(,"use_decay":false,"use_multi_decay":true,"time_scales":9)")),
                   "the format does not support time_scales"));
    CHECK(contains(refused(format, tnn(R"(,"exponentials":3)")), "the format does not support exponentials"));
    CHECK(contains(refused(format, tnn(R"(,"rpe_act":"tanh")")), "the format does not support the activation tanh"));
    CHECK(contains(refused(format, {"gmlp", Task::causal_lm, 7, 0, R"({"d_model":6})"}),
                   "for the architecture tnn, but this model has the architecture gmlp"));
    Checkpoint small;
    small.model = make_model(tnn(""), {});
    small.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":7})");
    quantize(*small.model, Quantization::bf16);
    CHECK(contains(error_of([&] { (void)save_checkpoint_as(format, "/nowhere", small); }), "the model is quantized"));
  }
}

TEST_CASE("TNN forms: files written next to the tensors, and notes") {
  const TemporaryFolder folder;
  Checkpoint made;
  made.model =
      make_model({"tnn", Task::causal_lm, 7, 0, R"({"d_model":6,"layers":2,"gamma":0.99,"act":"leaky_relu"})"}, {});
  made.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":7})");
  made.info.length = 64;
  const auto notes = save_checkpoint_as("fairseq-tnn", folder / "out", made);
  REQUIRE(notes.size() == 2);
  CHECK(notes[1] == "this format stores gamma in f32: 0.99 becomes 0.9900000095367432");
  const SafetensorsFile file(folder / "out/model.safetensors");
  CHECK(file.load("decoder.version").to_vector<float>() == std::vector<float>{3});
  CHECK(file.shape("decoder.layers.1.self_attn.gtu.toep.gamma") == Shape{1, 1, 18});
  CHECK(max_difference(file.load("decoder.output_projection.weight"), file.load("decoder.embed_tokens.weight")) == 0);
  const Json config = Json::parse(folder.read("out/config.json"));
  CHECK(config.at("act_fun") == "leak");
  CHECK(config.at("share_decoder_input_output_embed") == true);
  CHECK(config.at("decoder_normalize_before") == true);
  CHECK(config.at("no_token_positional_embeddings") == true);
  CHECK(config.at("expand_ratio") == 3);
  CHECK(config.at("decoder_layers") == 2);
  CHECK(config.at("tokens_per_sample") == 64);
  const auto again =
      save_checkpoint_as("tnn-pytorch", folder / "out", load_checkpoint_as("fairseq-tnn", folder / "out"));
  CHECK(again.size() == 1);  // gamma is already a number of f32
  const Json other = Json::parse(folder.read("out/config.json"));
  CHECK(other.at("gtu_act") == "leak");
  CHECK(config_of(load_checkpoint_as("tnn-pytorch", folder / "out")).act == "leaky_relu");  // the name that weft uses
  CHECK(other.at("dim") == 6);
  CHECK(other.at("gamma") == static_cast<double>(0.99F));
  CHECK_FALSE(other.contains("decoder_layers"));
}

}  // namespace weft::test
