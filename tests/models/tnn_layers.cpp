// Tests of TNN's layers Rpe, Tno, Gtu and Glu, and of the layer that consists of them: parameters, gradients,
// coefficients.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "random_parameters.h"
#include "tnn_support.h"
#include "weft/context.h"

namespace weft::test {
namespace {

// Makes the biases of norms random. If they were 0, lag 0 would be a zero vector inside the Rpe. Then the next norm
// would only see the bias step of the difference quotient, where it is too curved for central differences.
template <class Module>
double module_gradient_error(const Module& module, const Tensor& x) {
  const NamedParameters parameters = parameters_of(module);
  for (auto [name, parameter] : parameters)
    if (name.find(".0.bias") != std::string::npos) parameter.assign(random_tensor({parameter.value().shape()}, 13));
  return gradient_error([&](const std::vector<Tensor>& in) { return module(in[0]); }, {x}, parameters);
}

template <class Module>
std::vector<std::string> names(const Module& module) {
  std::vector<std::string> list;
  for (const auto& [name, parameter] : parameters_of(module))
    list.push_back(name + to_string(parameter.value().shape()));
  return list;
}

const char* const norm_types[] = {"layernorm", "simplermsnorm"};

}  // namespace

TEST_CASE("TNN: names and shapes of parameters") {
  TnnConfig options;
  options.rpe_dim = 4;
  options.rpe_layers = 1;
  CHECK(names(Tno(2, 3, options, true, init64)) ==
        std::vector<std::string>{"rpe.pos_proj.weight(4, 1)", "rpe.pos_proj.bias(4,)", "rpe.layers.0.0.weight(4,)",
                                 "rpe.layers.0.0.bias(4,)", "rpe.layers.0.2.weight(4, 4)", "rpe.layers.0.2.bias(4,)",
                                 "rpe.out.0.weight(4,)", "rpe.out.0.bias(4,)", "rpe.out.2.weight(6, 4)",
                                 "rpe.out.2.bias(6,)"});
  options.use_decay = false;
  options.use_multi_decay = true;
  options.norm_type = "simplermsnorm";
  options.bias = false;
  CHECK(names(Tno(2, 3, options, true, init64)) ==
        std::vector<std::string>{"gamma(2, 1, 3)", "rpe.pos_proj.weight(4, 1)", "rpe.layers.0.2.weight(4, 4)",
                                 "rpe.out.2.weight(6, 4)"});
  TnnConfig layer;
  layer.glu_dim = 5;
  layer.heads = 3;
  layer.expand_ratio = 1.5;
  layer.use_norm = true;
  layer.rpe_dim = 4;
  layer.rpe_layers = 0;
  CHECK(names(TnnLayer(7, layer, true, init64)) ==
        std::vector<std::string>{"token_mixer.v_proj.weight(9, 7)",
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

TEST_CASE("TNN: all norms of a model are of one type, and all biases are present or absent") {
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

TEST_CASE("Rpe, Glu: gradients") {
  for (const char* norm_type : norm_types)
    for (bool bias : {true, false}) {
      const Rpe rpe(3, small_rpe(bias, norm_type, bias), init64);
      CHECK(module_gradient_error(rpe, random_tensor({{5, 1}, 1, 4}, 3)) <= 1e-6);
      const Glu glu(3, 4, Activation::gelu, init64, bias, Activation::tanh);
      CHECK(module_gradient_error(glu, random_tensor({{2, 3, 3}}, 3)) <= 1e-6);
    }
}

TEST_CASE("Tno: gradients") {
  const Tensor x = random_tensor({{2, 2, 5, 3}}, 3);
  const TnnConfig plain = small_rpe();
  for (bool causal : {true, false})
    for (std::int64_t par_type : {1, 2, 3, 4}) {
      if (par_type == 3 && !causal) continue;
      TnnConfig options = plain;
      options.par_type = par_type;
      CHECK(module_gradient_error(Tno(2, 3, options, causal, init64), x) <= 1e-6);
      options = small_rpe(true, "simplermsnorm");
      options.par_type = par_type;
      options.use_decay = false;
      options.use_multi_decay = true;
      options.act_type = "exp";
      options.normalize = true;
      CHECK(module_gradient_error(Tno(2, 3, options, causal, init64), x) <= 1e-6);
      CHECK(module_gradient_error(Tno(2, 3, options, causal, init64), random_tensor({{2, 2, 1, 3}}, 3)) <= 1e-6);
    }
}

TEST_CASE("Tno with exponentials: gradients") {
  for (const std::int64_t terms : {1, 3}) {
    TnnConfig options;
    options.exponentials = terms;
    const Tno tno(2, 3, options, true, init64);
    CHECK(module_gradient_error(tno, random_tensor({{2, 2, 5, 3}}, 3)) <= 1e-6);
    CHECK(module_gradient_error(tno, random_tensor({{1, 2, 70, 3}}, 3)) <= 1e-6);  // more than a block of lags
  }
}

TEST_CASE("Gtu, TnnLayer: gradients") {
  const Tensor x = random_tensor({{2, 5, 4}}, 3);
  for (const char* norm_type : norm_types)
    for (bool bias : {true, false})
      for (bool option : {true, false}) {
        TnnConfig layer = small_rpe(false, norm_type, bias);
        layer.glu_dim = 3;
        layer.prenorm = option;
        layer.heads = 2;
        layer.expand_ratio = 1.25;
        layer.use_norm = option;
        CHECK(module_gradient_error(Gtu(4, layer, bias, init64), x) <= 1e-6);
        CHECK(module_gradient_error(TnnLayer(4, layer, bias, init64), x) <= 1e-6);
      }
}

TEST_CASE("TNN layer: each of its two parts drops its own elements") {
  TnnConfig options;
  options.dropout = 0.5;
  const TnnLayer layer(64, options, true, init64);
  for (auto [name, parameter] : parameters_of(layer)) {
    const bool is_output = name == "token_mixer.o.bias" || name == "feature_mixer.l3.bias";
    parameter.assign(Tensor::full(parameter.value().shape(), is_output ? 1 : 0, DType::f64));
  }
  // With x = 0, each part adds 1, which dropout changes to 0 or 2.
  const Tensor x = Tensor::zeros({2, 5, 64}, DType::f64);
  const Random random(3);
  int count[5] = {};
  for (double y : layer(x, &random).to_vector<double>()) ++count[static_cast<int>(y)];
  CHECK(count[0] + count[2] + count[4] == 640);
  for (int y : {0, 2, 4}) CHECK(std::abs(count[y] / 640.0 - (y == 2 ? 0.5 : 0.25)) < 0.1);
  CHECK(max_difference(layer(x), Tensor::full({2, 5, 64}, 2, DType::f64)) == 0);
}

// The coefficients by their definition, from the Rpe's own values.
TEST_CASE("Tno: coefficients and their product follow the definition") {
  const Init init{Random(9), DType::f64};
  const std::int64_t n = 6, h = 2, dim = 3, c = h * dim;
  for (std::int64_t par_type : {1, 2, 3, 4})
    for (bool causal : {true, false}) {
      if (par_type == 3 && !causal) continue;
      TnnConfig options = small_rpe();
      options.par_type = par_type;
      options.gamma = 0.9;
      const Tno tno(h, dim, options, causal, init);
      const Rpe rpe(c, options, init.child(0));  // the same as inside the Tno
      const Tensor x = random_tensor({{1, h, n, dim}}, 3);
      const auto got = tno(x).to_vector<double>(), in = x.to_vector<double>();
      const auto t = [&](std::int64_t k, std::int64_t channel) {
        const Tensor p = tnn_position(par_type, static_cast<double>(k), n);
        return std::pow(0.9, std::abs(static_cast<double>(k))) *
               rpe(p).to_vector<double>()[static_cast<std::size_t>(channel)];
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

TEST_CASE("Tno: if a learned decay underflows, lag 0 is unchanged and no gradient is NaN") {
  for (DType dtype : {DType::f32, DType::f64})
    for (double g : {-30.0, -90.0, -200.0, -1e4}) {  // sigmoid(g) is small, below f32's range, 0 in f32, and 0
      CAPTURE(g);
      TnnConfig options = small_rpe();
      options.use_decay = false;
      const Tno plain(1, 2, options, true, {Random(9), dtype});
      options.use_multi_decay = true;
      options.gamma = 0;
      const Tno tno(1, 2, options, true, {Random(9), dtype});
      for (auto& [name, parameter] : parameters_of(tno))
        if (name == "gamma") Parameter(parameter).assign(Tensor::full({1, 1, 2}, g, dtype));
      Tape tape;
      const Tensor t = tno.coefficients(4);
      CHECK(same_bits(slice(t, 0, 0, 1).detach(), slice(plain.coefficients(4), 0, 0, 1).detach()));
      CHECK(max_abs(slice(t, 0, 1, 4).detach()) < 1e-10);  // at most exp(-30)
      Gradients gradients;
      tape.backward(sum(t), gradients);
      for (const auto& named : parameters_of(tno)) {
        CAPTURE(named.first);
        CHECK(std::isfinite(max_abs(gradients.of(named.second))));
      }
    }
}

TEST_CASE("Tno: with time_scales, the decays begin with time scales from 1 token to the given number") {
  TnnConfig options = small_rpe();
  options.use_decay = false;
  options.use_multi_decay = true;
  options.gamma = 0;
  options.time_scales = 100;
  for (const std::int64_t dim : {1, 3}) {
    const Tno tno(1, dim, options, true, init64);
    options.use_multi_decay = false;
    options.time_scales = 0;
    const Tno without(1, dim, options, true, init64);
    options.use_multi_decay = true;
    options.time_scales = 100;
    const auto ratio = div(tno.coefficients(9), without.coefficients(9)).to_vector<double>();
    const std::vector<double> scales = dim == 1 ? std::vector<double>{100} : std::vector<double>{1, 10, 100};
    for (std::size_t k = 0; k < 9; ++k)
      for (std::size_t c = 0; c < scales.size(); ++c)
        CHECK(ratio[k * scales.size() + c] == doctest::Approx(std::exp(-static_cast<double>(k) / scales[c])));
  }
}

TEST_CASE("Tno: the kept coefficients follow the parameters, the length and the batch") {
  for (bool normalize : {false, true}) {
    TnnConfig options = small_rpe();
    options.use_decay = false;
    options.use_multi_decay = true;
    options.normalize = normalize;
    const Tno tno(2, 3, options, true, init64);
    NamedParameters parameters = parameters_of(tno);
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

}  // namespace weft::test
