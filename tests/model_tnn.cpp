#include "weft/tnn.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "op_table.h"
#include "random_parameters.h"
#include "weft/context.h"

namespace weft::test {
namespace {

const Init init64{Random(5), DType::f64};

// A small config; later keys replace earlier ones.
std::string small_config(const std::string& more = "") {
  return R"({"d_model":6,"layers":2,"heads":2,"expand_ratio":1.34,"rpe_dim":4,"rpe_layers":1,)"
         R"("rpe_act":"silu","glu_dim":5)" +
         (more.empty() ? "" : "," + more) + "}";
}

std::unique_ptr<Model> small_model(Task task, const std::string& more = "") {
  return make_model({"tnn", task, 7, 3, small_config(more)}, init64);
}

Tensor random_tokens(std::int64_t b, std::int64_t n) { return random_tensor(indices({b, n}, 7), 11); }

// silu, so that no kink is near; the options of every test of gradients.
RpeOptions small_rpe(bool residual = false, NormType norm_type = NormType::layer_norm, bool bias = true) {
  return {4, 2, residual, Activation::silu, norm_type, bias};
}

// Norms' biases are made random: without biases lag 0 is a zero vector inside the Rpe, where the next norm, of what a
// norm's bias of 0 ± step leaves of it, is too curved for central differences.
template <class Module>
double module_gradient_error(const Module& module, const Tensor& x) {
  NamedParameters parameters;
  module.collect("", parameters);
  for (auto [name, parameter] : parameters)
    if (name.find(".0.bias") != std::string::npos) parameter.assign(random_tensor({parameter.value().shape()}, 13));
  return gradient_error([&](const std::vector<Tensor>& in) { return module(in[0]); }, {x}, parameters);
}

template <class Module>
std::vector<std::string> names(const Module& module) {
  NamedParameters parameters;
  module.collect("", parameters);
  std::vector<std::string> list;
  for (const auto& [name, parameter] : parameters) list.push_back(name + to_string(parameter.value().shape()));
  return list;
}

constexpr NormType norm_types[] = {NormType::layer_norm, NormType::simple_rms_norm};

// The whole model by its formulas, from its parameters by name, with the Toeplitz matrices written out.
struct TnnByFormulas {
  nlohmann::json config;
  bool causal;
  std::map<std::string, Tensor> p;

  TnnByFormulas(const Model& model)
      : config(nlohmann::json::parse(model.config())), causal(model.task() == Task::causal_lm) {
    for (const auto& [name, parameter] : model.parameters()) p[name] = parameter.value();
  }

  Activation act(const char* key) const { return activation_from_name(config.at(key)); }
  bool is(const char* key) const { return config.at(key).get<bool>(); }

  Tensor norm(const std::string& name, const Tensor& x) const {
    if (config.at("norm_type") == "simplermsnorm") return rms_norm(x, {}, 1e-8);
    return layer_norm(x, 1, p.at(name + ".weight"), p.at(name + ".bias"), 1e-5);
  }
  Tensor project(const std::string& name, const Tensor& x) const {
    return linear(x, p.at(name + ".weight"), is("bias") ? p.at(name + ".bias") : Tensor());
  }

  // The coefficients (d1) of lag k in a sequence of n.
  std::vector<double> coefficients(const std::string& name, double k, double n) const {
    const std::int64_t par_type = config.at("par_type");
    const double place = par_type == 1 ? k : par_type == 2 ? k / (n - 1) : std::exp(k / (n - 1));
    Tensor x = project(name + "rpe.pos_proj", Tensor::full({1, 1}, place, DType::f64));
    const auto layer = [&](const std::string& l, const Tensor& in) {
      return project(name + "rpe." + l + ".2", activation(norm(name + "rpe." + l + ".0", in), act("rpe_act")));
    };
    for (std::int64_t i = 0; i < config.at("rpe_layers"); ++i) {
      const Tensor y = layer("layers." + std::to_string(i), x);
      x = is("rpe_residual") ? add(x, y) : y;
    }
    auto t = layer("out", x).to_vector<double>();
    const double gamma = config.at("gamma");
    for (std::size_t c = 0; c < t.size(); ++c) {
      double decay = is("use_decay") ? gamma : 1;
      if (is("use_multi_decay"))
        decay = gamma + (1 - gamma) / (1 + std::exp(-p.at(name + "gamma").to_vector<double>()[c]));
      t[c] *= std::pow(decay, std::abs(k));
    }
    return activation(Tensor::from(t, {static_cast<std::int64_t>(t.size())}), act("act_type")).to_vector<double>();
  }

