#include "weft/update_rules.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <optional>

#include "op_table.h"
#include "weft/context.h"

namespace weft::test {
namespace {

using Scalar = long double;

// The state of one element, updated by the textbook formulas in long double.
struct Reference {
  Scalar p, m = 0, v = 0;

  void adam(Scalar g, int step, const AdamOptions& o, bool decoupled) {
    if (decoupled) p *= 1 - static_cast<Scalar>(o.lr) * o.weight_decay;
    else g += o.weight_decay * p;
    m = o.beta1 * m + (1 - static_cast<Scalar>(o.beta1)) * g;
    v = o.beta2 * v + (1 - static_cast<Scalar>(o.beta2)) * g * g;
    const Scalar m_hat = m / (1 - std::pow(static_cast<Scalar>(o.beta1), step));
    const Scalar v_hat = v / (1 - std::pow(static_cast<Scalar>(o.beta2), step));
    p -= o.lr * m_hat / (std::sqrt(v_hat) + o.eps);
  }
  void sgd(Scalar g, int step, const SgdOptions& o) {
    g += o.weight_decay * p;
    m = step == 1 ? g : o.momentum * m + g;
    p -= o.lr * m;
  }
  void lion(Scalar g, const UpdateStep& o) {
    const Scalar beta1 = o.own[0], beta2 = o.own[1], c = beta1 * m + (1 - beta1) * g;
    p -= o.lr * ((c > 0) - (c < 0) + o.weight_decay * p);
    m = beta2 * m + (1 - beta2) * g;
  }
};

enum class Rule { adam, adamw, sgd, lion };
constexpr Rule rules[] = {Rule::adam, Rule::adamw, Rule::sgd, Rule::lion};

const AdamOptions adam_options{0.01, 0.9, 0.99, 1e-6, 0.1};
const SgdOptions sgd_options{0.05, 0.9, 0.1};
constexpr double grad_scale = 0.5;
const UpdateStep lion_step{1, 0.03, {0.9, 0.99}, 0.1, {}, grad_scale};

void lion(Tensor& p, const Tensor& grad, Tensor& m, const UpdateStep& step) {
  std::vector<Tensor> states{m};
  update("lion", p, grad, states, step);
}

struct State {
  Tensor p, m, v;
};

State make_state(std::int64_t n, DType dtype) {
  return {raw::convert(random_tensor({{n}}, 1), dtype), Tensor::zeros({n}, dtype), Tensor::zeros({n}, dtype)};
}

Tensor gradient_of(int step, std::int64_t n, DType dtype) {
  return raw::convert(random_tensor({{n}}, 10 + static_cast<std::uint64_t>(step)), dtype);
}

void update(Rule rule, State& s, const Tensor& grad, int step) {
  if (rule == Rule::adam) adam(s.p, grad, s.m, s.v, step, adam_options, grad_scale);
  if (rule == Rule::adamw) adamw(s.p, grad, s.m, s.v, step, adam_options, grad_scale);
  if (rule == Rule::sgd) sgd(s.p, grad, s.m, step, sgd_options, grad_scale);
  if (rule == Rule::lion) lion(s.p, grad, s.m, lion_step);
}

State run(Rule rule, std::int64_t n, DType dtype, int steps) {
  State s = make_state(n, dtype);
  for (int step = 1; step <= steps; ++step) update(rule, s, gradient_of(step, n, dtype), step);
  return s;
}

// Returns the largest difference between the parameters and the reference. Both start with the same values.
double error_of(Rule rule, std::int64_t n, DType dtype, int steps) {
  const auto values = [](const Tensor& x) { return raw::convert(x, DType::f64).to_vector<double>(); };
  std::vector<Reference> want;
  for (double p : values(make_state(n, dtype).p)) want.push_back({p});
  for (int step = 1; step <= steps; ++step) {
    const auto g = values(gradient_of(step, n, dtype));
    for (std::size_t i = 0; i < want.size(); ++i) {
      const Scalar scaled = grad_scale * static_cast<Scalar>(g[i]);
      if (rule == Rule::sgd) want[i].sgd(scaled, step, sgd_options);
      else if (rule == Rule::lion) want[i].lion(scaled, lion_step);
      else want[i].adam(scaled, step, adam_options, rule == Rule::adamw);
    }
  }
  const auto got = values(run(rule, n, dtype, steps).p);
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double error = static_cast<double>(std::abs(got[i] - want[i].p));
    worst = std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(worst, error);
  }
  return worst;
}

}  // namespace

TEST_CASE("optimizer updates on every instruction set equal formulas in long double") {
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    ContextScope scope(context);
    for (Rule rule : rules)
      for (std::int64_t n : {1, 7, 16, 37, 150}) {
        CAPTURE(n);
        CHECK(error_of(rule, n, DType::f64, 20) <= 1e-14);
        CHECK(error_of(rule, n, DType::f32, 20) <= 4e-6);
      }
  }
}

