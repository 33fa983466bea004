// Tests of a continuation that is requested piece by piece.
#include <doctest/doctest.h>

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
