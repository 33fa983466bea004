#include "weft/fnet.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "op_table.h"
#include "random_parameters.h"

namespace weft::test {
namespace {

// The parameters of a model or layer by name, and the layers that consist of them.
struct Values {
  std::map<std::string, Tensor> all;
  double eps;

  Values(const NamedParameters& parameters, double epsilon) : eps(epsilon) {
    for (const auto& [name, parameter] : parameters) all[name] = parameter.value();
  }
  const Tensor& of(const std::string& name) const { return all.at(name); }
  Tensor norm(const std::string& name, const Tensor& x) const {
    return layer_norm(x, 1, of(name + ".weight"), of(name + ".bias"), eps);
  }
  Tensor project(const std::string& name, const Tensor& x) const {
    return linear(x, of(name + ".weight"), of(name + ".bias"));
  }
  Tensor embed(const std::string& prefix, const Tensor& tokens, const Tensor& types) const {
    const Tensor position = slice(of(prefix + "position.weight"), 0, 0, tokens.size(1));
    const Tensor words = embedding(tokens, of(prefix + "word.weight"));
    const Tensor sum = add(add(words, position), embedding(types, of(prefix + "type.weight")));
    return project(prefix + "projection", norm(prefix + "norm", sum));
  }
};

const Tensor tokens_2x4 = Tensor::from<std::int64_t>({2, 5, 1, 0, 6, 3, 3, 4}, {2, 4});
const Tensor types_2x4 = Tensor::from<std::int64_t>({0, 1, 2, 1, 2, 2, 0, 1}, {2, 4});

}  // namespace

TEST_CASE("FNet of the paper: the base encoder with pooler has 82,861,056 parameters") {
  Init shapes;
  shapes.shapes_only = true;
  const auto base = make_model(
      {"fnet", Task::masked_lm, 32000, 0, R"({"d_model":768,"d_ffn":3072,"layers":12,"seq_len":512})"}, shapes);
  NamedParameters parameters = parameters_of(FnetPooler(768, shapes));
  for (const auto& entry : base->parameters())
    if (entry.first.find("encoder.") == 0) parameters.push_back(entry);
  CHECK(parameter_count(parameters) == 82861056);
  // the model has no pooler, but has the transform, the norm and the decoder's bias
  CHECK(parameter_count(base->parameters()) == 82894592);
  CHECK(base->config().find(R"("activation":"gelu_tanh","eps":1e-12)") != std::string::npos);  // as in the paper
}

TEST_CASE("FNet encoder: d_ffn 0 means 4 d_model, in an encoder as in a model") {
  FnetConfig config;
  config.d_model = 6;
  config.layers = 1;
  const FnetEncoder encoder(config, 7, init64);
  CHECK(encoder.layers[0].proj1.weight.value().shape() == Shape{24, 6});
  CHECK(encoder(tokens_2x4).shape() == Shape{2, 4, 6});
  const auto model = make_model({"fnet", Task::masked_lm, 7, 0, R"({"d_model":6,"layers":1})"}, init64);
  CHECK(model->config().find("\"d_ffn\":24") != std::string::npos);
}

TEST_CASE("FNet layer: pre-norm and post-norm equal compositions of operations") {
  const Tensor x = random_tensor({{2, 5, 6}}, 1);
  const auto mix = [](const Tensor& v) { return real(fft2(v, 1, 2)); };
  const auto ffn = [](const FnetLayer& layer, const Tensor& v) {
    return linear(activation(linear(v, layer.proj1.weight, layer.proj1.bias), Activation::gelu_tanh),
                  layer.proj2.weight, layer.proj2.bias);
  };
  const FnetLayer post(6, 9, NormPlace::post, init64), pre(6, 9, NormPlace::pre, init64);
  Tensor y = post.mixing_norm(add(x, mix(x)));
  y = post.output_norm(add(y, ffn(post, y)));
  CHECK(max_difference(post(x), y) < 1e-12);
  y = add(x, mix(pre.mixing_norm(x)));
  y = add(y, ffn(pre, pre.output_norm(y)));
  CHECK(max_difference(pre(x), y) < 1e-12);
}

TEST_CASE("FNet embeddings: the sum for token, position and type, normalized with the given eps") {
  for (double eps : {1e-12, 0.5}) {
    const FnetEmbeddings embeddings(7, 5, 3, 6, init64, eps);
    randomize(parameters_of(embeddings));
    const Values p(parameters_of(embeddings), eps);
    CHECK(max_difference(embeddings(tokens_2x4, types_2x4), p.embed("", tokens_2x4, types_2x4)) < 1e-12);
    CHECK(max_difference(embeddings(tokens_2x4), p.embed("", tokens_2x4, Tensor::zeros({2, 4}, DType::i64))) < 1e-12);
    CHECK(max_difference(embeddings(tokens_2x4, types_2x4), embeddings(tokens_2x4)) > 0.1);
  }
}

TEST_CASE("FNet encoder: dropout of the embeddings") {
  FnetConfig config;
  config.d_model = 32;
  config.layers = 0;
  config.dropout = 0.5;
  const FnetEncoder encoder(config, 7, init64);
  const Random random(3);
  const auto dropped = encoder(tokens_2x4, types_2x4, &random).to_vector<double>();
  const auto whole = encoder(tokens_2x4, types_2x4).to_vector<double>();
  int zeros = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CHECK((dropped[i] == 0 || dropped[i] == 2 * whole[i]));
    zeros += dropped[i] == 0;
  }
  CHECK(std::abs(zeros / 256.0 - 0.5) < 0.15);
  CHECK(max_difference(encoder(tokens_2x4, types_2x4), encoder.embeddings(tokens_2x4, types_2x4)) == 0);
}