  // T (n, n, d1) times v (b, n, d1)
  Tensor toeplitz(const std::string& name, const Tensor& v) const {
    const std::int64_t n = v.size(1);
    std::vector<double> matrix;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j)
        for (double t : coefficients(name, static_cast<double>(i - j), static_cast<double>(n)))
          matrix.push_back(causal && j > i ? 0 : t);
    const Tensor t = Tensor::from(matrix, {n, n, v.size(2)});
    const Tensor y = einsum("ijc,bjc->bic", {t, v});
    return is("normalize") ? div(y, einsum("ijc->ic", {t})) : y;
  }

  Tensor token_mixer(const std::string& name, const Tensor& x) const {
    const Tensor v = activation(project(name + "v_proj", x), act("act"));
    const Tensor y = mul(activation(project(name + "u_proj", x), act("act")), toeplitz(name + "toep.", v));
    return project(name + "o", is("use_norm") ? norm(name + "norm", y) : y);
  }
  Tensor feature_mixer(const std::string& name, const Tensor& x) const {
    return project(name + "l3", mul(activation(project(name + "l1", x), act("glu_act")), project(name + "l2", x)));
  }

  Tensor operator()(const Tensor& tokens, bool classifier) const {
    const double d = config.at("d_model");
    Tensor x = scale(embedding(tokens, p.at("embedding.weight")), std::sqrt(d));
    for (std::int64_t i = 0; i < config.at("layers"); ++i) {
      const std::string l = "layers." + std::to_string(i) + ".", tokens_norm = l + "token_norm", f = l + "feature_norm";
      if (is("prenorm")) {
        x = add(x, token_mixer(l + "token_mixer.", norm(tokens_norm, x)));
        x = add(x, feature_mixer(l + "feature_mixer.", norm(f, x)));
      } else {
        x = add(x, norm(tokens_norm, token_mixer(l + "token_mixer.", x)));
        x = add(x, norm(f, feature_mixer(l + "feature_mixer.", x)));
      }
    }
    if (!classifier) return linear(norm("norm", x), p.at("embedding.weight"));
    return linear(norm("norm", mean(x, {1})), p.at("head.weight"), p.at("head.bias"));  // no token is padding
  }
};

}  // namespace

TEST_CASE("TNN: names and shapes of parameters") {
  TnoOptions options;
  options.rpe = {4, 1};
  CHECK(names(Tno(2, 3, options, init64)) ==
        std::vector<std::string>{"rpe.pos_proj.weight(4, 1)", "rpe.pos_proj.bias(4,)", "rpe.layers.0.0.weight(4,)",
                                 "rpe.layers.0.0.bias(4,)", "rpe.layers.0.2.weight(4, 4)", "rpe.layers.0.2.bias(4,)",
                                 "rpe.out.0.weight(4,)", "rpe.out.0.bias(4,)", "rpe.out.2.weight(6, 4)",
                                 "rpe.out.2.bias(6,)"});
  options.use_decay = false;
  options.use_multi_decay = true;
  options.rpe.norm_type = NormType::simple_rms_norm;
  options.rpe.bias = false;
  CHECK(names(Tno(2, 3, options, init64)) == std::vector<std::string>{"gamma(2, 1, 3)", "rpe.pos_proj.weight(4, 1)",
                                                                      "rpe.layers.0.2.weight(4, 4)",
                                                                      "rpe.out.2.weight(6, 4)"});
  TnnLayerOptions layer;
  layer.glu_dim = 5;
  layer.gtu.num_heads = 3;
  layer.gtu.expand_ratio = 1.5;
  layer.gtu.use_norm = true;
  layer.gtu.tno.rpe = {4, 0};
  CHECK(names(TnnLayer(7, layer, init64)) == std::vector<std::string>{"token_mixer.v_proj.weight(9, 7)",
                                                                      "token_mixer.v_proj.bias(9,)",
                                                                      "token_mixer.u_proj.weight(9, 7)",
                                                                      "token_mixer.u_proj.bias(9,)",
                                                                      "token_mixer.o.weight(7, 9)",
                                                                      "token_mixer.o.bias(7,)",
                                                                      "token_mixer.toep.rpe.pos_proj.weight(4, 1)",
                                                                      "token_mixer.toep.rpe.pos_proj.bias(4,)",
                                                                      "token_mixer.toep.rpe.out.0.weight(4,)",
                                                                      "token_mixer.toep.rpe.out.0.bias(4,)",
                                                                      "token_mixer.toep.rpe.out.2.weight(9, 4)",
                                                                      "token_mixer.toep.rpe.out.2.bias(9,)",
                                                                      "token_mixer.norm.weight(9,)",
                                                                      "token_mixer.norm.bias(9,)",
                                                                      "token_norm.weight(7,)",
                                                                      "token_norm.bias(7,)",
                                                                      "feature_norm.weight(7,)",
                                                                      "feature_norm.bias(7,)",
                                                                      "feature_mixer.l1.weight(5, 7)",
                                                                      "feature_mixer.l1.bias(5,)",
                                                                      "feature_mixer.l2.weight(5, 7)",
                                                                      "feature_mixer.l2.bias(5,)",
                                                                      "feature_mixer.l3.weight(7, 5)",
                                                                      "feature_mixer.l3.bias(7,)"});
}

