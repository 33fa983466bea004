// Tests of labml-nn's FNet classifier, stored as a state dict: its outputs, refusals and round trips.
#include "state_dict_folder.h"
#include "weft/fnet.h"

namespace weft::test {
namespace {

StateDict fnet() { return {"labml-fnet", "labml-fnet"}; }

std::string with_tensor(const std::string& name, const Shape& shape) {
  StateDict all = fnet();
  all.tensors[name] = Tensor::full(shape, 0.5);
  return all.error();
}

}  // namespace

TEST_CASE("labml's FNet: the outputs that its modules computed (tests/interop), and round trips") {
  StateDict state = fnet();
  for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
    const Checkpoint read = state.read(purpose);
    CHECK(read.model->task() == Task::classifier);
    CHECK(read.model->outputs() == 3);
    CHECK(read.model->max_length() == 12);  // the number of rows in its table
    CHECK(state.distance(read) < 2e-5);
    REQUIRE(read.info.notes.size() == 4);
    CHECK(contains(read.info.notes[0], "src_embed.positional_encodings is ignored"));
    CHECK(contains(read.info.notes[2], "weft assumes relu"));
    CHECK(contains(read.info.notes[3], "rows end with [CLS]"));
  }
  const TemporaryFolder folder;
  Checkpoint read = state.read();
  read.info.labels = {"a", "b", "c"};
  folder.write("back/config.json", "{}");  // belongs to another model
  const auto notes = save_checkpoint_as("labml-fnet", folder / "back", read);
  CHECK_FALSE(std::filesystem::exists(folder / "back/config.json"));
  REQUIRE(notes.size() == 2);
  CHECK(notes[1] == "this format can't store the labels, which are, in order: a, b, c");
  const SafetensorsFile back(folder / "back/model.safetensors");
  const Tensor positions = back.load("src_embed.positional_encodings");  // as many rows as labml's table has
  CHECK(positions.shape() == Shape{5000, 1, 6});
  CHECK(max_difference(slice(positions, 0, 0, 12), state.tensors.at("src_embed.positional_encodings")) < 1e-6);
  state.tensors["src_embed.positional_encodings"] = positions;
  const Checkpoint longer = state.read();
  CHECK(longer.model->max_length() == 5000);
  CHECK(state.distance(longer) < 2e-5);
  state.check_back(longer);
  state.tensors.erase("src_embed.positional_encodings");
  CHECK(state.read().model->config() == longer.model->config());
}

TEST_CASE("labml's FNet: unsupported parts are refused by name, in both directions") {
  const std::string layer = "encoder.layers.0.";
  CHECK(contains(with_tensor(layer + "self_attn.query.linear.weight", {6, 6}),
                 "belongs to attention in place of the Fourier"));
  CHECK(contains(with_tensor(layer + "feed_forward.linear_v.weight", {10, 6}),
                 "belongs to a gated feed-forward network"));
  CHECK(contains(with_tensor(layer + "src_attn.query.linear.weight", {6, 6}),
                 "belongs to attention to another sequence"));
  CHECK(contains(with_tensor("src_embed.positional_encodings", {12, 1, 6}),
                 "has learned positions, but weft's FNet supports only sinusoidal positions"));
  CHECK(contains(with_tensor("what.weight", {6}), "tensors that the config does not require: what.weight"));
  StateDict fewer = fnet();
  fewer.tensors.erase("encoder.layers.1.norm_ff.bias");
  CHECK(contains(fewer.error(), "no tensors for these parameters: encoder.layers.1.output_norm.bias"));
  CHECK(contains(fnet().error(of_task(Task::masked_lm)), "labml-fnet does not support the task masked-lm"));

  FnetConfig config = config_from_json<FnetConfig>("fnet", fnet().read().model->config());
  const auto refused_of = [&](const FnetConfig& changed) {
    return refused("labml-fnet", model_spec(changed, Task::classifier, 9, 3));
  };
  const auto changed = [&](auto change) {
    FnetConfig other = config;
    change(other);
    return refused_of(other);
  };
  CHECK(contains(changed([](FnetConfig& c) { c.head = "task"; }), "does not support the head \"task\""));
  CHECK(
      contains(changed([](FnetConfig& c) { c.embeddings = "bert"; }), "does not support embeddings of the kind bert"));
  CHECK(contains(changed([](FnetConfig& c) { c.norm = "post"; }), "the format does not support norms placed \"post\""));
  CHECK(contains(changed([](FnetConfig& c) { c.activation = "gelu"; }),
                 "the format does not support the activation gelu"));
  CHECK(contains(changed([](FnetConfig& c) { c.eps = 1e-12; }),
                 "the format does not support an eps of norms other than 1e-5"));
  config.head = "task";
  CHECK(contains(refused("labml-fnet", model_spec(config, Task::masked_lm, 9)),
                 "the format does not support the task masked-lm"));
  config.norm = "post";
  CHECK(contains(refused("huggingface-fnet", model_spec(config, Task::masked_lm, 9)),
                 "the format does not support sinusoidal embeddings"));
}

}  // namespace weft::test
