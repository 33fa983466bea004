#include "weft/fnet.h"

#include <doctest/doctest.h>

#include "op_table.h"

namespace weft::test {
namespace {

const Init init64{Random(5), DType::f64};

NamedParameters parameters_of(const auto& module) {
  NamedParameters all;
  module.collect("", all);
  return all;
}

}  // namespace

TEST_CASE("FNet presets: the base encoder with pooler has 82,861,056 parameters") {
  const auto base = make_model(preset("fnet-base"), Init{});
  NamedParameters parameters = parameters_of(FnetPooler(768, Init{}));
  for (const auto& entry : base->parameters())
    if (entry.first.find("encoder.") == 0) parameters.push_back(entry);
  CHECK(parameter_count(parameters) == 82861056);
  CHECK(parameter_count(base->parameters()) == 82894592);  // no pooler; transform, norm and the decoder's bias
  CHECK(parameter_count(make_model(preset("fnet-classifier"), Init{})->parameters()) == 29788164);
}

TEST_CASE("FNet layer: pre-norm and post-norm as compositions of operations") {
  const Tensor x = random_tensor({{2, 5, 6}}, 1);
  const auto mix = [](const Tensor& v) { return real(fft2(v, 1, 2)); };
  const auto ffn = [](const FnetLayer& layer, const Tensor& v) {
    return linear(activation(linear(v, layer.proj1.weight, layer.proj1.bias), Activation::gelu_tanh), layer.proj2.weight, layer.proj2.bias);
  };
  const FnetLayer post(6, 9, NormPlace::post, init64), pre(6, 9, NormPlace::pre, init64);
  Tensor y = post.mixing_norm(add(x, mix(x)));
  y = post.output_norm(add(y, ffn(post, y)));
  CHECK(max_difference(post(x), y) < 1e-12);
  y = add(x, mix(pre.mixing_norm(x)));
  y = add(y, ffn(pre, pre.output_norm(y)));
  CHECK(max_difference(pre(x), y) < 1e-12);
}

TEST_CASE("FNet layer: gradients") {
  for (NormPlace place : {NormPlace::post, NormPlace::pre}) {
    const FnetLayer layer(4, 7, place, init64, 1e-5);
    const Function f = [&](const std::vector<Tensor>& in) { return layer(in[0]); };
    CHECK(gradient_error(f, {random_tensor({{2, 5, 4}}, 3)}, parameters_of(layer)) <= 1e-6);
  }
}

TEST_CASE("FNet models: gradients, shapes, padding length") {
  const std::string config = R"({"d_model":4,"d_ffn":6,"layers":2,"seq_len":5,"eps":1e-5})";
  const Tensor tokens = Tensor::from<std::int64_t>({2, 3, 1, 0, 2, 4}, {2, 3});
  for (Task task : {Task::masked_lm, Task::classifier}) {
    const auto model = make_model({"fnet", task, 7, 3, config}, init64);
    const Function f = [&](const std::vector<Tensor>& in) { return (*model)(in[0]); };
    CHECK(f({tokens}).shape() == (task == Task::masked_lm ? Shape{2, 3, 7} : Shape{2, 3}));
    CHECK(gradient_error(f, {tokens}, model->parameters()) <= 1e-6);
    CHECK_THROWS_AS((*model)(Tensor::zeros({1, 6}, DType::i64)), Error);
    CHECK_THROWS_AS((*model)(Tensor::zeros({1, 0}, DType::i64)), Error);
    CHECK_THROWS_AS((*model)(Tensor::full({1, 2}, 7, DType::i64)), Error);
    CHECK_THROWS_AS(model->stream(), Error);
  }
}

TEST_CASE("FNet: configs that are refused") {
  CHECK_THROWS_WITH_AS(make_model({"fnet", Task::causal_lm, 7, 0, "{}"}, Init{}),
                       "[fnet] it can't be a causal-lm, its tasks are masked-lm, classifier", Error);
  CHECK_THROWS_WITH_AS(Fnet({"fnet", Task::causal_lm, 7, 0, "{}"}, Init{}),
                       "[fnet] a causal language model is refused: the Fourier mixing sees the future; train a masked-lm or a classifier",
                       Error);
  CHECK_THROWS_WITH_AS(make_model({"fnet", Task::masked_lm, 7, 0, R"({"norm":"both"})"}, Init{}),
                       "[norm place] expected one of pre, post, got \"both\"", Error);
  for (const char* config : {R"({"d_model":0})", R"({"dropout":1})", R"({"activation":"what"})", R"({"eps":0})",
                             R"({"depth":3})", R"({"layers":"two"})", R"([])", R"({)", R"({"d_model":4611686018427387904})"})
    CHECK_THROWS_AS(make_model({"fnet", Task::masked_lm, 7, 0, config}, Init{}), Error);
}

}  // namespace weft::test
