// Tests of guessed symbols, which make generation faster and must not change its result.
#include "inference/guesses.h"

#include <doctest/doctest.h>

#include "random_parameters.h"
#include "sweep.h"
#include "train_support.h"
#include "weft/generate.h"

namespace weft::test {
namespace {

using detail::Repetitions;
using Ids = std::vector<std::int64_t>;

Repetitions text_of(const Ids& ids) {
  Repetitions text;
  for (std::int64_t id : ids) text.add(id);
  return text;
}

// Counts the calls of a model's streams.
struct Counts {
  int calls = 0, tokens = 0, taken_back = 0;
};

// Forwards to another model.
class CountedModel : public Model {
 public:
  CountedModel(const Model& model, Counts& counts) : model_(model), counts_(counts) {}
  const char* arch() const noexcept override { return model_.arch(); }
  Task task() const noexcept override { return model_.task(); }
  std::int64_t outputs() const noexcept override { return model_.outputs(); }
  std::int64_t vocabulary() const noexcept override { return model_.vocabulary(); }
  std::string config() const override { return model_.config(); }
  std::int64_t max_length() const noexcept override { return model_.max_length(); }
  void collect(const std::string& prefix, NamedParameters& out) const override { model_.collect(prefix, out); }
  Tensor operator()(const Tensor& tokens, const Random* dropout) const override { return model_(tokens, dropout); }
  std::unique_ptr<TokenStream> stream() const override { return std::make_unique<Stream>(model_.stream(), counts_); }

 private:
  class Stream : public TokenStream {
   public:
    Stream(std::unique_ptr<TokenStream> of, Counts& counts) : of_(std::move(of)), counts_(counts) {}
    std::int64_t texts() const noexcept override { return of_->texts(); }
    Tensor append(const Tensor& tokens) override { return of_->append(tokens); }
    std::int64_t most_at_once() const noexcept override { return of_->most_at_once(); }
    Tensor append_each(const Tensor& tokens) override {
      ++counts_.calls;
      counts_.tokens += static_cast<int>(tokens.size(1));
      return of_->append_each(tokens);
    }
    void take_back(std::int64_t count) override {
      counts_.taken_back += static_cast<int>(count);
      of_->take_back(count);
    }
    std::unique_ptr<TokenStream> select(const std::vector<std::int64_t>& texts) const override {
      return std::make_unique<Stream>(of_->select(texts), counts_);
    }

   private:
    std::unique_ptr<TokenStream> of_;
    Counts& counts_;
  };