TEST_CASE("TNN: layer, gated Toeplitz unit and Rpe have norms and biases of their own; a model's are alike") {
  const auto count = [](const auto& module, const std::string& end) {
    std::int64_t found = 0;
    for (const std::string& name : names(module)) found += name.find(end) != std::string::npos;
    return found;
  };
  const auto layer = [](NormType outer, NormType middle, NormType inner, int bias) {
    TnnLayerOptions options;
    options.norm_type = outer;
    options.gtu.norm_type = middle;
    options.gtu.tno.rpe.norm_type = inner;
    options.gtu.use_norm = true;
    options.bias = bias == 0;
    options.gtu.bias = bias == 1;
    options.gtu.tno.rpe.bias = bias == 2;
    return TnnLayer(4, options, init64);
  };
  const NormType with = NormType::layer_norm, without = NormType::simple_rms_norm;
  CHECK(count(layer(with, without, without, 3), "norm.weight") == 2);  // token_norm, feature_norm
  CHECK(count(layer(without, with, without, 3), "mixer.norm.weight") == 1);
  CHECK(count(layer(without, with, without, 3), "norm.weight") == 1);
  CHECK(count(layer(without, without, with, 3), ".0.weight") == 4);  // three layers and `out`
  CHECK(count(layer(without, without, with, 3), "norm.weight") == 0);
  CHECK(count(layer(without, without, without, 0), "feature_mixer.l") == 6);
  CHECK(count(layer(without, without, without, 0), "bias") == 3);
  CHECK(count(layer(without, without, without, 1), "_proj.bias") == 2);  // beside o's
  CHECK(count(layer(without, without, without, 1), "bias") == 3);
  CHECK(count(layer(without, without, without, 2), "rpe.") == 10);
  CHECK(count(layer(without, without, without, 2), "bias") == 5);

  const auto model = [](const char* more) {
    std::vector<std::string> list;
    for (const auto& [name, parameter] : small_model(Task::causal_lm, more)->parameters()) list.push_back(name);
    return list;
  };
  const auto has = [](const std::vector<std::string>& list, const char* part) {
    return std::any_of(list.begin(), list.end(),
                       [&](const auto& name) { return name.find(part) != std::string::npos; });
  };
  const auto bare = model(R"("use_norm":true,"bias":false,"norm_type":"simplermsnorm")");
  CHECK(!has(bare, "bias"));
  CHECK(!has(bare, "norm"));
  CHECK(!has(bare, ".0.weight"));
  const auto full = model(R"("use_norm":true)");
  for (const char* part : {"v_proj.bias", "o.bias", "l3.bias", "rpe.out.2.bias", "token_mixer.norm.bias",
                           "token_norm.bias", "feature_norm.weight", "rpe.out.0.weight"})
    CHECK(has(full, part));
}