TEST_CASE("FNet models equal compositions of operations: every norm, activation and eps, random parameters") {
  for (Task task : {Task::masked_lm, Task::classifier})
    for (const std::string norm : {"post", "pre"})
      for (Activation act : {Activation::gelu_tanh, Activation::relu})
        for (double eps : {1e-12, 0.5}) {
          std::string config = R"({"d_model":6,"d_ffn":10,"layers":2,"seq_len":5,"norm":")" + norm + "\"";
          if (act == Activation::relu) config += R"(,"activation":"relu")";
          if (eps == 0.5) config += R"(,"eps":0.5)";
          CAPTURE(config);
          const auto model = make_model({"fnet", task, 7, 3, config + "}"}, init64);
          randomize(model->parameters());
          const Values p(model->parameters(), eps);
          Tensor x = p.embed("encoder.embeddings.", tokens_2x4, Tensor::zeros({2, 4}, DType::i64));
          for (const std::string layer : {"encoder.layers.0.", "encoder.layers.1."}) {
            const auto mix = [](const Tensor& v) { return real(fft2(v, 1, 2)); };
            const auto ffn = [&](const Tensor& v) {
              return p.project(layer + "proj2", activation(p.project(layer + "proj1", v), act));
            };
            const std::string first = layer + "mixing_norm", second = layer + "output_norm";
            if (norm == "post") {
              x = p.norm(first, add(x, mix(x)));
              x = p.norm(second, add(x, ffn(x)));
            } else {
              x = add(x, mix(p.norm(first, x)));
              x = add(x, ffn(p.norm(second, x)));
            }
          }
          if (norm == "pre") x = p.norm("encoder.norm", x);
          Tensor want;
          if (task == Task::masked_lm) {
            const Tensor h = p.norm("head.norm", activation(p.project("head.transform", x), act));
            want = linear(h, p.of("encoder.embeddings.word.weight"), p.of("head.bias"));
          } else {
            const Tensor first = reshape(slice(x, 1, 0, 1), {2, 6});
            want = p.project("classifier", activation(p.project("pooler.dense", first), Activation::tanh));
          }
          CHECK(max_difference((*model)(tokens_2x4), want) < 1e-11);
        }
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

TEST_CASE("FNet: invalid configs are refused") {
  CHECK_THROWS_WITH_AS(make_model({"fnet", Task::causal_lm, 7, 0, "{}"}, Init{}),
                       "[fnet] this architecture does not support the task causal-lm; its tasks are masked-lm, "
                       "classifier, regression, multilabel, "
                       "tagging, forecast, retrieval (reason: the Fourier mixing sees the future)",
                       Error);
  CHECK_THROWS_WITH_AS(Fnet({"fnet", Task::causal_lm, 7, 0, "{}"}, Init{}),
                       "[fnet] FNet can't be a causal language model, because the Fourier mixing sees the future; "
                       "choose another task, such as masked-lm or classifier",
                       Error);
  CHECK_THROWS_WITH_AS(make_model({"fnet", Task::masked_lm, 7, 0, R"({"norm":"both"})"}, Init{}),
                       "[norm place] expected one of pre, post, got \"both\"", Error);
  for (const char* config :
       {R"({"d_model":0})", R"({"dropout":1})", R"({"activation":"what"})", R"({"eps":0})", R"({"depth":3})",
        R"({"layers":"two"})", R"([])", R"({)", R"({"d_model":4611686018427387904})"})
    CHECK_THROWS_AS(make_model({"fnet", Task::masked_lm, 7, 0, config}, Init{}), Error);
}

}  // namespace weft::test