TEST_CASE("optimizer updates give the same bits for any number of threads and at any position") {
  constexpr std::int64_t n = 50001;
  for (Rule rule : rules) {
    const auto result = [&](int threads) {
      Context context;
      context.set_threads(threads);
      ContextScope scope(context);
      return run(rule, n, DType::f32, 3);
    };
    const State one = result(1);
    for (int threads : {2, 3, 8}) {
      const State more = result(threads);
      CHECK(same_bits(more.p, one.p));
      CHECK(same_bits(more.m, one.m));
      CHECK(same_bits(more.v, one.v));
    }
    State same{Tensor::full({45}, 0.3), Tensor::full({45}, 0.1), Tensor::full({45}, 0.2)};
    update(rule, same, Tensor::full({45}, 0.7), 4);
    for (float v : same.p.to_vector<float>()) CHECK(v == same.p.data<float>()[0]);
  }
}

TEST_CASE("optimizer updates apply weight decay to the first elements only, if requested") {
  constexpr std::int64_t n = 40001, decayed = 20005;
  const auto updated = [](Rule rule, std::optional<std::int64_t> first, double weight_decay) {
    State s = make_state(n, DType::f32);
    AdamOptions adam_like = adam_options;
    SgdOptions sgd_like = sgd_options;
    UpdateStep lion_like = lion_step;
    adam_like.weight_decay = sgd_like.weight_decay = lion_like.weight_decay = weight_decay;
    adam_like.decayed = sgd_like.decayed = lion_like.decayed = first;
    for (int step = 1; step <= 2; ++step) {
      const Tensor grad = gradient_of(step, n, DType::f32);
      if (rule == Rule::adam) adam(s.p, grad, s.m, s.v, step, adam_like, grad_scale);
      if (rule == Rule::adamw) adamw(s.p, grad, s.m, s.v, step, adam_like, grad_scale);
      if (rule == Rule::sgd) sgd(s.p, grad, s.m, step, sgd_like, grad_scale);
      if (rule == Rule::lion) lion(s.p, grad, s.m, lion_like);
    }
    return s.p;
  };
  for (Rule rule : rules) {
    const Tensor all = updated(rule, {}, 0.1), none = updated(rule, {}, 0), some = updated(rule, decayed, 0.1);
    CHECK(same_bits(slice(some, 0, 0, decayed), slice(all, 0, 0, decayed)));
    CHECK(same_bits(slice(some, 0, decayed, n), slice(none, 0, decayed, n)));
    CHECK(!same_bits(slice(all, 0, decayed, n), slice(none, 0, decayed, n)));
    for (std::int64_t wrong : {std::int64_t{-1}, n + 1})
      CHECK_THROWS_WITH_AS(updated(rule, wrong, 0.1), doctest::Contains("elements with weight decay"), Error);
  }
}

// The expected values were computed by hand: c = 0.2, 0.008, -0.08308 and p = 1 - 0.1 (1 + 0.5 · 1), ….
TEST_CASE("lion: three steps, and an element whose gradients are 0") {
  Tensor p = Tensor::from<double>({1, 1}, {2}), m = Tensor::zeros({2}, DType::f64);
  const double gradients[] = {2, -0.1, -1}, want_p[] = {0.85, 0.7075, 0.772125}, want_m[] = {0.02, 0.0188, 0.008612};
  double still = 1;
  for (int i = 0; i < 3; ++i) {
    lion(p, Tensor::from<double>({gradients[i], 0}, {2}), m, {i + 1, 0.1, {0.9, 0.99}, 0.5});
    CHECK(p.data<double>()[0] == doctest::Approx(want_p[i]).epsilon(1e-15));
    CHECK(m.data<double>()[0] == doctest::Approx(want_m[i]).epsilon(1e-14));
    still *= 0.95;
    CHECK(p.data<double>()[1] == doctest::Approx(still).epsilon(1e-15));
    CHECK(m.data<double>()[1] == 0);
  }
}