TEST_CASE("TNN models by their formulas: every option of the config, random parameters") {
  const Tensor tokens = Tensor::from<std::int64_t>({2, 5, 1, 6, 3, 3, 4, 1}, {2, 4});
  const std::string plain = R"("act":"silu","glu_act":"tanh","rpe_act":"gelu","gamma":0.8)";
  for (Task task : {Task::causal_lm, Task::masked_lm, Task::classifier})
    for (const char* more :
         {"", R"("use_norm":true)", R"("rpe_residual":true,"rpe_layers":2)", R"("use_decay":false)", R"("par_type":2)",
          R"("use_decay":false,"use_multi_decay":true)", R"("act_type":"exp")", R"("act_type":"exp","normalize":true)",
          R"("norm_type":"simplermsnorm")", R"("prenorm":false)", R"("prenorm":false,"bias":false)", R"("glu_dim":9)",
          R"("heads":1,"expand_ratio":1.5)", R"("layers":0)", R"("par_type":3)"}) {
      const std::string option = more;
      if (task != Task::causal_lm && option.find("par_type\":3") != std::string::npos) continue;
      CAPTURE(task_name(task));
      CAPTURE(option);
      const auto model = small_model(task, plain + (option.empty() ? "" : ",") + option);
      randomize(model->parameters());
      const bool classifier = task == Task::classifier;
      CHECK(max_difference((*model)(tokens), TnnByFormulas(*model)(tokens, classifier)) <= 1e-9);
    }
}

TEST_CASE("TNN: numbers of parameters") {
  // 65·128 + 4 (3·(128·384 + 128·128) + 2·384 + 128 + 2·128 + 128 + 4·128 + rpe) + 2·128,
  // rpe = 64 + 3·(64 + 32·33) + 64 + 384·33
  CHECK(parameter_count(make_model({"tnn", Task::causal_lm, 65, 0, "{}"}, Init{})->parameters()) == 866816);
  const std::int64_t d = 512, e = 1536, rpe = 128 + 6 * (128 + 64 * 65) + 128 + e * 65;
  const std::int64_t layer = 3 * d * e + 2 * e + d + rpe + 3 * d * d + 3 * d + 4 * d;
  CHECK(parameter_count(make_model(preset("tnn-original"), Init{})->parameters()) == 65 * d + 7 * layer + 2 * d);
}

TEST_CASE("Rpe, Glu: gradients") {
  for (NormType norm_type : norm_types)
    for (bool bias : {true, false}) {
      const Rpe rpe(3, small_rpe(bias, norm_type, bias), init64);
      CHECK(module_gradient_error(rpe, random_tensor({{5, 1}, 1, 4}, 3)) <= 1e-6);
      const Glu glu(3, 4, Activation::gelu, init64, bias, Activation::tanh);
      CHECK(module_gradient_error(glu, random_tensor({{2, 3, 3}}, 3)) <= 1e-6);
    }
}

TEST_CASE("Tno: gradients") {
  const Tensor x = random_tensor({{2, 2, 5, 3}}, 3);
  TnoOptions plain;
  plain.rpe = small_rpe();
  for (bool causal : {true, false})
    for (std::int64_t par_type : {1, 2, 3}) {
      if (par_type == 3 && !causal) continue;
      TnoOptions options = plain;
      options.causal = causal;
      options.par_type = par_type;
      CHECK(module_gradient_error(Tno(2, 3, options, init64), x) <= 1e-6);
      options.use_decay = false;
      options.use_multi_decay = true;
      options.act_type = Activation::exp;
      options.normalize = true;
      options.rpe = small_rpe(true, NormType::simple_rms_norm);
      CHECK(module_gradient_error(Tno(2, 3, options, init64), x) <= 1e-6);
      CHECK(module_gradient_error(Tno(2, 3, options, init64), random_tensor({{2, 2, 1, 3}}, 3)) <= 1e-6);
    }
}

