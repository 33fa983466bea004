// Tests of TNN's token streams: what each token changes, and results compared with the full forward pass.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "random_parameters.h"
#include "sweep.h"
#include "tnn/activation_lift.h"
#include "tnn_support.h"
#include "weft/context.h"
#include "weft/profile.h"

namespace weft::test {

TEST_CASE("activation_lift: no activation exceeds its argument by more than this value") {
  for (const ActivationName& each : activation_names) {
    CAPTURE(each.name);
    const double lift = detail::activation_lift(each.value);
    for (double x = -30; x <= 30; x += 0.25) {
      const double y = activation(Tensor::full({1}, x, DType::f64), each.value).to_vector<double>()[0];
      CHECK(std::abs(y) <= std::abs(x) + lift);
    }
  }
}

TEST_CASE("TNN language model: a token doesn't change earlier logits, even beyond the training length") {
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

TEST_CASE("TNN token stream: the logits of the full forward pass, beyond the training length") {
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
        // With par_type 2, the full pass covers only the tokens so far.
        const Tensor pass = rerun ? (*model)(slice(tokens, 1, 0, i + 1)) : full;
        worst = std::max(worst, max_difference(logits, reshape(slice(pass, 1, i, i + 1), {7})));
      }
      CHECK(worst <= 1e-5);
    }
  CHECK_THROWS_AS(small_model(Task::classifier)->stream(), Error);
  CHECK_THROWS_AS(small_model(Task::masked_lm)->stream(), Error);
}

// These texts are longer than the largest blocks that the tests of all architectures reach.
TEST_CASE("TNN token stream: long texts, after a prompt and token by token") {
  const std::int64_t n = 1000;
  for (const char* more : {R"("gamma":1)", R"("gamma":0.5)", R"("gamma":0.97,"normalize":true,"act_type":"1+elu")",
                           R"("gamma":0.8,"normalize":true,"act_type":"relu")"})
    for (const DType dtype : {DType::f64, DType::f32}) {
      const std::string options_of_model = more;
      CAPTURE(options_of_model);
      const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(more)}, {Random(5), dtype});
      randomize(model->parameters(), 0.3);
      const Tensor tokens = random_tokens(1, n), full = (*model)(tokens);
      const auto ids = tokens.to_vector<std::int64_t>();
      for (const std::int64_t prompt : {0, 390, 767, 768}) {
        if (prompt < sweep(0, 767)) continue;
        CAPTURE(prompt);
        const auto stream = model->stream();
        if (prompt > 0) (void)stream->append(slice(tokens, 1, 0, prompt));
        double worst = 0;
        for (std::int64_t i = prompt; i < n; ++i)
          worst = std::max(worst, max_difference(stream->next(ids[static_cast<std::size_t>(i)]),
                                                 reshape(slice(full, 1, i, i + 1), {7})));
        CHECK(worst <= (dtype == DType::f64 ? 1e-12 : 2e-5) * std::max(1.0, max_abs(full)));
      }
    }
}

TEST_CASE("TNN token stream: no token waits for many products, not even the first token after a prompt") {
  const auto model = small_model(Task::causal_lm, R"("gamma":1,"layers":4)");
  for (const std::int64_t prompt : {700, 768}) {
    const auto stream = model->stream();
    (void)stream->append(random_tokens(1, prompt));
    std::int64_t most = 0;
    for (std::int64_t i = 0; i < 130; ++i) {
      const Profile profile;
      (void)stream->next(i % 7);
      const auto found = profile.ops().find("toeplitz_product");
      most = std::max<std::int64_t>(most, found == profile.ops().end() ? 0 : found->second.calls);
    }
    CAPTURE(prompt);
    CHECK(most <= 4);
  }
}

TEST_CASE("Norm: no row's norm exceeds its bound, even if the bias is larger than the weight") {
  const Norm norm(NormType::layer_norm, 4, init64);
  for (const double bias : {0.0, 0.1, 100.0}) {
    for (auto [name, parameter] : parameters_of(norm))
      parameter.assign(name == "weight" ? Tensor::from<double>({0.5, -2, 1, 0.1}, {4})
                                        : Tensor::from<double>({bias, -bias, bias, -bias}, {4}));
    const Tensor y = norm(random_tensor({{200, 4}}, 1)), lengths = sqrt(sum(square(y), {1}));
    const double longest = max_abs(lengths), bound = norm.bound(4);
    CHECK(bound == doctest::Approx(2 * 2 + 2 * bias));  // 2 √d + ‖bias‖₂
    CHECK(longest <= bound);
    CHECK(longest > bound / 2);
  }
}

