#include <doctest/doctest.h>

#include <cmath>
#include <map>

#include "small_parameters.h"
#include "weft/error.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

// The values of one parameter element that an update rule changes, and the inputs of the rule.
struct Number {
  double p, m = 0, v = 0;
};
struct Told {
  double g, decay, lr;
  int t;
  std::map<std::string, double> own;
};
using Rule = void (*)(Number&, const Told&);

void plain_adam(Number& n, const Told& o) {
  const double beta1 = o.own.at("beta1"), beta2 = o.own.at("beta2"), g = o.g + o.decay * n.p;
  n.m = beta1 * n.m + (1 - beta1) * g;
  n.v = beta2 * n.v + (1 - beta2) * g * g;
  n.p -= o.lr * (n.m / (1 - std::pow(beta1, o.t))) / (std::sqrt(n.v / (1 - std::pow(beta2, o.t))) + o.own.at("eps"));
}

void plain_adamw(Number& n, const Told& o) {
  n.p *= 1 - o.lr * o.decay;
  Told without = o;
  without.decay = 0;
  plain_adam(n, without);
}

void plain_sgd(Number& n, const Told& o) {
  const double g = o.g + o.decay * n.p;
  n.m = o.t == 1 ? g : o.own.at("momentum") * n.m + g;
  n.p -= o.lr * n.m;
}

void plain_lion(Number& n, const Told& o) {
  const double beta1 = o.own.at("beta1"), beta2 = o.own.at("beta2"), c = beta1 * n.m + (1 - beta1) * o.g;
  n.p -= o.lr * ((c > 0 ? 1 : c < 0 ? -1 : 0) + o.decay * n.p);
  n.m = beta2 * n.m + (1 - beta2) * o.g;
}

// The update rule of each optimizer for one element, and options for the test that differ from the defaults.
struct Case {
  Rule rule;
  std::map<std::string, double> own;
};
const std::map<std::string, Case> cases = {
    {"adamw", {plain_adamw, {{"beta1", 0.8}, {"beta2", 0.9}, {"eps", 1e-3}}}},
    {"adam", {plain_adam, {{"beta1", 0.85}, {"beta2", 0.95}, {"eps", 1e-2}}}},
    {"sgd", {plain_sgd, {{"momentum", 0.7}}}},
    {"lion", {plain_lion, {{"beta1", 0.6}, {"beta2", 0.8}}}},
};

void plain_step(std::vector<Number>& numbers, const Numbers& gradient, int t, double lr, const OptimizerOptions& o) {
  double norm = 0;
  for (double g : gradient) norm += g * g;
  const double scale = o.clip > 0 ? std::min(1.0, o.clip / (std::sqrt(norm) + 1e-6)) : 1;
  for (std::size_t i = 0; i < numbers.size(); ++i)
    cases.at(o.name).rule(numbers[i], {gradient[i] * scale, i < 4 ? *o.weight_decay : 0, lr, t, o.own});
}

// Returns the names and values of all options, including those that are omitted.
OptimizerOptions usual_options(const OptimizerInfo& info) {
  OptimizerOptions options{info.name};
  for (const auto& option : info.own) options.own[option.name] = option.usual;
  options.weight_decay = info.weight_decay;
  return options;
}

// Returns weft's own optimizers, without those that other tests register.
std::vector<OptimizerInfo> own_optimizers() {
  std::vector<OptimizerInfo> all = optimizers();
  std::erase_if(all, [](const OptimizerInfo& info) { return info.name.starts_with("test's "); });
  return all;
}