TEST_CASE("Gtu, TnnLayer: gradients") {
  const Tensor x = random_tensor({{2, 5, 4}}, 3);
  for (NormType norm_type : norm_types)
    for (bool bias : {true, false})
      for (bool option : {true, false}) {
        TnnLayerOptions layer;
        layer.glu_dim = 3;
        layer.prenorm = option;
        layer.gtu.num_heads = 2;
        layer.gtu.expand_ratio = 1.25;
        layer.gtu.use_norm = option;
        layer.gtu.tno.causal = bias;
        layer.norm_type = layer.gtu.norm_type = norm_type;
        layer.bias = layer.gtu.bias = bias;
        layer.gtu.tno.rpe = small_rpe(false, norm_type, bias);
        CHECK(module_gradient_error(Gtu(4, layer.gtu, init64), x) <= 1e-6);
        CHECK(module_gradient_error(TnnLayer(4, layer, init64), x) <= 1e-6);
      }
}

TEST_CASE("TNN models: gradients and shapes") {
  for (Task task : {Task::causal_lm, Task::masked_lm, Task::classifier}) {
    const auto model = small_model(task);
    const Function f = [&](const std::vector<Tensor>& in) { return (*model)(in[0]); };
    const Tensor tokens = random_tokens(2, 5);
    CHECK(f({tokens}).shape() == (task == Task::classifier ? Shape{2, 3} : Shape{2, 5, 7}));
    CHECK(gradient_error(f, {tokens}, model->parameters()) <= 1e-6);
  }
}

TEST_CASE("TNN layer: each of its two parts drops elements of its own") {
  TnnLayerOptions options;
  options.dropout = 0.5;
  const TnnLayer layer(64, options, init64);
  for (auto [name, parameter] : parameters_of(layer)) {
    const bool is_output = name == "token_mixer.o.bias" || name == "feature_mixer.l3.bias";
    parameter.assign(Tensor::full(parameter.value().shape(), is_output ? 1 : 0, DType::f64));
  }
  // x = 0: each part adds 1, which dropout makes 0 or 2.
  const Tensor x = Tensor::zeros({2, 5, 64}, DType::f64);
  const Random random(3);
  int count[5] = {};
  for (double y : layer(x, &random).to_vector<double>()) ++count[static_cast<int>(y)];
  CHECK(count[0] + count[2] + count[4] == 640);
  for (int y : {0, 2, 4}) CHECK(std::abs(count[y] / 640.0 - (y == 2 ? 0.5 : 0.25)) < 0.1);
  CHECK(max_difference(layer(x), Tensor::full({2, 5, 64}, 2, DType::f64)) == 0);
}

// The coefficients by their definition, from the Rpe's own values.
TEST_CASE("Tno: coefficients and their product by the definition") {
  const Init init{Random(9), DType::f64};
  const std::int64_t n = 6, h = 2, dim = 3, c = h * dim;
  for (std::int64_t par_type : {1, 2, 3})
    for (bool causal : {true, false}) {
      if (par_type == 3 && !causal) continue;
      TnoOptions options;
      options.rpe = small_rpe();
      options.causal = causal;
      options.par_type = par_type;
      options.gamma = 0.9;
      const Tno tno(h, dim, options, init);
      const Rpe rpe(c, options.rpe, init.child(0));  // the one inside
      const Tensor x = random_tensor({{1, h, n, dim}}, 3);
      const auto got = tno(x).to_vector<double>(), in = x.to_vector<double>();
      const auto t = [&](std::int64_t k, std::int64_t channel) {
        const double share = static_cast<double>(k) / (n - 1);
        const double p = par_type == 1 ? static_cast<double>(k) : par_type == 2 ? share : std::exp(share);
        return std::pow(0.9, std::abs(static_cast<double>(k))) *
               rpe(Tensor::full({1, 1}, p, DType::f64)).to_vector<double>()[static_cast<std::size_t>(channel)];
      };
      double worst = 0;
      for (std::int64_t channel = 0; channel < c; ++channel)
        for (std::int64_t i = 0; i < n; ++i) {
          double want = 0;
          const auto at = [&](std::int64_t row) {
            return static_cast<std::size_t>(((channel / dim) * n + row) * dim + channel % dim);
          };
          for (std::int64_t j = 0; j < (causal ? i + 1 : n); ++j) want += t(i - j, channel) * in[at(j)];
          worst = std::max(worst, std::abs(want - got[at(i)]));
        }
      CHECK(worst <= 1e-12);
    }
}

