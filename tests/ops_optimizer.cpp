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

// One element's state, updated by the textbook formulas in long double.
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
};

enum class Rule { adam, adamw, sgd };

const AdamOptions adam_options{0.01, 0.9, 0.99, 1e-6, 0.1};
const SgdOptions sgd_options{0.05, 0.9, 0.1};
constexpr double grad_scale = 0.5;

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
}

State run(Rule rule, std::int64_t n, DType dtype, int steps) {
  State s = make_state(n, dtype);
  for (int step = 1; step <= steps; ++step) update(rule, s, gradient_of(step, n, dtype), step);
  return s;
}

// The largest difference of the parameters from the reference, which starts from the same values.
double error_of(Rule rule, std::int64_t n, DType dtype, int steps) {
  const auto values = [](const Tensor& x) { return raw::convert(x, DType::f64).to_vector<double>(); };
  std::vector<Reference> want;
  for (double p : values(make_state(n, dtype).p)) want.push_back({p});
  for (int step = 1; step <= steps; ++step) {
    const auto g = values(gradient_of(step, n, dtype));
    for (std::size_t i = 0; i < want.size(); ++i) {
      const Scalar scaled = grad_scale * static_cast<Scalar>(g[i]);
      if (rule == Rule::sgd) want[i].sgd(scaled, step, sgd_options);
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

TEST_CASE("optimizer updates of every instruction set against long double") {
  for (Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    ContextScope scope(context);
    for (Rule rule : {Rule::adam, Rule::adamw, Rule::sgd})
      for (std::int64_t n : {1, 7, 16, 37, 150}) {
        CAPTURE(n);
        CHECK(error_of(rule, n, DType::f64, 20) <= 1e-14);
        CHECK(error_of(rule, n, DType::f32, 20) <= 4e-6);
      }
  }
}

TEST_CASE("optimizer updates have the same bits at any thread count and position") {
  constexpr std::int64_t n = 50001;
  for (Rule rule : {Rule::adam, Rule::adamw, Rule::sgd}) {
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

TEST_CASE("optimizer updates decay the first elements alone, if so asked") {
  constexpr std::int64_t n = 40001, decayed = 20005;
  const auto updated = [](Rule rule, std::optional<std::int64_t> first, double weight_decay) {
    State s = make_state(n, DType::f32);
    AdamOptions adam_like = adam_options;
    SgdOptions sgd_like = sgd_options;
    adam_like.weight_decay = sgd_like.weight_decay = weight_decay;
    adam_like.decayed = sgd_like.decayed = first;
    for (int step = 1; step <= 2; ++step) {
      const Tensor grad = gradient_of(step, n, DType::f32);
      if (rule == Rule::adam) adam(s.p, grad, s.m, s.v, step, adam_like, grad_scale);
      if (rule == Rule::adamw) adamw(s.p, grad, s.m, s.v, step, adam_like, grad_scale);
      if (rule == Rule::sgd) sgd(s.p, grad, s.m, step, sgd_like, grad_scale);
    }
    return s.p;
  };
  for (Rule rule : {Rule::adam, Rule::adamw, Rule::sgd}) {
    const Tensor all = updated(rule, {}, 0.1), none = updated(rule, {}, 0), some = updated(rule, decayed, 0.1);
    CHECK(same_bits(slice(some, 0, 0, decayed), slice(all, 0, 0, decayed)));
    CHECK(same_bits(slice(some, 0, decayed, n), slice(none, 0, decayed, n)));
    CHECK(!same_bits(slice(all, 0, decayed, n), slice(none, 0, decayed, n)));
    for (std::int64_t wrong : {std::int64_t{-1}, n + 1})
      CHECK_THROWS_WITH_AS(updated(rule, wrong, 0.1), doctest::Contains("elements to be decayed"), Error);
  }
}

TEST_CASE("sgd's first step doesn't read the buffer") {
  Tensor p = Tensor::full({5}, 1), buf = Tensor::full({5}, std::nan(""));
  sgd(p, Tensor::full({5}, 2), buf, 1, {0.5, 0.9, 0});
  CHECK(same_bits(p, Tensor::zeros({5})));
  CHECK(same_bits(buf, Tensor::full({5}, 2)));
}

TEST_CASE("an update marks what it wrote") {
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

TEST_CASE("l2_norm: the same bits at any thread count, of many blocks and many times") {
  const Tensor x = random_tensor({{100 * (1 << 14)}}, 3);  // f64: sums in another order are rounded otherwise
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
                       "[adamw] expected f32 (3,) for each of parameters, gradients and state, got f32 (4,)", Error);
  CHECK_THROWS_WITH_AS(adam(p, p, m, v, 0, {}), "[adam] steps count from 1, got 0", Error);
  CHECK_THROWS_AS(adam(p, p, other, v, 1, {}), Error);
  CHECK_THROWS_AS(sgd(p, Tensor(), m, 1, {}), Error);
  Tensor wide = Tensor::zeros({3, 2}), strided = slice(wide, 1, 0, 1), flat = Tensor::zeros({3, 1});
  CHECK_THROWS_AS(sgd(strided, flat, flat, 1, {}), Error);
  CHECK_THROWS_AS(l2_norm(Tensor::zeros({2}, DType::i64)), Error);
}

}  // namespace weft::test
