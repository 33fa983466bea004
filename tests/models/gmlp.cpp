#include "weft/gmlp.h"

#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <tuple>

#include "op_table.h"
#include "random_parameters.h"

namespace weft::test {
namespace {

std::unique_ptr<Model> small_gmlp(Task task, const std::string& more = "") {
  return make_model({"gmlp", task, 7, 3, R"({"d_model":6,"d_ffn":8,"layers":2,"seq_len":9)" + more + "}"}, init64);
}

}  // namespace

TEST_CASE("gMLP of the original experiment has 9,933,377 parameters") {
  const auto model =
      make_model({"gmlp", Task::causal_lm, 65, 0, R"({"d_model":512,"d_ffn":2048,"layers":6,"seq_len":256})"}, Init{});
  CHECK(parameter_count(model->parameters()) == 9933377);
}

TEST_CASE("gMLP: d_ffn is 8 d_model by default") {
  const auto ffn = [](const std::string& config) {
    const std::string all = make_model({"gmlp", Task::causal_lm, 7, 0, config}, Init{})->config();
    return std::stoi(all.substr(all.find("\"d_ffn\":") + 8));
  };
  CHECK(ffn(R"({"d_model":6,"seq_len":4})") == 48);
  CHECK(ffn(R"({"d_model":6,"seq_len":4,"d_ffn":10})") == 10);
}

TEST_CASE("gMLP: initial spatial weights and biases") {
  const SpatialGatingUnit unit(8, 50, init64);
  CHECK(max_abs(unit.weight.value()) <= 0.01);
  CHECK(max_abs(unit.weight.value()) > 0.0099);
  for (double b : unit.bias.value().to_vector<double>()) CHECK(b == 1);
}

TEST_CASE("spatial gating unit and block: gradients, every mask") {
  const GmlpBlock block(4, 6, 7, init64);
  NamedParameters parameters;
  block.collect("", parameters);
  randomize(parameters);
  const SpatialMask row(Tensor::from<double>({1, 0, 1, 1, 0}, {1, 5, 1}));
  for (const SpatialMask& mask : {SpatialMask(), SpatialMask::causal(), SpatialMask(causal_mask(5, DType::f64)), row}) {
    const Function f = [&](const std::vector<Tensor>& in) { return block(in[0], mask); };
    const Tensor x = random_tensor({{2, 5, 4}}, 3);
    CHECK(gradient_error(f, {x}, parameters) <= 1e-6);
    const Tensor tokens_first = block.tokens_first(transpose(x, 0, 1), mask);
    CHECK(same_bits(raw::contiguous(f({x})), raw::contiguous(transpose(tokens_first, 0, 1))));
    const Tensor z = random_tensor({{2, 5, 6}}, 4), gated = block.sgu.tokens_first(transpose(z, 0, 1), mask);
    CHECK(same_bits(raw::contiguous(block.sgu(z, mask)), raw::contiguous(transpose(gated, 0, 1))));
  }
}

TEST_CASE("spatial gating unit and block: a mix replaces weight, mask and bias, and can't be combined with a mask") {
  const GmlpBlock block(4, 6, 7, init64);
  const Tensor z = random_tensor({{5, 2, 6}}, 3), x = random_tensor({{5, 2, 4}}, 4);
  const SpatialMix mix = [](const Tensor& z1, const Tensor& v) { return mul(z1, scale(v, 3)); };
  CHECK(same_bits(block.sgu.tokens_first(z, {}, mix),
                  mul(chunk(z, 2, -1)[0], scale(block.sgu.norm(chunk(z, 2, -1)[1]), 3))));
  CHECK(block.tokens_first(x, {}, nullptr, mix).shape() == x.shape());
  for (const SpatialMask& mask : {SpatialMask::causal(), SpatialMask(causal_mask(5, DType::f64))}) {
    CHECK_THROWS_WITH_AS(block.sgu.tokens_first(z, mask, mix), doctest::Contains("either a mask or a mix"), Error);
    CHECK_THROWS_WITH_AS(block.tokens_first(x, mask, nullptr, mix), doctest::Contains("either a mask or a mix"), Error);
  }
}

TEST_CASE("gMLP models: gradients and shapes") {
  for (Task task : {Task::causal_lm, Task::classifier}) {
    const auto model = small_gmlp(task);
    randomize(model->parameters());
    const Function f = [&](const std::vector<Tensor>& in) { return (*model)(in[0]); };
    const Tensor tokens = random_tokens(2, 5);
    CHECK(f({tokens}).shape() == (task == Task::causal_lm ? Shape{2, 5, 7} : Shape{2, 3}));
    CHECK(gradient_error(f, {tokens}, model->parameters()) <= 1e-6);
  }
  const auto tied = small_gmlp(Task::causal_lm, R"(,"tied":true)");
  const Function f = [&](const std::vector<Tensor>& in) { return (*tied)(in[0]); };
  CHECK(gradient_error(f, {random_tokens(2, 4)}, tied->parameters()) <= 1e-6);
}

TEST_CASE("gMLP models equal compositions of operations, and a classifier's mean excludes padding") {
  const std::tuple<Task, bool, bool> kinds[] = {{Task::causal_lm, true, false},  {Task::causal_lm, false, true},
                                                {Task::causal_lm, false, false}, {Task::masked_lm, true, true},
                                                {Task::classifier, true, false}, {Task::classifier, false, false}};
  for (const auto& kind : kinds) {
    const Task task = std::get<0>(kind);
    const bool with_positions = std::get<1>(kind), tied = std::get<2>(kind);
    const auto model =
        small_gmlp(task, std::string(with_positions ? "" : R"(,"positions":false)") + (tied ? R"(,"tied":true)" : ""));
    randomize(model->parameters());
    std::map<std::string, Tensor> p;
    for (const auto& [name, parameter] : model->parameters()) p[name] = parameter.value();
    const auto norm = [&](const Tensor& x, const std::string& name) {
      return layer_norm(x, 1, p.at(name + ".weight"), p.at(name + ".bias"), 1e-5);
    };
    const auto project = [&](const Tensor& x, const std::string& name) {
      return linear(x, p.at(name + ".weight"), p.at(name + ".bias"));
    };
    const std::int64_t n = 4, d = 6;
    const Tensor tokens = Tensor::from<std::int64_t>({2, 5, 0, 0, 1, 6, 3, 0}, {2, n});  // 2 and 3 are not padding
    Tensor positions = Tensor::empty({n, d}, DType::f64);
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < d; ++k) {
        const double angle = static_cast<double>(i) * std::pow(10000.0, -static_cast<double>(k - k % 2) / d);
        positions.mutable_data<double>()[i * d + k] = k % 2 == 0 ? std::sin(angle) : std::cos(angle);
      }
    Tensor x = scale(embedding(tokens, p.at("embedding.weight")), std::sqrt(6.0));  // (b, n, d)
    if (with_positions) x = add(x, positions);
    const Tensor mask = reshape(causal_mask(n, DType::f64), {n, n});
    for (const std::string block : {"blocks.0.", "blocks.1."}) {
      const Tensor z = activation(project(norm(x, block + "norm"), block + "proj1"), Activation::gelu);
      const Tensor z1 = slice(z, 2, 0, 4), z2 = norm(slice(z, 2, 4, 8), block + "sgu.norm");
      Tensor w = slice(slice(p.at(block + "sgu.weight"), 0, 0, n), 1, 0, n);
      if (task == Task::causal_lm) w = mul(w, mask);
      const Tensor bias = reshape(slice(p.at(block + "sgu.bias"), 0, 0, n), {n, 1});
      x = add(x, project(mul(z1, add(einsum("ij,bjd->bid", {w, z2}), bias)), block + "proj2"));
    }
    if (task == Task::classifier) {
      const auto mean = [&](std::int64_t row, std::int64_t count) {
        const Tensor words = slice(slice(x, 0, row, row + 1), 1, 0, count);  // (1, count, d)
        return scale(sum(words, {1}), 1 / static_cast<double>(count));
      };
      x = concat({mean(0, 2), mean(1, 3)}, 0);
    }
    const Tensor y = norm(x, "norm"), want = tied ? linear(y, p.at("embedding.weight")) : project(y, "head");
    CHECK(max_difference((*model)(tokens), want) < 1e-12);
  }
}