TEST_CASE("Tno: what is kept between products is that of the parameters, the length and the batch") {
  for (bool normalize : {false, true}) {
    TnoOptions options;
    options.rpe = small_rpe();
    options.use_decay = false;
    options.use_multi_decay = true;
    options.normalize = normalize;
    const Tno tno(2, 3, options, init64);
    NamedParameters parameters;
    tno.collect("", parameters);
    const auto kept_equals_recorded = [&](std::int64_t b, std::int64_t n) {
      const Tensor x = random_tensor({{b, 2, n, 3}}, 3);
      const Tensor kept = tno(x), again = tno(x);
      Tape tape;
      const Tensor recorded = tno(tape.watch(x));
      CHECK(same_bits(kept, recorded.detach()));
      CHECK(same_bits(kept, again));
    };
    kept_equals_recorded(2, 200);
    kept_equals_recorded(2, 9);
    kept_equals_recorded(1, 9);
    for (Isa isa : available_isas()) {
      Context context;
      context.set_isa(isa);
      ContextScope scope(context);
      kept_equals_recorded(1, 9);
    }
    const Tensor before = tno(random_tensor({{1, 2, 9, 3}}, 3));
    for (auto& [name, parameter] : parameters) {
      const std::string text = name;
      CAPTURE(text);
      parameter.assign(random_tensor({parameter.value().shape()}, 17));
      kept_equals_recorded(1, 9);
    }
    CHECK(max_difference(before, tno(random_tensor({{1, 2, 9, 3}}, 3))) > 1e-3);
  }
}

TEST_CASE("TNN language model: a token doesn't change the logits before it, also beyond the training length") {
  for (const char* more : {R"("gamma":0.95)", R"("par_type":3)",
                           R"("act_type":"exp","normalize":true,"use_decay":false,"use_multi_decay":true)"}) {
    const auto model = small_model(Task::causal_lm, std::string(R"("seq_len":4,)") + more);
    const std::int64_t n = 11;
    const Tensor tokens = random_tokens(1, n), before = (*model)(tokens);
    for (std::int64_t j = 0; j < n; ++j) {
      auto changed = tokens.to_vector<std::int64_t>();
      changed[static_cast<std::size_t>(j)] = (changed[static_cast<std::size_t>(j)] + 1) % 7;
      const Tensor after = (*model)(Tensor::from(changed, {1, n}));
      CHECK(max_difference(slice(before, 1, 0, j), slice(after, 1, 0, j)) <= 1e-5);
      for (std::int64_t i = j; i < n; ++i)
        CHECK(max_difference(slice(before, 1, i, i + 1), slice(after, 1, i, i + 1)) > 1e-5);
    }
  }
}

TEST_CASE("TNN token stream: the logits of the full forward pass, past the training length") {
  const std::int64_t n = 150;  // the history grows twice
  for (const char* more : {R"("gamma":0.95)", R"("par_type":2)", R"("act_type":"exp","normalize":true,"use_norm":true)",
                           R"("use_decay":false,"use_multi_decay":true,"prenorm":false,"norm_type":"simplermsnorm")"
                           R"(,"bias":false)"})
    for (DType dtype : {DType::f64, DType::f32}) {
      const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(more)}, {Random(5), dtype});
      const bool rerun = std::string(more).find("par_type") != std::string::npos;
      const std::int64_t length = rerun ? 9 : n;
      const Tensor tokens = random_tokens(1, length), full = (*model)(tokens);
      const auto ids = tokens.to_vector<std::int64_t>();
      const auto stream = model->stream();
      double worst = 0;
      for (std::int64_t i = 0; i < length; ++i) {
        const Tensor logits = stream->next(ids[static_cast<std::size_t>(i)]);
        // With par_type 2 the full pass is that over the tokens so far.
        const Tensor pass = rerun ? (*model)(slice(tokens, 1, 0, i + 1)) : full;
        worst = std::max(worst, max_difference(logits, reshape(slice(pass, 1, i, i + 1), {7})));
      }
      CHECK(worst <= 1e-5);
    }
  CHECK_THROWS_AS(small_model(Task::classifier)->stream(), Error);
  CHECK_THROWS_AS(small_model(Task::masked_lm)->stream(), Error);
}

TEST_CASE("TNN: two token streams of one model don't meet; nothing is recorded") {
  const auto model = small_model(Task::causal_lm);
  const auto a = model->stream(), b = model->stream();
  const Tensor first = a->next(3);
  (void)a->next(1);
  Tape tape;
  CHECK(max_difference(b->next(3), first) == 0);
  CHECK(tape.records() == 0);
}