TEST_CASE("update rules by name: descriptions, and unknown options are refused without changes") {
  std::vector<std::string> names;
  for (const UpdateRule& rule : update_rules()) {
    names.emplace_back(rule.name);
    CAPTURE(names.back());
    Tensor p = Tensor::full({3}, 1);
    const Tensor grad = Tensor::full({3}, 1);
    std::vector<Tensor> states(rule.states, Tensor());
    for (Tensor& state : states) state = Tensor::zeros({3});
    UpdateStep step{1, 0.1, {}, 0};
    for (const RuleOption& option : rule.options) {
      CHECK(option.usual >= option.lowest);
      CHECK(option.usual < option.end);
      CHECK(std::string(option.meaning) != "");
      step.own.push_back(option.usual);
    }
    for (std::size_t i = 0; i < step.own.size(); ++i)
      for (const double bad : {rule.options[i].lowest - 1, rule.options[i].end, std::nan("")}) {
        UpdateStep other = step;
        other.own[i] = bad;
        CHECK_THROWS_WITH_AS(update(rule.name, p, grad, states, other), doctest::Contains(rule.options[i].name), Error);
      }
    UpdateStep other = step;
    other.own.push_back(0);
    CHECK_THROWS_WITH_AS(update(rule.name, p, grad, states, other), doctest::Contains("options, got"), Error);
    other = step;
    other.lr = HUGE_VAL;
    CHECK_THROWS_WITH_AS(update(rule.name, p, grad, states, other), doctest::Contains("a finite lr"), Error);
    other = step;
    other.step = 0;
    CHECK_THROWS_WITH_AS(update(rule.name, p, grad, states, other), doctest::Contains("a step of at least 1"), Error);
    std::vector<Tensor> more = states;
    more.push_back(Tensor::zeros({3}));
    CHECK_THROWS_WITH_AS(update(rule.name, p, grad, more, step), doctest::Contains("states, got"), Error);
    CHECK(same_bits(p, Tensor::full({3}, 1)));
    update(rule.name, p, grad, states, step);
    CHECK(!same_bits(p, Tensor::full({3}, 1)));
  }
  CHECK(names == std::vector<std::string>{"adamw", "adam", "sgd", "lion"});
  Tensor p = Tensor::zeros({3});
  std::vector<Tensor> none;
  CHECK_THROWS_WITH_AS(update("none", p, p, none, {}),
                       "[update] unknown rule \"none\", expected one of adamw, adam, sgd, lion", Error);
}

TEST_CASE("sgd's first step doesn't read the buffer") {
  Tensor p = Tensor::full({5}, 1), buf = Tensor::full({5}, std::nan(""));
  sgd(p, Tensor::full({5}, 2), buf, 1, {0.5, 0.9, 0});
  CHECK(same_bits(p, Tensor::zeros({5})));
  CHECK(same_bits(buf, Tensor::full({5}, 2)));
}

TEST_CASE("an update marks the tensors that it writes") {
  Tape tape;
  Tensor p = Tensor::full({3}, 1);
  const Tensor x = tape.watch(p), loss = sum(mul(x, x));
  Tensor buf = Tensor::zeros({3});
  sgd(p, Tensor::full({3}, 1), buf, 1, {});
  Gradients gradients;
  CHECK_THROWS_AS(tape.backward(loss, gradients), Error);
}

TEST_CASE("l2_norm") {
  for (std::int64_t n : {0, 1, 5, 1000, 100003}) {
    const Tensor x = random_tensor({{n}}, 1);
    long double squares = 0;
    for (double v : x.to_vector<double>()) squares += static_cast<long double>(v) * v;
    CHECK(l2_norm(x) == doctest::Approx(static_cast<double>(std::sqrt(squares))).epsilon(1e-13));
    Context context;
    context.set_threads(1);
    const double many = l2_norm(to_single(x));
    ContextScope scope(context);
    CHECK(l2_norm(to_single(x)) == many);
  }
  CHECK(l2_norm(Tensor::full({4}, 1e30)) == doctest::Approx(2e30));
  CHECK(std::isnan(l2_norm(Tensor::from(std::vector<float>{1, std::nanf("")}, {2}))));
}

TEST_CASE("l2_norm: the same bits for any number of threads and every repetition, over many blocks") {
  const Tensor x = random_tensor({{100 * (1 << 14)}}, 3);  // f64: other orders of summation would round differently
  const auto with_threads = [&](int threads) {
    Context context;
    context.set_threads(threads);
    const ContextScope scope(context);
    return l2_norm(x);
  };
  const double one = with_threads(1);
  for (int i = 0; i < 20; ++i) CHECK(with_threads(8) == one);
}

TEST_CASE("optimizer: errors") {
  Tensor p = Tensor::zeros({3}), m = Tensor::zeros({3}), v = Tensor::zeros({3}), other = Tensor::zeros({4});
  CHECK_THROWS_WITH_AS(adamw(p, other, m, v, 1, {}),
                       "[adamw] expected gradients and states like the parameters, an f32 tensor of shape (3,), got an "
                       "f32 tensor of shape (4,)",
                       Error);
  CHECK_THROWS_WITH_AS(adam(p, p, m, v, 0, {}), "[adam] expected a step of at least 1, got 0", Error);
  CHECK_THROWS_AS(adam(p, p, other, v, 1, {}), Error);
  CHECK_THROWS_AS(sgd(p, Tensor(), m, 1, {}), Error);
  Tensor wide = Tensor::zeros({3, 2}), strided = slice(wide, 1, 0, 1), flat = Tensor::zeros({3, 1});
  CHECK_THROWS_AS(sgd(strided, flat, flat, 1, {}), Error);
  CHECK_THROWS_AS(l2_norm(Tensor::zeros({2}, DType::i64)), Error);
}

}  // namespace weft::test