TEST_CASE(
    "Tno: lags that aren't significant weigh less than rounding, and coefficients of some lags are those of all") {
  constexpr std::int64_t all_lags = std::numeric_limits<std::int64_t>::max();
  struct Case {
    std::int64_t least, most;
    TnnConfig options;
  };
  TnnConfig norms = small_rpe(false, "simplermsnorm", false);
  norms.rpe_layers = 1;
  norms.rpe_act = "relu";
  std::vector<Case> cases;
  const auto add = [&](std::int64_t least, std::int64_t most, double gamma, TnnConfig options, bool learned = false,
                       const char* act = "none") {
    options.use_decay = !learned;
    options.use_multi_decay = learned;
    options.gamma = gamma;
    options.act_type = act;
    cases.push_back({least, most, options});
  };
  add(150, 260, 0.9, small_rpe());
  add(150, 1100, 0.9, norms);
  add(1500, 2400, 0.99, small_rpe(true, "simplermsnorm"));
  add(20, 1100, 0.9, norms, false, "relu");
  add(1500, 20000, 0.99, small_rpe(), true);
  TnnConfig spread = small_rpe();
  spread.time_scales = 300;
  add(2000, 20000, 0, spread, true);
  add(1, 1, 0, small_rpe());
  for (const char* act : {"sigmoid", "tanh", "2+elu", "gelu"}) {
    TnnConfig rpe = small_rpe();
    rpe.rpe_act = act;
    add(150, 320, 0.9, rpe);
  }
  TnnConfig growing = small_rpe();
  growing.rpe_act = "exp";
  add(900, 1100, 0.9, growing);  // the first lag for which gamma^k is 0
  add(all_lags, all_lags, 1, small_rpe());
  for (const char* act : {"exp", "sigmoid", "1+elu"}) add(all_lags, all_lags, 0.9, small_rpe(), false, act);
  for (const Case& c : cases)
    for (const DType dtype : {DType::f32, DType::f64}) {
      CAPTURE(c.options.gamma);
      CAPTURE(c.options.rpe_act);
      CAPTURE(c.options.act_type);
      const Tno tno(2, 3, c.options, true, {Random(5), dtype});
      randomize(parameters_of(tno), 0.5);
      const std::int64_t lags = tno.significant_lags();
      CHECK(lags >= c.least);
      if (dtype == DType::f32 || c.most == 1) CHECK(lags <= c.most);
      const std::int64_t n = std::min<std::int64_t>(lags, 30000) + 500;
      const Tensor t = tno.coefficients(n);
      CHECK(max_difference(tno.coefficients(70, n), slice(t, 0, 70, n)) <=
            (dtype == DType::f32 ? 1e-5 : 1e-13) * std::max(1.0, max_abs(t)));
      if (lags > 30000) continue;
      const auto all = raw::convert(t, DType::f64).to_vector<double>();
      std::vector<double> first(6), rest(6);
      for (std::size_t i = 0; i < all.size(); ++i) {
        if (i / 6 < 64) first[i % 6] += std::abs(all[i]);
        if (static_cast<std::int64_t>(i / 6) >= lags) rest[i % 6] += std::abs(all[i]);
      }
      for (std::size_t i = 0; i < 6; ++i) CHECK(rest[i] <= (dtype == DType::f32 ? 0x1p-24 : 0x1p-53) * first[i]);
    }
  growing.gamma = 0.9;
  const Tno biased(1, 2, growing, true, {Random(5), DType::f32});
  for (const auto& [name, parameter] : parameters_of(biased))  // 0 times an infinite bound of the other factor
    if (name == "rpe.out.2.weight") Parameter(parameter).assign(Tensor::zeros(parameter.value().shape()));
  CHECK(biased.significant_lags() > 900);
  const Tno tno(1, 2, cases.front().options, true, {Random(5), DType::f32});
  CHECK_THROWS_AS((void)tno.coefficients(3, 3), Error);
  CHECK_THROWS_AS((void)tno.coefficients(-1, 3), Error);
  TnnConfig other = cases.front().options;
  other.par_type = 2;
  CHECK_THROWS_AS((void)Tno(1, 2, other, true, {Random(5), DType::f32}).coefficients(0, 3), Error);
  other.par_type = 1;
  CHECK_THROWS_AS((void)Tno(1, 2, other, false, {Random(5), DType::f32}).coefficients(0, 3), Error);
}

