#include <doctest/doctest.h>

#include <cmath>

#include "weft/error.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

using Numbers = std::vector<double>;

// A matrix and two vectors, in an order in which the groups are not contiguous.
NamedParameters small_parameters() {
  return {{"a", Parameter(Tensor::from<double>({1, -2, 3}, {3}))},
          {"w", Parameter(Tensor::from<double>({0.5, -1, 2, 4}, {2, 2}))},
          {"b", Parameter(Tensor::from<double>({7}, {1}))}};
}

// Numbers in the order w, a, b: matrices first.
Numbers flat(const NamedParameters& p) {
  Numbers all;
  for (std::size_t i : {1, 0, 2})
    for (double v : p[i].second.value().to_vector<double>()) all.push_back(v);
  return all;
}

Numbers gradient(int step) {
  Numbers g;
  for (int i = 0; i < 8; ++i) g.push_back(std::sin(3.0 * i + step) * (step == 2 ? 10 : 0.1));
  return g;
}

void set_gradient(ParameterSet& set, const Numbers& g) {
  std::size_t next = 0;
  for (const auto& entry : set.entries()) {
    Tensor place = set.gradient(entry);
    for (std::int64_t i = 0; i < entry.numel; ++i) place.mutable_data<double>()[i] = g[next++];
  }
}

// The rules of optimizer.h, one number at a time.
void plain_step(Numbers& p, Numbers& m, Numbers& v, const Numbers& gradient, int t, double lr,
                const OptimizerOptions& o) {
  double norm = 0;
  for (double g : gradient) norm += g * g;
  const double scale = o.clip > 0 ? std::min(1.0, o.clip / (std::sqrt(norm) + 1e-6)) : 1;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const double decay = i < 4 ? o.weight_decay : 0;
    double g = gradient[i] * scale;
    if (o.kind == OptimizerKind::adamw) p[i] *= 1 - lr * decay;
    else g += decay * p[i];
    if (o.kind == OptimizerKind::sgd) {
      m[i] = t == 1 ? g : o.momentum * m[i] + g;
      p[i] -= lr * m[i];
      continue;
    }
    m[i] = o.beta1 * m[i] + (1 - o.beta1) * g;
    v[i] = o.beta2 * v[i] + (1 - o.beta2) * g * g;
    p[i] -= lr * (m[i] / (1 - std::pow(o.beta1, t))) / (std::sqrt(v[i] / (1 - std::pow(o.beta2, t))) + o.eps);
  }
}

}  // namespace

TEST_CASE("optimizers: clipping and decay of matrices alone, against plain loops") {
  for (OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd})
    for (double clip : {0.0, 1.0}) {
      CAPTURE(optimizer_name(kind));
      OptimizerOptions options;
      options.kind = kind;
      options.clip = clip;
      const NamedParameters parameters = small_parameters();
      Numbers p = flat(parameters), m(8, 0), v(8, 0);
      Optimizer optimizer(parameters, options);
      for (int t = 1; t <= 5; ++t) {
        set_gradient(optimizer.parameters(), gradient(t));
        const double norm = optimizer.step(t, 0.01 * t);
        plain_step(p, m, v, gradient(t), t, 0.01 * t, options);
        double want = 0;
        for (double g : gradient(t)) want += g * g;
        CHECK(norm == doctest::Approx(std::sqrt(want)).epsilon(1e-12));
      }
      const Numbers got = flat(parameters);
      for (std::size_t i = 0; i < 8; ++i) CHECK(got[i] == doctest::Approx(p[i]).epsilon(1e-12));
    }
}

TEST_CASE("optimizer: vectors alone, and matrices alone") {
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

TEST_CASE("names of schedules and optimizers") {
  for (const char* name : {"constant", "cosine", "noam"})
    CHECK(std::string(schedule_name(schedule_from_name(name))) == name);
  for (const char* name : {"adamw", "adam", "sgd"})
    CHECK(std::string(optimizer_name(optimizer_from_name(name))) == name);
  CHECK_THROWS_AS((void)schedule_from_name("linear"), Error);
  CHECK_THROWS_AS((void)optimizer_from_name("lion"), Error);
}

}  // namespace weft::test