TEST_CASE("gMLP language model: a token doesn't change the logits of earlier tokens") {
  const auto model = small_gmlp(Task::causal_lm);
  randomize(model->parameters());
  const Tensor tokens = random_tokens(1, 9), before = (*model)(tokens);
  for (std::int64_t j = 0; j < 9; ++j) {
    auto changed = tokens.to_vector<std::int64_t>();
    changed[static_cast<std::size_t>(j)] = (changed[static_cast<std::size_t>(j)] + 1) % 7;
    const Tensor after = (*model)(Tensor::from(changed, {1, 9}));
    CHECK(max_difference(slice(before, 1, 0, j), slice(after, 1, 0, j)) <= 1e-5);
    CHECK(max_difference(slice(before, 1, j, 9), slice(after, 1, j, 9)) > 1e-3);
  }
}

TEST_CASE("gMLP token stream: the logits of the full forward pass, and the sliding window") {
  const auto model = small_gmlp(Task::causal_lm);
  randomize(model->parameters());
  const Tensor tokens = random_tokens(1, 9), full = (*model)(tokens);
  const auto ids = tokens.to_vector<std::int64_t>();
  const auto stream = model->stream();
  Tensor logits;
  for (std::int64_t i = 0; i < 9; ++i) {
    logits = stream->next(ids[static_cast<std::size_t>(i)]);
    CHECK(max_difference(logits, reshape(slice(full, 1, i, i + 1), {7})) <= 1e-5);
  }
  // At the tenth token, the window becomes the newer half of the nine tokens and the new token.
  logits = stream->next(3);
  std::vector<std::int64_t> window(ids.begin() + 5, ids.end());
  window.push_back(3);
  const Tensor slid = (*model)(Tensor::from(window, {1, 5}));
  CHECK(max_difference(logits, reshape(slice(slid, 1, 4, 5), {7})) <= 1e-5);
  CHECK_THROWS_AS(small_gmlp(Task::classifier)->stream(), Error);
}

