// Tests of several continuations of the same prompt.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "random_parameters.h"
#include "sweep.h"
#include "train_support.h"
#include "weft/generate.h"

namespace weft::test {
namespace {

constexpr struct {
  const char *arch, *config;
} all_models[] = {
    {"gmlp", R"({"d_model":24,"layers":2,"seq_len":16})"},
    {"tnn", R"({"d_model":24,"layers":2,"rpe_dim":8})"},
    {"tnn", R"({"d_model":8,"layers":1,"rpe_dim":4,"par_type":3})"},
};

const std::string letters = "abcde";

std::unique_ptr<Model> sampling_model(const char* arch, const char* config) {
  auto model = make_model({arch, Task::causal_lm, characters(letters)->size(), 0, config}, {Random(3), DType::f32});
  randomize(model->parameters(), 0.4);
  return model;
}

std::string alone(const Model& model, const GenerateOptions& options, std::int64_t& symbols) {
  std::string all;
  symbols += generate(model, *characters(letters), "abba", options, [&](const std::string& text) {
    all += text;
    return true;
  });
  return all;
}

struct Samples {
  std::vector<std::string> texts;
  std::vector<int> ends;            // how often each sample was reported to end
  std::vector<std::int64_t> order;  // the sample of each piece, in order
  std::int64_t symbols = 0;
};

Samples together(
    const Model& model, const GenerateOptions& options, std::int64_t count,
    const std::function<bool(const SampleText&)>& goes_on = [](const SampleText&) { return true; }) {
  Samples all;
  all.texts.resize(static_cast<std::size_t>(count));
  all.ends.resize(all.texts.size());
  const auto out = [&](const SampleText& piece) {
    const auto at = static_cast<std::size_t>(piece.sample);
    CHECK(all.ends.at(at) == 0);  // nothing follows the last piece
    all.texts.at(at) += piece.text;
    all.ends.at(at) += piece.is_last;
    all.order.push_back(piece.sample);
    return goes_on(piece);
  };
  all.symbols = generate_samples(model, *characters(letters), "abba", options, count, out);
  return all;
}

}  // namespace

TEST_CASE("generate_samples: each sample is the text of its seed, whichever samples end first") {
  for (const auto& [arch, config] : all_models) {
    const std::string options_of_model = config;
    CAPTURE(options_of_model);
    const auto model = sampling_model(arch, config);
    GenerateOptions options;
    options.tokens = 30;
    options.seed = 7;
    std::int64_t shortest = 30, longest = 0;
    for (const std::vector<std::string>& stop : {std::vector<std::string>{}, {"cab", "dd", "ea"}, {"c"}})
      for (const std::int64_t count : {1, 11, 2, 8}) {
        if (count == sweep(0, 2)) break;
        CAPTURE(count);
        options.stop = stop;
        const Samples all = together(*model, options, count);
        std::int64_t symbols = 0;
        for (std::int64_t s = 0; s < count; ++s) {
          GenerateOptions own = options;
          own.seed += static_cast<std::uint64_t>(s);
          const std::int64_t before = symbols;
          CHECK(all.texts[static_cast<std::size_t>(s)] == alone(*model, own, symbols));
          CHECK(all.ends[static_cast<std::size_t>(s)] == 1);
          shortest = std::min(shortest, symbols - before);
          longest = std::max(longest, symbols - before);
        }
        CHECK(all.symbols == symbols);
      }
    CHECK(shortest < 10);
    CHECK(longest == 30);
  }
}

TEST_CASE(
    "generate_samples: samples alternate symbol by symbol, eight at a time, and the caller may end single samples") {
  const auto model = sampling_model("gmlp", all_models[0].config);
  GenerateOptions options;
  options.tokens = 3;
  const Samples plain = together(*model, options, 10);
  std::vector<std::int64_t> order;
  for (int i = 0; i < 3; ++i)
    for (std::int64_t s = 0; s < 8; ++s) order.push_back(s);
  for (int i = 0; i < 3; ++i)
    for (std::int64_t s = 8; s < 10; ++s) order.push_back(s);
  CHECK(plain.order == order);
  const Samples ended = together(*model, options, 10, [](const SampleText& piece) { return piece.sample % 3 != 1; });
  for (std::size_t s = 0; s < 10; ++s) {
    CHECK(ended.texts[s] == (s % 3 == 1 ? plain.texts[s].substr(0, 1) : plain.texts[s]));
    CHECK(ended.ends[s] == (s % 3 == 1 ? 0 : 1));
  }
  CHECK(plain.symbols == 30);
  CHECK(ended.symbols == 24);
  options.tokens = 0;
  CHECK(together(*model, options, 3).order.empty());
}

TEST_CASE("generate_samples: exceptions of the caller are rethrown, and refusals") {
  const auto model = sampling_model("tnn", all_models[1].config);
  CHECK_THROWS_WITH(together(*model, {}, 3, [](const SampleText&) -> bool { throw std::runtime_error("enough"); }),
                    "enough");
  CHECK_THROWS_WITH_AS(together(*model, {}, 0), "[generate] expected at least one sample, got 0", Error);
  GenerateOptions options;
  options.top_k = -1;
  CHECK_THROWS_AS(together(*model, options, 2), Error);
}

}  // namespace weft::test