TEST_CASE("TNN classifier: padding is not in the mean") {
  // Without layers the logits are those of the mean embedding.
  const auto model = make_model({"tnn", Task::classifier, 7, 3, R"({"layers":0,"d_model":6})"}, init64);
  const Tensor padded = Tensor::from<std::int64_t>({2, 5, 0, 0}, {1, 4});
  const Tensor bare = Tensor::from<std::int64_t>({2, 5}, {1, 2});
  CHECK(max_difference((*model)(padded), (*model)(bare)) <= 1e-14);
  CHECK(max_abs((*model)(Tensor::zeros({1, 3}, DType::i64))) < 10);  // all padding: finite
}

TEST_CASE("TNN: errors") {
  const auto model = small_model(Task::causal_lm);
  CHECK_THROWS_WITH_AS((*model)(Tensor::zeros({1, 0}, DType::i64)),
                       "[tnn] a sequence of 0 tokens; the model takes 1 to any number", Error);
  CHECK_THROWS_AS((*model)(Tensor::zeros({1, 3})), Error);
  CHECK_THROWS_AS((*model)(Tensor::full({1, 3}, 7, DType::i64)), Error);
  CHECK(model->max_length() == 0);

  const auto lm = [](const std::string& config, Task task = Task::causal_lm) {
    (void)make_model({"tnn", task, 7, 2, config}, Init{});
  };
  CHECK_THROWS_WITH_AS(lm(R"({"heads":2,"d_model":5})"),
                       "[tnn] expected heads that divide floor(expand_ratio · d_model) = 15, got 2", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"par_type":3})", Task::classifier),
                       "[Tno] par_type 3 is defined for the causal form alone", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"gamma":1.5})"), "[Tno] expected 0 <= gamma <= 1, got 1.500000", Error);
  CHECK_THROWS_WITH_AS(
      lm(R"({"use_multi_decay":true})"),
      "[Tno] use_decay and use_multi_decay exclude each other: for use_multi_decay set use_decay, true by default, "
      "to false",
      Error);
  CHECK_THROWS_WITH_AS(lm(R"({"norm_type":"batchnorm"})"),
                       "[norm] expected one of layernorm, simplermsnorm, got \"batchnorm\"", Error);
  for (const char* config :
       {R"({"depth":3})", R"({"d_model":0})", R"({"heads":0})", R"({"layers":-1})", R"({"rpe_dim":0})",
        R"({"rpe_layers":-1})", R"({"glu_dim":-1})", R"({"seq_len":0})", R"({"expand_ratio":0})",
        R"({"expand_ratio":-1})", R"({"expand_ratio":1e308})", R"({"par_type":0})", R"({"par_type":4})",
        R"({"gamma":-0.1})", R"({"act":"swish"})", R"({"dropout":1})", R"({"d_model":1.5})", R"({"use_decay":1})"})
    CHECK_THROWS_AS(lm(config), Error);

  TnoOptions options;
  options.rpe = small_rpe();
  const Tno tno(2, 3, options, init64);
  for (const Shape& shape : {Shape{2, 5, 3}, Shape{1, 3, 5, 3}, Shape{1, 2, 5, 4}, Shape{1, 2, 0, 3}})
    CHECK_THROWS_AS(tno(Tensor::zeros(shape, DType::f64)), Error);
  GtuOptions gtu;
  gtu.num_heads = 8;
  gtu.expand_ratio = 1.5;
  CHECK_THROWS_AS(Gtu(5, gtu, init64), Error);
  CHECK_THROWS_AS(Rpe(3, {0, 1}, init64), Error);
  CHECK_THROWS_AS(Rpe(3, {4, -1}, init64), Error);
}

TEST_CASE("TNN config: every field comes back") {
  const auto model = small_model(Task::causal_lm, R"("gamma":0.5,"seq_len":9)");
  const auto again = make_model({"tnn", Task::causal_lm, 7, 0, model->config()}, init64);
  CHECK(again->config() == model->config());
  const Tensor tokens = random_tokens(2, 5);
  CHECK(max_difference((*again)(tokens), (*model)(tokens)) == 0);
}

}  // namespace weft::test