TEST_CASE("gMLP: errors") {
  const auto model = small_gmlp(Task::causal_lm);
  CHECK_THROWS_WITH_AS((*model)(random_tokens(1, 10)), "[gmlp] expected sequences of 1 to 9 tokens, got 10", Error);
  CHECK_THROWS_AS((*model)(Tensor::zeros({1, 3})), Error);
  CHECK_THROWS_AS((*model)(Tensor::full({1, 3}, 7, DType::i64)), Error);
  CHECK_THROWS_AS(SpatialGatingUnit(8, 4, init64)(Tensor::zeros({1, 5, 8}, DType::f64)), Error);
  CHECK_THROWS_AS(GmlpBlock(8, 4, 4, init64)(Tensor::zeros({4, 8}, DType::f64)), Error);
  CHECK_THROWS_AS(
      SpatialGatingUnit(8, 4, init64)(Tensor::zeros({1, 3, 8}, DType::f64), Tensor::zeros({4, 4, 1}, DType::f64)),
      Error);
  CHECK_THROWS_WITH_AS(
      make_model({"gmlp", Task::causal_lm, 7, 0, R"({"depth":3})"}, Init{}),
      "[gmlp] unknown config key \"depth\", expected one of d_model, d_ffn, layers, seq_len, tied, positions, dropout",
      Error);
  for (const char* config :
       {R"({"d_model":0})", R"({"d_ffn":3})", R"({"d_ffn":-2})", R"({"seq_len":0})", R"({"dropout":-1})",
        R"({"d_model":1.5})", R"({"d_model":2305843009213693952})", R"({"seq_len":2147483648})"})
    CHECK_THROWS_AS(make_model({"gmlp", Task::causal_lm, 7, 0, config}, Init{}), Error);
  CHECK_THROWS_AS(make_model({"gmlp", Task::classifier, 7, 0, "{}"}, Init{}), Error);
  CHECK_THROWS_AS(make_model({"gpt", Task::causal_lm, 7, 0, "{}"}, Init{}), Error);
}

}  // namespace weft::test