TEST_CASE("TNN token streams: coefficients that the model keeps are those that a new model computes") {
  const auto make = [] {
    const std::string config = small_config(R"("gamma":1,"normalize":true)");
    return make_model({"tnn", Task::causal_lm, 7, 0, config}, {Random(5), DType::f32});
  };
  const auto model = make();
  // Compares the logits of a prompt, and of a token after it, with those of a model that keeps nothing yet.
  const auto check = [&](std::int64_t n) {
    CAPTURE(n);
    const auto fresh = make();
    NamedParameters to = fresh->parameters();
    for (std::size_t i = 0; i < to.size(); ++i) to[i].second.assign(model->parameters()[i].second.value());
    fresh->set_precision(model->precision());
    const auto logits = [n](const Model& of) {
      const auto stream = of.stream();
      const Tensor prompt = stream->append(random_tokens(1, n));
      return concat({reshape(prompt, {7}), stream->next(2)}, 0);
    };
    CHECK(same_bits(logits(*model), logits(*fresh)));
  };
  for (const std::int64_t n : {70, 200, 70, 2, 300}) check(n);
  randomize(model->parameters(), 0.7);
  check(200);
  model->set_precision(Precision::bf16);
  check(200);
  for (const Isa isa : available_isas()) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    check(200);
  }
}

TEST_CASE("TNN token streams: coefficients of two instruction sets are not kept") {
  const auto make = [] {
    return make_model({"tnn", Task::causal_lm, 7, 0, R"({"d_model":32,"layers":2,"gamma":1})"},
                      {Random(5), DType::f32});
  };
  const auto model = make(), fresh = make();
  const auto stream = model->stream();
  for (const Isa isa : {available_isas().back(), available_isas().front(), available_isas().back()}) {
    Context context;
    context.set_isa(isa);
    const ContextScope scope(context);
    (void)stream->append(random_tokens(1, 70));
    for (std::int64_t i = 0; i < 200; ++i) (void)stream->next(i % 7);
  }
  (void)stream->append(random_tokens(1, 2));
  const Tensor prompt = random_tokens(1, 700);
  CHECK(same_bits(model->stream()->append(prompt), fresh->stream()->append(prompt)));
}

TEST_CASE("TNN token stream: tokens that are tried stay within a block, after a prompt, too") {
  const auto model = small_model(Task::causal_lm, R"("gamma":1)");
  const auto stream = model->stream(), single = model->stream();
  for (const auto& each : {stream.get(), single.get()}) (void)each->append(random_tokens(1, 190));
  CHECK(stream->most_at_once() == 2);  // blocks have 64 rows
  for (int i = 0; i < 6; ++i) {
    const Tensor tried = random_tokens(1, stream->most_at_once());
    const Tensor logits = stream->append_each(tried);
    stream->take_back(tried.size(1) - 1);
    CHECK(same_bits(slice(logits, 0, 0, 1), single->append(slice(tried, 1, 0, 1))));
  }
}

TEST_CASE("TNN token streams: the coefficients of the longest prompt are kept") {
  const auto model = small_model(Task::causal_lm);
  const auto linears = [&](std::int64_t n) {
    const NoGrad suspended;
    const Profile profile;
    (void)model->stream()->append(random_tokens(1, n));
    return profile.ops().at("linear").calls;
  };
  const std::int64_t first = linears(300), second = linears(300);
  CHECK(second < first);
  CHECK(linears(70) == second);
  CHECK(linears(300) == second);
}

TEST_CASE("TNN: two token streams of one model are independent, and a tape records nothing") {
  const auto model = small_model(Task::causal_lm);
  const auto a = model->stream(), b = model->stream();
  const Tensor first = a->next(3);
  (void)a->next(1);
  Tape tape;
  CHECK(max_difference(b->next(3), first) == 0);
  CHECK(tape.records() == 0);
}

}  // namespace weft::test