  const Model& model_;
  Counts& counts_;
};

const std::string letters = "abcde";

std::unique_ptr<Model> model_of(const char* arch, const char* config) {
  auto model = make_model({arch, Task::causal_lm, characters(letters)->size(), 0, config}, {Random(3), DType::f32});
  randomize(model->parameters(), 0.4);
  return model;
}

std::string text_of(const Model& model, const GenerateOptions& options) {
  std::string all;
  generate(model, *characters(letters), "abba", options, [&](const std::string& text) {
    all += text;
    return true;
  });
  return all;
}

}  // namespace

TEST_CASE("guesses: symbols that followed the same symbols earlier") {
  CHECK(text_of({}).guess(7, 0.2).empty());
  CHECK(text_of({1, 2, 3, 4, 5}).guess(7, 0.2).empty());
  CHECK(text_of({1, 2, 3, 4, 5, 1, 2}).guess(0, 0.2).empty());
  CHECK(text_of({1, 2, 3, 4, 5, 1, 2}).guess(1, 0.1) == Ids{3});
  CHECK(text_of({1, 2, 3, 9, 9, 1, 2, 4, 9, 8, 1, 2}).guess(1, 0.1) == Ids{4});  // the latest occurrence
  CHECK(text_of({5, 1, 2, 3, 6, 1, 2, 4, 7, 1, 2, 8, 9, 1, 2, 0, 5, 1, 2}).guess(1, 0.1) == Ids{3});  // the longer one
}

TEST_CASE("guesses: the number grows with right guesses and falls to 0 with wrong ones") {
  Ids ids;
  for (int i = 0; i < 60; ++i) ids.insert(ids.end(), {1, 2, 3});
  CHECK(text_of(ids).guess(7, 0.2) == Ids{1, 2, 3, 1, 2, 3, 1});  // continues past the end of the text
  CHECK(text_of(ids).guess(2, 0.2) == Ids{1, 2});
  CHECK(text_of(ids).guess(7, 1).empty());                              // a guess costs as much as a step
  for (int i = 0; i < 200; ++i) ids.insert(ids.end(), {1, 2, 10 + i});  // 1, 2 occur again, but what follows is new
  ids.insert(ids.end(), {1, 2});
  CHECK(text_of(ids).guess(7, 0.2).empty());
}

TEST_CASE("generate: with guesses, the text and the probabilities are the same, in fewer steps") {
  constexpr struct {
    const char *arch, *config;
  } models[] = {{"gmlp", R"({"d_model":24,"layers":2,"seq_len":40})"},
                {"gmlp", R"({"d_model":24,"layers":1,"seq_len":300})"},
                {"tnn", R"({"d_model":24,"layers":2,"rpe_dim":8})"},
                {"tnn", R"({"d_model":24,"layers":2,"exponentials":4})"},
                {"tnn", R"({"d_model":8,"layers":1,"rpe_dim":4,"par_type":3})"}};
  for (const auto& [arch, config] : models) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = model_of(arch, config);
    for (const double temperature : {0.0, 0.3, 1.0}) {
      CAPTURE(temperature);
      GenerateOptions options;
      options.tokens = sweep(200, 90);
      options.temperature = temperature;
      const std::string usual = text_of(*model, options);
      options.speculate = true;
      Counts counts;
      const CountedModel counted(*model, counts);
      CHECK(text_of(counted, options) == usual);
      CHECK(counts.tokens - counts.taken_back >= options.tokens - 1);
      if (model->why_stream_is_slow().empty() && temperature == 0)  // a text without sampling repeats itself
        CHECK(counts.calls < options.tokens / 2);

      options.log_probabilities = true;
      const auto tokenizer = characters(letters);
      Generation guessed(*model, *tokenizer, "abba", options);
      options.speculate = false;
      Generation exact(*model, *tokenizer, "abba", options);
      while (const auto symbol = exact.next_symbol()) {
        const auto same = guessed.next_symbol();
        REQUIRE(same.has_value());
        CHECK(same->id == symbol->id);
        CHECK(same->log_probability == symbol->log_probability);
      }
      CHECK(!guessed.next_symbol().has_value());
    }
  }
}

TEST_CASE("generate: a text with guesses joins a batch, and samples ignore the option") {
  const auto model = model_of("gmlp", R"({"d_model":24,"layers":2,"seq_len":200})");
  const auto tokenizer = characters(letters);
  GenerateOptions options;
  options.tokens = 100;
  options.temperature = 0;
  const std::string usual = text_of(*model, options);
  options.speculate = true;
  for (const int before : {0, 1, 30, 37}) {  // guesses are at the end of the stream after some of these numbers
    GenerationBatch batch;
    std::string texts[2];
    for (std::string& text : texts) {
      Generation generation(*model, *tokenizer, "abba", options);
      for (int i = 0; i < before; ++i) text += generation.next().value();
      batch.add(std::move(generation), [&text](const GeneratedSymbol& symbol) {
        text += symbol.text;
        return true;
      });
    }
    while (batch.step() > 0) {
    }
    CHECK(texts[0] == usual);
    CHECK(texts[1] == usual);
  }
  Counts counts;
  const CountedModel counted(*model, counts);
  Generation other = Generation(counted, *tokenizer, "abba", options).with_seed(7);
  std::string of_other;
  while (const auto piece = other.next()) of_other += *piece;
  CHECK(of_other == usual);  // at temperature 0, the seed has no effect
  CHECK(counts.calls > 0);   // with guesses
  CHECK(counts.calls < options.tokens);
  std::string samples[2];
  generate_samples(*model, *tokenizer, "abba", options, 2, [&](const SampleText& piece) {
    samples[piece.sample] += piece.text;
    return true;
  });
  CHECK(samples[0] == usual);
  CHECK(samples[1] == usual);
}

}  // namespace weft::test
