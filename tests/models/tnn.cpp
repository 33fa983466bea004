// Tests of TNN as a model: its formulas, gradients, config, errors.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "random_parameters.h"
#include "tnn_support.h"

namespace weft::test {
namespace {

// Computes the whole model by its formulas with explicit Toeplitz matrices, from the parameters by name.
struct TnnByFormulas {
  nlohmann::json config;
  bool causal;
  std::map<std::string, Tensor> p;

  TnnByFormulas(const Model& model)
      : config(nlohmann::json::parse(model.config())),
        causal(model.task() == Task::causal_lm || config.value("causal", false)) {
    for (const auto& [name, parameter] : model.parameters()) p[name] = parameter.value();
  }

  Activation act(const char* key) const { return activation_from_name(config.at(key)); }
  bool is(const char* key) const { return config.at(key).get<bool>(); }

  Tensor norm(const std::string& name, const Tensor& x) const {
    const auto type = config.value(name == "norm" ? "final_norm" : "", config.at("norm_type").get<std::string>());
    if (type == "simplermsnorm") return rms_norm(x, {}, 1e-8);
    return layer_norm(x, 1, p.at(name + ".weight"), p.at(name + ".bias"), 1e-5);
  }
  Tensor project(const std::string& name, const Tensor& x) const {
    return linear(x, p.at(name + ".weight"), is("bias") ? p.at(name + ".bias") : Tensor());
  }

  // Returns sigmoid(g + o) for channel c of d1, where sigmoid(o) = exp(-1/s), and s = time_scales^(c/(d1-1)).
  double learned(double g, std::size_t c, std::size_t d1) const {
    double odds = std::exp(g);  // of the sigmoid's value
    if (const double longest = config.value("time_scales", 0.0); longest > 0) {
      const double decay = std::exp(-1 / std::pow(longest, static_cast<double>(c) / static_cast<double>(d1 - 1)));
      odds *= decay / (1 - decay);
    }
    return odds / (1 + odds);
  }

  // Returns Σ_j exp(-exp(nu_j) k) (a_j cos(theta_j k) + b_j sin(theta_j k)) for each channel (d1).
  std::vector<double> exponentials(const std::string& name, double k) const {
    const auto values = [&](const char* of) { return p.at(name + "exponentials." + of).to_vector<double>(); };
    const auto nu = values("nu"), theta = values("theta"), a = values("a"), b = values("b");
    const auto terms = config.at("exponentials").get<std::size_t>();
    std::vector<double> t(nu.size() / terms, 0);
    for (std::size_t i = 0; i < nu.size(); ++i)
      t[i % t.size()] +=
          std::exp(-std::exp(nu[i]) * k) * (a[i] * std::cos(theta[i] * k) + b[i] * std::sin(theta[i] * k));
    return t;
  }