std::string options_error(const OptimizerOptions& options) {
  try {
    const Optimizer made(small_parameters(), options);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("optimizers: clipping, and decay of matrices only, equal plain loops, with default and other options") {
  CHECK(own_optimizers().size() == cases.size() + 2);  // Muon and Adafactor have their own tests
  for (const OptimizerInfo& info : own_optimizers()) {
    if (info.name == "muon" || info.name == "adafactor") continue;
    OptimizerOptions others = usual_options(info);
    CHECK(others.own.size() == cases.at(info.name).own.size());
    others.own = cases.at(info.name).own;
    others.weight_decay = 0.3;
    for (OptimizerOptions options : {usual_options(info), others})
      for (double clip : {0.0, 1.0}) {
        CAPTURE(info.name);
        options.clip = clip;
        const NamedParameters parameters = small_parameters();
        std::vector<Number> numbers;
        for (double p : flat(parameters)) numbers.push_back({p});
        OptimizerOptions given = options;
        if (options.own == usual_options(info).own) given = {info.name, {}, {}, clip};  // all are omitted
        Optimizer optimizer(parameters, given);
        for (int t = 1; t <= 5; ++t) {
          set_gradient(optimizer.parameters(), gradient(t));
          const double norm = optimizer.step(t, 0.01 * t);
          plain_step(numbers, gradient(t), t, 0.01 * t, options);
          double want = 0;
          for (double g : gradient(t)) want += g * g;
          CHECK(norm == doctest::Approx(std::sqrt(want)).epsilon(1e-12));
        }
        const Numbers got = flat(parameters);
        for (std::size_t i = 0; i < 8; ++i) CHECK(got[i] == doctest::Approx(numbers[i].p).epsilon(1e-12));
        // State files have the states in this order.
        ParameterSet& set = optimizer.parameters();
        std::size_t next = 0;
        for (const ParameterSet::Entry& entry : set.entries())
          for (std::int64_t i = entry.offset; i < entry.offset + entry.numel; ++i, ++next) {
            CHECK(set.state(0).data<double>()[i] == doctest::Approx(numbers[next].m).epsilon(1e-12));
            if (optimizer.states() > 1)
              CHECK(set.state(1).data<double>()[i] == doctest::Approx(numbers[next].v).epsilon(1e-12));
          }
      }
  }
}

TEST_CASE("optimizers: their names, states and default options") {
  const auto text = [](const OptimizerOptions& o) { return Optimizer(small_parameters(), o).description(); };
  CHECK(text({}) == R"({"optimizer":"adamw","beta1":0.9,"beta2":0.99,"eps":1e-08,"weight-decay":0.1,"clip":1.0})");
  CHECK(text({"adam"}) ==
        R"({"optimizer":"adam","beta1":0.9,"beta2":0.999,"eps":1e-08,"weight-decay":0.0,"clip":1.0})");
  CHECK(text({"sgd", {{"momentum", 0.5}}, 0.25, 0}) ==
        R"({"optimizer":"sgd","momentum":0.5,"weight-decay":0.25,"clip":0.0})");
  CHECK(text({"lion"}) == R"({"optimizer":"lion","beta1":0.9,"beta2":0.99,"weight-decay":1.0,"clip":1.0})");
  for (const auto& [name, states] : std::map<std::string, std::size_t>{
           {"adamw", 2}, {"adam", 2}, {"sgd", 1}, {"lion", 1}, {"muon", 2}, {"adafactor", 1}}) {
    Optimizer optimizer(small_parameters(), {name});
    CHECK(optimizer.states() == states);
    CHECK(optimizer.parameters().states() == states);
  }
}

TEST_CASE("optimizers: unknown names, options and values change nothing") {
  CHECK(options_error({"none"}).find(
            "[optimizer] unknown optimizer \"none\", expected one of adamw, adam, sgd, lion") == 0);
  CHECK(options_error({"adam", {{"momentum", 0.9}}}) ==
        "[optimizer] adam has no option momentum; its options are beta1, beta2, eps");
  CHECK(options_error({"adamw", {{"beta2", 1}}}) ==
        "[optimizer] expected beta2 of 0.0 or more and less than 1.0, got 1.000000");
  for (const OptimizerInfo& info : own_optimizers()) {
    OptimizerOptions options{info.name};
    CHECK(options_error(options).empty());
    for (const auto& option : info.own) {
      CHECK_FALSE(option.meaning.empty());
      for (double bad : {-0.5, std::nan(""), HUGE_VAL}) {
        options.own = {{option.name, bad}};
        CHECK(options_error(options).find("[optimizer] expected " + option.name + " of ") == 0);
      }
    }
    CHECK(options_error({info.name, {}, -1.0}).find("expected weight decay of ") != std::string::npos);
    CHECK(options_error({info.name, {}, {}, -1}).find("expected clip of ") != std::string::npos);
  }
  const NamedParameters parameters = small_parameters();
  const auto before = parameters[1].second.value().storage();
  CHECK_THROWS_AS(Optimizer(parameters, {"none"}), Error);
  OptimizerOptions grouped;
  grouped.groups = {{"none"}};
  CHECK_THROWS_AS(Optimizer(parameters, grouped), Error);
  CHECK(parameters[1].second.value().storage() == before);
}

TEST_CASE("optimizer: only vectors, and only matrices") {
  for (std::size_t only : {0, 1}) {
    const NamedParameters parameters{small_parameters()[only]};
    const auto before = parameters[0].second.value().to_vector<double>();
    OptimizerOptions options;
    options.weight_decay = 0.5;
    Optimizer optimizer(parameters, options);
    optimizer.parameters().zero_gradients();
    optimizer.step(1, 0.1);
    const auto after = parameters[0].second.value().to_vector<double>();
    for (std::size_t i = 0; i < before.size(); ++i)
      CHECK(after[i] == doctest::Approx(before[i] * (only == 1 ? 0.95 : 1)).epsilon(1e-12));
  }
}

TEST_CASE("optimizer: groups have their own rate and decay, and the first matching group counts") {
  const NamedParameters parameters = {{"blocks.1.w", Parameter(Tensor::from<double>({0.5, -1, 2, 4}, {2, 2}))},
                                      {"blocks.10.w", Parameter(Tensor::from<double>({3, 1}, {1, 2}))},
                                      {"head", Parameter(Tensor::from<double>({7, 8, 9}, {3}))},
                                      {"blocks.1.b", Parameter(Tensor::from<double>({-2}, {1}))},
                                      {"head.w", Parameter(Tensor::from<double>({5}, {1, 1}))}};
  OptimizerOptions options{"sgd", {{"momentum", 0}}, 0.5, 0};
  options.groups = {{"head", 10, 0.25}, {"blocks.1", 0.5}, {"head.w", 100}};
  CHECK_THROWS_WITH_AS(
      Optimizer(parameters, options),
      doctest::Contains("the group \"head.w\" has no trainable parameter that does not already belong"), Error);
  options.groups.pop_back();
  Optimizer optimizer(parameters, options);
  raw::fill(optimizer.parameters().gradients(), 1.0);
  optimizer.step(1, 0.01);
  const auto is = [&](std::size_t i, const Numbers& before, double rate, double decay) {
    const Numbers after = parameters[i].second.value().to_vector<double>();
    for (std::size_t k = 0; k < before.size(); ++k)
      CHECK(after[k] == doctest::Approx(before[k] - 0.01 * rate * (1 + decay * before[k])).epsilon(1e-12));
  };
  is(0, {0.5, -1, 2, 4}, 0.5, 0.5);
  is(1, {3, 1}, 1, 0.5);
  is(2, {7, 8, 9}, 10, 0);
  is(3, {-2}, 0.5, 0);
  is(4, {5}, 10, 0.25);
  CHECK(optimizer.description() ==
        R"({"optimizer":"sgd","momentum":0.0,"weight-decay":0.5,"clip":0.0,"groups":[{"name":"head","rate":10.0,)"
        R"("weight-decay":0.25},{"name":"blocks.1","rate":0.5,"weight-decay":0.5}]})");
}

TEST_CASE("optimizer: a group with rate 0 keeps its parameters, and invalid groups are refused") {
  const NamedParameters parameters = small_parameters();
  OptimizerOptions options;
  options.groups = {{"w", 0}};
  const Numbers before = flat(parameters);
  Optimizer optimizer(parameters, options);
  set_gradient(optimizer.parameters(), gradient(1));
  optimizer.step(1, 0.1);
  const Numbers after = flat(parameters);
  for (std::size_t i = 0; i < 8; ++i) CHECK((after[i] == before[i]) == (i < 4));
  for (const ParameterGroup& bad : {ParameterGroup{"w", -1}, ParameterGroup{"w", std::nan("")},
                                    ParameterGroup{"w", 1, -0.5}, ParameterGroup{"none"}, ParameterGroup{""}}) {
    options.groups = {bad};
    CHECK(options_error(options).find("group \"" + bad.name + "\"") != std::string::npos);
  }
}

TEST_CASE("optimizer: a gradient that is not finite changes nothing") {
  for (double bad : {std::nan(""), HUGE_VAL}) {
    const NamedParameters parameters = small_parameters();
    const Numbers before = flat(parameters);
    Optimizer optimizer(parameters, {});
    Numbers g = gradient(1);
    g[5] = bad;
    set_gradient(optimizer.parameters(), g);
    CHECK_THROWS_AS(optimizer.step(1, 0.1), Error);
    CHECK(flat(parameters) == before);
  }
}

TEST_CASE("schedules") {
  Schedule s;
  s.peak = 2;
  s.warmup = 10;
  s.steps = 110;
  CHECK(s(1) == doctest::Approx(0.2));
  CHECK(s(5) == doctest::Approx(1));
  CHECK(s(10) == doctest::Approx(2));
  CHECK(s(35) == doctest::Approx(1 + std::sqrt(0.5)));
  CHECK(s(60) == doctest::Approx(1));
  CHECK(s(110) == doctest::Approx(0));
  CHECK(s(200) == doctest::Approx(0));
  s.floor = 0.1;
  CHECK(s(60) == doctest::Approx(1.1));
  CHECK(s(110) == doctest::Approx(0.2));
  s.warmup = 0;
  s.steps = 1;
  CHECK(s(1) == doctest::Approx(0.2));
  s.kind = ScheduleKind::constant;
  s.warmup = 4;
  CHECK(s(2) == doctest::Approx(1));
  CHECK(s(1000) == doctest::Approx(2));
  s.kind = ScheduleKind::noam;
  s.peak = 1;
  s.warmup = 16;
  s.d_model = 64;
  CHECK(s(4) == doctest::Approx(0.125 * 4 / 64));
  CHECK(s(16) == doctest::Approx(0.125 / 4));
  CHECK(s(64) == doctest::Approx(0.125 / 8));
  s.warmup = 0;
  CHECK(s(4) == doctest::Approx(0.125 / 2));
}

TEST_CASE("names of schedules and tasks") {
  CHECK(schedules() == std::vector<std::string>{"constant", "cosine", "noam", "linear", "inverse-sqrt"});
  for (const std::string& name : schedules()) CHECK(schedule_name(schedule_from_name(name)) == name);
  std::vector<std::string> own = tasks();
  own.resize(7);  // another test adds tasks
  CHECK(own == std::vector<std::string>{"causal-lm", "masked-lm", "classifier", "regression", "multilabel", "tagging",
                                        "forecast"});
  for (const std::string& name : tasks()) CHECK(task_name(task_from_name(name)) == name);
  CHECK_THROWS_WITH((void)schedule_from_name("square"),
                    "[schedule] expected one of constant, cosine, noam, linear, inverse-sqrt, got \"square\"");
  CHECK_THROWS_WITH((void)task_from_name("sorting"),
                    doctest::Contains("[task] expected one of causal-lm, masked-lm, classifier, regression, "));
}

}  // namespace weft::test
