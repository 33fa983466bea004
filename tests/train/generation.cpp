// Tests of a continuation that is requested piece by piece.
#include <doctest/doctest.h>

#include <cmath>

#include "random_parameters.h"
#include "train_support.h"
#include "weft/generate.h"

namespace weft::test {
namespace {

const std::string alphabet = "abcde";

std::unique_ptr<Model> generating_model(const char* arch, Task task = Task::causal_lm) {
  const std::int64_t classes = task == Task::classifier ? 2 : 0;
  auto model = make_model({arch, task, characters(alphabet)->size(), classes, R"({"d_model":24,"layers":2})"},
                          {Random(3), DType::f32});
  randomize(model->parameters(), 0.4);
  return model;
}

std::vector<std::string> pieces_of(Generation generation) {
  std::vector<std::string> pieces;
  while (const std::optional<std::string> piece = generation.next()) pieces.push_back(*piece);
  CHECK(!generation.next());  // the generation remains at its end
  return pieces;
}

}  // namespace

TEST_CASE("Generation: gives the pieces of generate(), one per call") {
  for (const char* arch : {"gmlp", "tnn"}) {
    const auto model = generating_model(arch);
    const auto tokenizer = characters(alphabet);
    GenerateOptions options;
    options.tokens = 30;
    for (const std::vector<std::string>& stop : {std::vector<std::string>{}, {"cab", "dd"}, {"c"}})
      for (const std::uint64_t seed : {1, 2, 3}) {
        options.stop = stop;
        options.seed = seed;
        std::vector<std::string> expected;
        generate(*model, *tokenizer, "abba", options, [&](const std::string& text) {
          expected.push_back(text);
          return true;
        });
        CHECK(pieces_of(Generation(*model, *tokenizer, "abba", options)) == expected);
      }
    options.tokens = 0;
    CHECK(pieces_of(Generation(*model, *tokenizer, "", options)).empty());
  }
}

TEST_CASE("Generation: several generations of one model alternate, and can be moved") {
  const auto model = generating_model("gmlp");
  const auto tokenizer = characters(alphabet);
  GenerateOptions options;
  options.tokens = 12;
  GenerateOptions other = options;
  other.seed = 9;
  const auto one = pieces_of(Generation(*model, *tokenizer, "ab", options));
  const auto two = pieces_of(Generation(*model, *tokenizer, "cd", other));
  Generation first(*model, *tokenizer, "ab", options), second(*model, *tokenizer, "cd", other);
  for (std::size_t i = 0; i < one.size(); ++i) {
    CHECK(first.next() == one[i]);
    CHECK(second.next() == two[i]);
    Generation moved = std::move(first);
    first = std::move(moved);
  }
}

TEST_CASE("Generation: a symbol has its index, its log probability and the reason for the end") {
  const auto model = generating_model("tnn");
  const auto tokenizer = characters(alphabet);
  GenerateOptions options;
  options.tokens = 9;
  options.temperature = 2;
  options.top_k = 3;
  Generation plain(*model, *tokenizer, "abba", options);
  options.log_probabilities = true;
  Generation generation(*model, *tokenizer, "abba", options);
  CHECK(generation.prompt_symbols() == 4);
  CHECK(Generation(*model, *tokenizer, "", options).prompt_symbols() == 1);
  const auto stream = model->stream();
  Tensor logits = stream->append(Tensor::from(tokenizer->encode("abba"), {1, 4}));
  for (int i = 0; i < 9; ++i) {
    const auto symbol = generation.next_symbol(), other = plain.next_symbol();
    REQUIRE(symbol);
    CHECK(symbol->text == tokenizer->decode(symbol->id));
    CHECK(symbol->is_last == (i == 8));
    CHECK(!symbol->is_stopped);
    CHECK(other->id == symbol->id);
    CHECK(other->log_probability == 0);
    std::vector<double> x = raw::convert(logits, DType::f64).to_vector<double>();
    x[static_cast<std::size_t>(*tokenizer->special().unknown)] = -HUGE_VAL;
    double sum = 0;
    for (double v : x) sum += std::exp(v);
    CHECK(symbol->log_probability ==
          doctest::Approx(x[static_cast<std::size_t>(symbol->id)] - std::log(sum)).epsilon(1e-9));
    logits = stream->append(Tensor::from<std::int64_t>({symbol->id}, {1, 1}));
  }
  CHECK(!generation.next_symbol());
  options.stop = {"a", "b", "c", "d", "e"};
  const auto stopped = Generation(*model, *tokenizer, "abba", options).next_symbol();
  REQUIRE(stopped);
  CHECK(stopped->is_last);
  CHECK(stopped->is_stopped);
  CHECK(stopped->text.empty());
}

TEST_CASE("Generation: other seeds continue the prompt without reading it again") {
  for (const char* arch : {"gmlp", "tnn"}) {
    const auto model = generating_model(arch);
    const auto tokenizer = characters(alphabet);
    GenerateOptions options;
    options.tokens = 12;
    options.stop = {"cab"};
    GenerateOptions other = options;
    other.seed = 7;
    const auto expected = pieces_of(Generation(*model, *tokenizer, "abba", other));
    Generation first(*model, *tokenizer, "abba", options);
    CHECK(pieces_of(first.with_seed(7)) == expected);
    Generation second = first.with_seed(7);
    CHECK(second.prompt_symbols() == 4);
    (void)first.next();
    CHECK_THROWS_WITH((void)first.with_seed(8), doctest::Contains("has begun"));
    CHECK(pieces_of(std::move(second)) == expected);  // the first one doesn't write what they share
  }
}

TEST_CASE("Generation: a prompt can be given as indices") {
  const auto model = generating_model("gmlp");
  const auto tokenizer = characters(alphabet);
  GenerateOptions options;
  options.tokens = 9;
  for (const std::string prompt : {"abba", "e", ""})
    CHECK(pieces_of(Generation(*model, *tokenizer, tokenizer->encode(prompt), options)) ==
          pieces_of(Generation(*model, *tokenizer, prompt, options)));
  CHECK_THROWS_AS(Generation(*model, *tokenizer, std::vector<std::int64_t>{tokenizer->size()}, options), Error);
  CHECK_THROWS_AS(Generation(*model, *tokenizer, std::vector<std::int64_t>{-1}, options), Error);
}

TEST_CASE("Generation, score_text: the most probable symbols of each place, and the probability of the chosen one") {
  for (const char* arch : {"gmlp", "tnn"}) {
    const auto model = generating_model(arch);
    const auto tokenizer = characters(alphabet);
    GenerateOptions options;
    options.tokens = 6;
    options.temperature = 0;
    options.log_probabilities = true;
    options.alternatives = 3;
    std::vector<std::int64_t> text = tokenizer->encode("abba");
    Generation generation(*model, *tokenizer, "abba", options);
    std::vector<GeneratedSymbol> symbols;
    while (const auto symbol = generation.next_symbol()) {
      symbols.push_back(*symbol);
      text.push_back(symbol->id);
    }
    const std::vector<ScoredSymbol> scored = score_text(*model, *tokenizer, text, 3);
    REQUIRE(scored.size() == text.size() - 1);
    for (std::size_t i = 0; i < symbols.size(); ++i) {
      const ScoredSymbol& of = scored[i + 3];
      CHECK(of.symbol.id == symbols[i].id);
      CHECK(of.symbol.log_probability == doctest::Approx(symbols[i].log_probability).epsilon(1e-4));
      REQUIRE(symbols[i].most_probable.size() == 3);
      REQUIRE(of.most_probable.size() == 3);
      CHECK(symbols[i].most_probable[0].id == symbols[i].id);  // at temperature 0
      CHECK(symbols[i].most_probable[0].log_probability == symbols[i].log_probability);
      for (std::size_t k = 0; k < 3; ++k) {
        CHECK(of.most_probable[k].id == symbols[i].most_probable[k].id);
        CHECK(of.most_probable[k].log_probability ==
              doctest::Approx(symbols[i].most_probable[k].log_probability).epsilon(1e-4));
        if (k > 0) CHECK(of.most_probable[k].log_probability <= of.most_probable[k - 1].log_probability);
      }
    }
    double sum = 0;
    const auto all = score_text(*model, *tokenizer, text, 100);
    for (const SymbolProbability& p : all[2].most_probable) sum += std::exp(p.log_probability);
    CHECK(sum == doctest::Approx(1).epsilon(1e-12));
  }
}

TEST_CASE("score_text: short texts, special symbols and refusals") {
  const auto model = generating_model("gmlp");
  const auto tokenizer = characters(alphabet);
  CHECK(score_text(*model, *tokenizer, {}).empty());
  CHECK(score_text(*model, *tokenizer, {1}).empty());
  const std::int64_t unknown = *tokenizer->special().unknown;
  CHECK(score_text(*model, *tokenizer, {1, unknown})[0].symbol.log_probability == -HUGE_VAL);
  CHECK(score_text(*model, *tokenizer, {1, 2}, 100)[0].most_probable.size() == alphabet.size());
  CHECK(score_text(*model, *tokenizer, {1, 2})[0].most_probable.empty());
  CHECK_THROWS_WITH((void)score_text(*model, *tokenizer, {1, 2}, -1), doctest::Contains("alternatives"));
  CHECK_THROWS_AS((void)score_text(*model, *tokenizer, {1, 99}), Error);
  const std::vector<std::int64_t> long_text(static_cast<std::size_t>(model->max_length()) + 1, 1);
  CHECK_THROWS_AS((void)score_text(*model, *tokenizer, long_text), Error);
  CHECK_THROWS_WITH((void)score_text(*model, *characters("abc"), {1, 2}), doctest::Contains("do not belong together"));
  const auto classes = generating_model("gmlp", Task::classifier);
  CHECK_THROWS_WITH((void)score_text(*classes, *tokenizer, {1, 2}), doctest::Contains("causal-lm"));
}

TEST_CASE("GenerationBatch: texts that begin and end at any time are the same as alone") {
  for (const char* arch : {"gmlp", "tnn"}) {
    const auto model = generating_model(arch);
    const auto tokenizer = characters(alphabet);
    const std::vector<std::string> prompts{"abba", "", "c", "deadbead", "bade", "ace", "e", "dab", "cab", "bed", "bee"};
    std::vector<std::vector<std::string>> expected, got(prompts.size());
    GenerationBatch batch;
    const auto options_of = [](std::size_t k) {
      GenerateOptions options;
      options.tokens = 7 + 5 * static_cast<std::int64_t>(k % 5);
      options.seed = k;
      if (k % 3 == 1) options.stop = {"cab", "dd"};
      if (k % 4 == 2) options.temperature = 0;
      return options;
    };
    for (std::size_t k = 0; k < prompts.size(); ++k)
      expected.push_back(pieces_of(Generation(*model, *tokenizer, prompts[k], options_of(k))));
    std::vector<bool> ended(prompts.size());
    std::size_t begun = 0;
    for (int step = 0; step < 120 && (begun < prompts.size() || batch.size() > 0); ++step) {
      for (; begun < prompts.size() && static_cast<int>(2 * begun) <= step; ++begun) {
        Generation generation(*model, *tokenizer, prompts[begun], options_of(begun));
        if (begun == 4) got[4].push_back(*generation.next());  // a generation may have begun before
        batch.add(std::move(generation), [&, k = begun](const GeneratedSymbol& symbol) {
          CHECK(symbol.error.empty());
          CHECK(!ended[k]);
          got[k].push_back(symbol.text);
          ended[k] = symbol.is_last;
          return true;
        });
      }
      const std::int64_t left = batch.step();
      CHECK(left == batch.size());
    }
    CHECK(batch.size() == 0);
    CHECK(got == expected);
    CHECK(ended == std::vector<bool>(prompts.size(), true));
  }
}

TEST_CASE("GenerationBatch: a text ends when its receiver says so, and the others continue") {
  const auto model = generating_model("gmlp");
  const auto tokenizer = characters(alphabet);
  GenerateOptions options;
  options.tokens = 6;
  const auto expected = pieces_of(Generation(*model, *tokenizer, "ab", options));
  std::vector<std::string> got;
  int received = 0;
  GenerationBatch batch;
  batch.add(Generation(*model, *tokenizer, "cd", options), [&](const GeneratedSymbol&) { return ++received < 2; });
  batch.add(Generation(*model, *tokenizer, "ab", options), [&](const GeneratedSymbol& symbol) {
    got.push_back(symbol.text);
    return true;
  });
  CHECK(batch.size() == 2);
  CHECK(batch.step() == 2);
  CHECK(batch.step() == 1);
  GenerationBatch moved = std::move(batch);
  while (moved.step() > 0) {
  }
  CHECK(received == 2);
  CHECK(got == expected);
  CHECK(moved.step() == 0);
  CHECK(GenerationBatch().step() == 0);
}

TEST_CASE("GenerationBatch: errors") {
  const auto model = generating_model("gmlp"), other = generating_model("gmlp"), broken = generating_model("gmlp");
  const auto tokenizer = characters(alphabet);
  GenerateOptions options;
  options.tokens = 3;
  const auto ignore = [](const GeneratedSymbol&) { return true; };
  GenerationBatch batch;
  Generation ended(*model, *tokenizer, "ab", options);
  while (ended.next()) {
  }
  CHECK_THROWS_WITH(batch.add(std::move(ended), ignore),
                    "[generate] expected a generation that continues, got one at its end");
  CHECK(batch.size() == 0);

  batch.add(Generation(*model, *tokenizer, "ab", options), ignore);
  CHECK_THROWS_WITH(batch.add(Generation(*other, *tokenizer, "ab", options), ignore),
                    "[generate] expected a generation of the batch's model");
  CHECK(batch.size() == 1);
  while (batch.step() > 0) {
  }
  batch.add(Generation(*other, *tokenizer, "ab", options), ignore);  // the batch is empty
  CHECK(batch.step() == 1);

  for (auto [name, parameter] : broken->parameters())
    parameter.assign(Tensor::full(parameter.value().shape(), std::nan(""), DType::f32));
  std::vector<std::string> errors;
  GenerationBatch of_broken;
  of_broken.add(Generation(*broken, *tokenizer, "ab", options), [&](const GeneratedSymbol& symbol) {
    CHECK(symbol.is_last);
    errors.push_back(symbol.error);
    return true;
  });
  CHECK(of_broken.step() == 0);
  CHECK(errors == std::vector<std::string>{"[generate] the model's logits are not finite"});
}

TEST_CASE("Generation: the constructor refuses the same arguments as generate()") {
  const auto model = generating_model("gmlp"), classes = generating_model("gmlp", Task::classifier);
  const auto tokenizer = characters(alphabet);
  GenerateOptions options;
  CHECK_THROWS_AS(Generation(*classes, *tokenizer, "ab", options), Error);
  CHECK_THROWS_WITH(Generation(*model, *characters("abc"), "ab", options), doctest::Contains("do not belong together"));
  CHECK_THROWS_AS(Generation(*model, *tokenizer, "\xff", options), Error);
  options.top_p = 0;
  CHECK_THROWS_WITH(Generation(*model, *tokenizer, "ab", options), doctest::Contains("top_p"));
}

}  // namespace weft::test