  // Returns the coefficients (d1) for lag k in a sequence of length n.
  std::vector<double> coefficients(const std::string& name, double k, double n) const {
    if (config.contains("exponentials")) return exponentials(name, k);
    Tensor x = project(name + "rpe.pos_proj", tnn_position(config.at("par_type"), k, n));
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
        decay = gamma + (1 - gamma) * learned(p.at(name + "gamma").to_vector<double>()[c], c, t.size());
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
    if (!classifier)
      return linear(norm("norm", x), p.at(config.value("tied", true) ? "embedding.weight" : "head.weight"));
    const std::int64_t b = x.size(0), n = x.size(1);  // no token is padding
    const bool last = config.value("head", "mean") == "last";
    const Tensor pooled = last ? reshape(slice(x, 1, n - 1, n), {b, x.size(2)}) : mean(x, {1});
    return linear(norm("norm", pooled), p.at("head.weight"), p.at("head.bias"));
  }
};

}  // namespace

TEST_CASE("TNN models follow their formulas: every option of the config, random parameters") {
  const Tensor tokens = Tensor::from<std::int64_t>({2, 5, 1, 6, 3, 3, 4, 1}, {2, 4});
  const std::string plain = R"("act":"silu","glu_act":"tanh","rpe_act":"gelu","gamma":0.8)";
  for (Task task : {Task::causal_lm, Task::masked_lm, Task::classifier})
    for (const char* more : {"",
                             R"("use_norm":true)",
                             R"("rpe_residual":true,"rpe_layers":2)",
                             R"("use_decay":false)",
                             R"("par_type":2)",
                             R"("par_type":4)",
                             R"("use_decay":false,"use_multi_decay":true)",
                             R"("act_type":"exp")",
                             R"("causal":true)",
                             R"("head":"last")",
                             R"("use_decay":false,"use_multi_decay":true,"gamma":0,"time_scales":50)",
                             R"("use_decay":false,"use_multi_decay":true,"time_scales":1,"causal":true,"par_type":3)",
                             R"("act_type":"exp","normalize":true)",
                             R"("norm_type":"simplermsnorm")",
                             R"("prenorm":false)",
                             R"("prenorm":false,"bias":false)",
                             R"("glu_dim":9)",
                             R"("heads":1,"expand_ratio":1.5)",
                             R"("layers":0)",
                             R"("par_type":3)",
                             R"("tied":false)",
                             R"("exponentials":3,"causal":true)",
                             R"("exponentials":1,"causal":true,"heads":1,"use_decay":false,"par_type":2)",
                             R"("final_norm":"simplermsnorm")",
                             R"("norm_type":"simplermsnorm","final_norm":"layernorm","tied":false)"}) {
      const std::string option = more;
      if (task != Task::causal_lm && option == R"("par_type":3)") continue;
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
  // The original uses SimpleRMSNorm, which has no parameters.
  const std::int64_t d = 512, e = 1536, rpe = 128 + 6 * 64 * 65 + e * 65;
  const std::int64_t layer = 3 * d * e + 2 * e + d + rpe + 3 * d * d + 3 * d;
  const ModelSpec original{"tnn", Task::causal_lm, 65, 0,
                           R"({"d_model":512,"layers":7,"rpe_dim":64,"rpe_layers":6,"norm_type":"simplermsnorm"})"};
  CHECK(parameter_count(make_model(original, Init{})->parameters()) == 65 * d + 7 * layer);
}

TEST_CASE("TNN: an untied head and a final norm, which are in the config only if they are set") {
  const std::string own = R"("tied":false,"final_norm":"simplermsnorm")";
  for (Task task : {Task::causal_lm, Task::masked_lm}) {
    const auto model = small_model(task, own);
    CHECK(model->config().find(R"("final_norm":"simplermsnorm","tied":false})") != std::string::npos);
    CHECK(model->parameters().back().first == "head.weight");
    CHECK(model->config_for(Task::classifier).find("tied") == std::string::npos);
    CHECK(model->config_for(Task::masked_lm) == model->config());
  }
  CHECK(small_model(Task::causal_lm)->config().find("tied") == std::string::npos);
  CHECK(small_model(Task::causal_lm)->config().find("final_norm") == std::string::npos);
  CHECK_THROWS_WITH_AS(small_model(Task::causal_lm, R"("final_norm":"batchnorm")"),
                       "[norm] expected one of layernorm, simplermsnorm, got \"batchnorm\"", Error);
  const auto model = small_model(Task::causal_lm, own);
  const Function f = [&](const std::vector<Tensor>& in) { return (*model)(in[0]); };
  CHECK(gradient_error(f, {random_tokens(2, 5)}, model->parameters()) <= 1e-6);
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

TEST_CASE("TNN classifier: the mean excludes padding") {
  // Without layers, the logits follow from the mean embedding.
  const auto model = make_model({"tnn", Task::classifier, 7, 3, R"({"layers":0,"d_model":6})"}, init64);
  const Tensor padded = Tensor::from<std::int64_t>({2, 5, 0, 0}, {1, 4});
  const Tensor bare = Tensor::from<std::int64_t>({2, 5}, {1, 2});
  CHECK(max_difference((*model)(padded), (*model)(bare)) <= 1e-14);
  CHECK(max_abs((*model)(Tensor::zeros({1, 3}, DType::i64))) < 10);  // only padding gives a finite result
}

TEST_CASE("TNN classifier: the last token that is not padding") {
  const auto model = make_model({"tnn", Task::classifier, 7, 3, R"({"layers":0,"d_model":6,"head":"last"})"}, init64);
  const auto logits = [&](const std::vector<std::int64_t>& tokens) {
    return (*model)(Tensor::from<std::int64_t>(tokens, {1, static_cast<std::int64_t>(tokens.size())}));
  };
  CHECK(max_difference(logits({2, 5, 0, 0}), logits({5})) <= 1e-14);
  CHECK(max_difference(logits({0, 5, 2}), logits({2})) <= 1e-14);
  CHECK(max_difference(logits({5}), logits({2})) > 1e-3);
  CHECK(max_abs(logits({0, 0})) < 10);  // only padding gives a finite result
  // In a causal model, padding after the tokens changes nothing.
  const std::string causal = R"("head":"last","causal":true,"use_decay":false)";
  const auto deep = small_model(Task::classifier, causal);
  randomize(deep->parameters());
  const Tensor padded = Tensor::from<std::int64_t>({2, 5, 3, 0, 0}, {1, 5});
  CHECK(max_difference((*deep)(padded), (*deep)(Tensor::from<std::int64_t>({2, 5, 3}, {1, 3}))) <= 1e-12);
  const Function f = [&](const std::vector<Tensor>& in) { return (*deep)(in[0]); };
  CHECK(gradient_error(f, {padded}, deep->parameters()) <= 1e-6);
}

TEST_CASE("TNN: errors") {
  const auto model = small_model(Task::causal_lm);
  CHECK_THROWS_WITH_AS((*model)(Tensor::zeros({1, 0}, DType::i64)),
                       "[tnn] expected sequences of at least 1 tokens, got 0", Error);
  CHECK_THROWS_AS((*model)(Tensor::zeros({1, 3})), Error);
  CHECK_THROWS_AS((*model)(Tensor::full({1, 3}, 7, DType::i64)), Error);
  CHECK(model->max_length() == 0);

  const auto lm = [](const std::string& config, Task task = Task::causal_lm) {
    (void)make_model({"tnn", task, 7, 2, config}, Init{});
  };
  CHECK_THROWS_WITH_AS(lm(R"({"heads":2,"d_model":5})"),
                       "[tnn] expected heads that divide floor(expand_ratio · d_model) = 15, got 2", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"par_type":3})", Task::classifier),
                       "[Tno] par_type 3 is only defined for the causal form", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"gamma":1.5})"), "[Tno] expected 0 <= gamma <= 1, got 1.500000", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"use_multi_decay":true})"),
                       "[Tno] use_decay and use_multi_decay exclude each other: to use use_multi_decay, set use_decay "
                       "to false (its default is true)",
                       Error);
  CHECK_THROWS_WITH_AS(lm(R"({"head":"first"})", Task::classifier),
                       "[tnn head] expected one of mean, last, got \"first\"", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"time_scales":9})"), "[Tno] expected use_multi_decay for time_scales 9", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"exponentials":2})", Task::classifier),
                       "[Tno] exponentials are only defined for the causal form", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"exponentials":2,"normalize":true})"),
                       "[Tno] exponentials and normalize exclude each other", Error);
  CHECK_THROWS_WITH_AS(lm(R"({"norm_type":"batchnorm"})"),
                       "[norm] expected one of layernorm, simplermsnorm, got \"batchnorm\"", Error);
  for (const char* config : {R"({"depth":3})",
                             R"({"d_model":0})",
                             R"({"heads":0})",
                             R"({"layers":-1})",
                             R"({"rpe_dim":0})",
                             R"({"rpe_layers":-1})",
                             R"({"glu_dim":-1})",
                             R"({"seq_len":0})",
                             R"({"expand_ratio":0})",
                             R"({"expand_ratio":-1})",
                             R"({"expand_ratio":1e308})",
                             R"({"par_type":0})",
                             R"({"par_type":5})",
                             R"({"gamma":-0.1})",
                             R"({"act":"swoosh"})",
                             R"({"dropout":1})",
                             R"({"d_model":1.5})",
                             R"({"use_decay":1})",
                             R"({"time_scales":-1,"use_decay":false,"use_multi_decay":true})",
                             R"({"time_scales":131073,"use_decay":false,"use_multi_decay":true})",
                             R"({"exponentials":-1})",
                             R"({"causal":1})"})
    CHECK_THROWS_AS(lm(config), Error);

  const Tno tno(2, 3, small_rpe(), true, init64);
  for (const Shape& shape : {Shape{2, 5, 3}, Shape{1, 3, 5, 3}, Shape{1, 2, 5, 4}, Shape{1, 2, 0, 3}})
    CHECK_THROWS_AS(tno(Tensor::zeros(shape, DType::f64)), Error);
  TnnConfig options;
  options.heads = 8;
  options.expand_ratio = 1.5;
  CHECK_THROWS_AS(Gtu(5, options, true, init64), Error);
  options.rpe_dim = 0;
  CHECK_THROWS_AS(Rpe(3, options, init64), Error);
  options.rpe_dim = 4;
  options.rpe_layers = -1;
  CHECK_THROWS_AS(Rpe(3, options, init64), Error);
}

TEST_CASE("TNN config: every field is written and read again") {
  const auto model = small_model(Task::causal_lm, R"("gamma":0.5,"seq_len":9)");
  const auto again = make_model({"tnn", Task::causal_lm, 7, 0, model->config()}, init64);
  CHECK(again->config() == model->config());
  const Tensor tokens = random_tokens(2, 5);
  CHECK(max_difference((*again)(tokens), (*model)(tokens)) == 0);
}

}  // namespace weft::test
