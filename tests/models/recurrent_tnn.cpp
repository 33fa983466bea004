// Tests of TNNs whose coefficients are sums of exponentials, and of fitting them to another TNN.
#include "weft/recurrent_tnn.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <complex>
#include <limits>

#include "random_parameters.h"
#include "same_parameters.h"
#include "tnn/eigenvalues.h"
#include "tnn_support.h"

namespace weft::test {
namespace {

constexpr const char* exponentials = R"("exponentials":3,"layers":2,"seq_len":200)";

}  // namespace

TEST_CASE("eigenvalues: those of a companion matrix are the roots of its polynomial") {
  // (x - 1/2) (x + 3) (x² - x + 1) (x - 0.99) (x - 0.98)
  std::vector<std::complex<double>> roots{{0.5, 0},  {-3, 0},  {0.5, std::sqrt(0.75)}, {0.5, -std::sqrt(0.75)},
                                          {0.99, 0}, {0.98, 0}};
  std::vector<std::complex<double>> polynomial{1};  // ascending powers
  for (const auto& root : roots) {
    polynomial.insert(polynomial.begin(), 0);
    for (std::size_t i = 0; i + 1 < polynomial.size(); ++i) polynomial[i] -= root * polynomial[i + 1];
  }
  const std::size_t n = roots.size();
  std::vector<double> matrix(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    matrix[i * n + n - 1] = -polynomial[i].real();
    if (i > 0) matrix[i * n + i - 1] = 1;
  }
  const auto size = static_cast<std::int64_t>(n);
  auto found = detail::eigenvalues(Tensor::from(matrix, {size, size}));
  REQUIRE(found.size() == n);
  const auto before = [](const std::complex<double>& x, const std::complex<double>& y) {
    return std::pair(std::round(x.real() * 1e6), x.imag()) < std::pair(std::round(y.real() * 1e6), y.imag());
  };
  std::sort(roots.begin(), roots.end(), before);
  std::sort(found.begin(), found.end(), before);
  for (std::size_t i = 0; i < n; ++i) CHECK(std::abs(found[i] - roots[i]) <= 1e-11);
  CHECK(detail::eigenvalues(Tensor::zeros({3, 3}, DType::f64)) == std::vector<std::complex<double>>(3, 0));
}

TEST_CASE("Exponentials: a range of lags, and the initial time scales") {
  TnnConfig options;
  options.exponentials = 5;
  options.seq_len = 81;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Exponentials t(6, options, {Random(5), dtype});
    const Tensor all = t(0, 500);
    CHECK(all.shape() == Shape{500, 6});
    for (const auto& [first, last] : {std::pair<std::int64_t, std::int64_t>{0, 1}, {70, 300}, {499, 500}})
      CHECK(max_difference(t(first, last), slice(all, 0, first, last)) <= (dtype == DType::f32 ? 1e-4 : 1e-12));
    const auto nu = raw::convert(parameters_of(t)[0].second.value(), DType::f64).to_vector<double>();
    for (std::size_t j = 0; j < 5; ++j) CHECK(std::exp(-nu[6 * j]) == doctest::Approx(std::pow(3, j)));
  }
}

TEST_CASE("Recurrent TNN: the stream has the logits of the full forward pass, in long texts and after prompts") {
  const std::int64_t n = 700;
  for (const DType dtype : {DType::f64, DType::f32}) {
    const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(exponentials)}, {Random(5), dtype});
    const Tensor tokens = random_tokens(1, n), full = (*model)(tokens);
    const auto ids = tokens.to_vector<std::int64_t>();
    for (const std::int64_t prompt : {0, 1, 300}) {
      CAPTURE(prompt);
      std::unique_ptr<TokenStream> stream = model->stream();
      if (prompt > 0) (void)stream->append(slice(tokens, 1, 0, prompt));
      double worst = 0;
      for (std::int64_t i = prompt; i < n; ++i) {
        if (i == n / 2) stream = stream->select({0});
        worst = std::max(worst, max_difference(stream->next(ids[static_cast<std::size_t>(i)]),
                                               reshape(slice(full, 1, i, i + 1), {7})));
      }
      CHECK(worst <= (dtype == DType::f64 ? 1e-12 : 1e-4) * std::max(1.0, max_abs(full)));
    }
    CHECK(model->stream_bytes(10) == model->stream_bytes(1000000));
  }
}

TEST_CASE("Recurrent TNN: tokens that are tried are taken back in two steps, and all lags are significant") {
  const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(exponentials)}, {Random(5), DType::f64});
  const auto stream = model->stream(), single = model->stream();
  const Tensor tried = random_tokens(1, 6), other = random_tokens(1, 1);
  const Tensor logits = stream->append_each(tried);
  stream->take_back(2);
  stream->take_back(3);
  CHECK(max_difference(slice(logits, 0, 0, 1), single->append(slice(tried, 1, 0, 1))) <= 1e-12);
  CHECK(max_difference(stream->append(other), single->append(other)) <= 1e-12);
  const Tno& tno = dynamic_cast<const Tnn&>(*model).layers()[0].token_mixer().toep();
  CHECK(tno.significant_lags() == std::numeric_limits<std::int64_t>::max());
}

TEST_CASE("recurrent_tnn: the new model has nearly the same coefficients and logits") {
  for (const char* more : {R"("gamma":0.9)", R"("use_decay":false,"use_multi_decay":true,"gamma":0.8)",
                           R"("gamma":0.9,"act_type":"tanh")", R"("par_type":4,"gamma":0.8)"}) {
    CAPTURE(more);
    const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(more)}, {Random(5), DType::f32});
    const RecurrentTnn made = recurrent_tnn(*model, 12, 200);
    REQUIRE(made.errors.size() == 2);
    for (double error : made.errors) CHECK(error <= 1e-3);
    const Tensor tokens = random_tokens(2, 300), logits = (*model)(tokens);
    CHECK(max_difference((*made.model)(tokens), logits) <= 2e-3 * max_abs(logits));
    CHECK(nlohmann::json::parse(made.model->config()).at("exponentials") == 12);
  }
}

TEST_CASE("recurrent_tnn: a decay of 0, which no exponential has, and unused exponentials, which are 0") {
  const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(R"("gamma":0)")}, {Random(5), DType::f32});
  const RecurrentTnn made = recurrent_tnn(*model, 4, 64);  // only lag 0 has a coefficient
  for (double error : made.errors) CHECK(error <= 1e-6);
  for (const auto& [name, parameter] : made.model->parameters())
    if (name.ends_with("exponentials.a") || name.ends_with("exponentials.b"))
      CHECK(max_abs(slice(parameter.value(), 0, 1, 4)) == 0);
}

TEST_CASE("recurrent_tnn: the fewest lags, and models in f64") {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const std::int64_t terms : {1, 2, 4, 16}) {
      CAPTURE(terms);
      const auto model = make_model({"tnn", Task::causal_lm, 7, 0, small_config(R"("gamma":0.9)")}, {Random(5), dtype});
      const RecurrentTnn made = recurrent_tnn(*model, terms, 4 * terms);
      CHECK(made.model->parameters().front().second.value().dtype() == dtype);
      for (double error : made.errors) CHECK(error <= (terms == 1 ? 0.5 : 0.1));
    }
}

TEST_CASE("recurrent_tnn: the same bits with any number of threads") {
  const auto model =
      make_model({"tnn", Task::causal_lm, 7, 0, small_config(R"("gamma":0.9)")}, {Random(5), DType::f32});
  const auto made = [&](int threads) {
    Context context;
    context.set_threads(threads);
    const ContextScope scope(context);
    return recurrent_tnn(*model, 5, 60);
  };
  const RecurrentTnn one = made(1), three = made(3);
  CHECK(one.errors == three.errors);
  CHECK(same_parameters(*one.model, *three.model));
}

TEST_CASE("Exponentials: any nu gives finite coefficients, which are those of the stream") {
  const auto model = small_model(Task::causal_lm, R"("exponentials":2)");
  for (auto [name, parameter] : model->parameters())
    if (name.ends_with("exponentials.nu")) {
      Tensor nu = Tensor::full(parameter.value().shape(), 1e6, DType::f64);
      Tensor first = slice(nu, 0, 0, 1);
      raw::fill(first, -1e6);
      parameter.assign(nu);
    }
  const Tensor tokens = random_tokens(1, 5), logits = (*model)(tokens);
  CHECK(max_abs(logits) < 1e6);
  const auto stream = model->stream();
  const Tensor last = stream->append(tokens);
  CHECK(max_difference(last, reshape(slice(logits, 1, 4, 5), {1, 7})) <= 1e-9);
}

TEST_CASE("recurrent_tnn: errors") {
  const auto refused = [](const Model& model, const char* what, std::int64_t terms = 4, std::int64_t lags = 64) {
    CHECK_THROWS_WITH_AS((void)recurrent_tnn(model, terms, lags), doctest::Contains(what), Error);
  };
  refused(*make_model({"gmlp", Task::causal_lm, 7, 0, R"({"d_model":6,"layers":1,"seq_len":9})"}, Init{}),
          "expected a causal language model of the architecture tnn");
  refused(*small_model(Task::masked_lm), "expected a causal language model");
  refused(*small_model(Task::causal_lm, R"("par_type":2)"), "expected a TNN with par_type 1 or 4, got par_type 2");
  refused(*small_model(Task::causal_lm, R"("normalize":true)"), "expected a TNN without normalize");
  refused(*small_model(Task::causal_lm, R"("exponentials":2)"), "expected a TNN without exponentials");
  refused(*small_model(Task::causal_lm), "expected at least 1 exponential, got 0", 0);
  refused(*small_model(Task::causal_lm), "at least 4 lags for each exponential", 17);
  refused(*small_model(Task::causal_lm), "at least 4 lags for each exponential", std::int64_t{1} << 62);
  refused(*small_model(Task::causal_lm), "at most 8192 lags", 4, 8193);
}

}  // namespace weft::test
