// Tests of filling gaps in texts. fill_mask must return the model's own logits at the masked positions.
#include <doctest/doctest.h>

#include "train_support.h"
#include "weft/fill_mask.h"

namespace weft::test {
namespace {

Checkpoint masked(const std::string& arch, const std::string& kind = "characters") {
  TokenizerOptions options;
  options.task = Task::masked_lm;
  Checkpoint made;
  made.tokenizer = learn_tokenizer(kind, small_text(), options);
  made.model = small_model(arch, Task::masked_lm, made.tokenizer->size(), 0, {});
  return made;
}

}  // namespace

TEST_CASE("fill_mask: the most probable symbols for each gap according to the model's logits there") {
  for (const std::string& arch : own_architectures) {
    const std::vector<Task> tasks = architecture(arch).tasks;
    if (std::find(tasks.begin(), tasks.end(), Task::masked_lm) == tasks.end()) continue;
    CAPTURE(arch);
    const Checkpoint made = masked(arch);
    const std::string text = "the qu[mask]ck [mask]";
    const FilledText filled = fill_mask(made, text, 0);
    REQUIRE(filled.gaps.size() == 2);
    std::vector<std::int64_t> ids = made.tokenizer->encode("the qu");
    const std::size_t first = ids.size();
    ids.push_back(*made.tokenizer->special().mask);
    for (const std::int64_t id : made.tokenizer->encode("ck ")) ids.push_back(id);
    const std::size_t second = ids.size();
    ids.push_back(*made.tokenizer->special().mask);
    const NoGrad suspended;
    const Tensor p = softmax((*made.model)(Tensor::from(ids, {1, std::ssize(ids)})), -1);
    const auto symbols = static_cast<std::size_t>(made.tokenizer->size());
    const std::vector<float> all = p.to_vector<float>();
    std::size_t gap = 0;
    for (const std::size_t place : {first, second}) {
      const std::vector<Prediction>& given = filled.gaps[gap++];
      CHECK(given.size() == symbols - 2);  // all symbols except the unknown symbol and the mask
      for (std::size_t i = 0; i < given.size(); ++i) {
        const std::int64_t id = made.tokenizer->encode(given[i].label).front();
        CHECK(given[i].probability ==
              doctest::Approx(all[place * symbols + static_cast<std::size_t>(id)]).epsilon(1e-5));
        if (i > 0) CHECK(given[i].probability <= given[i - 1].probability);
      }
    }
    CHECK(filled.text == "the qu" + filled.gaps[0][0].label + "ck " + filled.gaps[1][0].label);
    const FilledText some = fill_mask(made, text, 3);
    CHECK(some.gaps[1].size() == 3);
    CHECK(some.gaps[1][2].label == filled.gaps[1][2].label);
    const double least = filled.gaps[0][1].probability;
    CHECK(fill_mask(made, text, 0, least).gaps[0].size() == 2);
    CHECK(fill_mask(made, text, 0, 1).gaps[0].empty());
    CHECK(fill_mask(made, text, 0, 1).text == filled.text);
  }
}

TEST_CASE("fill_mask: texts without gaps, and models that can't fill gaps") {
  const Checkpoint made = masked("fnet", "words");
  CHECK(fill_mask(made, "[mask]").gaps.size() == 1);
  CHECK(fill_mask(made, "[mask][mask] quick[mask]").gaps.size() == 3);
  const FilledText large = fill_mask(made, "the [MASK][[mask] x[Mask]"),
                   lower = fill_mask(made, "the [mask][[mask] x[mask]");
  CHECK(large.gaps.size() == 3);
  CHECK(large.text == lower.text);
  CHECK(large.gaps[0][0].probability == lower.gaps[0][0].probability);
  CHECK_THROWS_WITH((void)fill_mask(made, "the quick"), doctest::Contains("expected a text with \"[mask]\""));
  CHECK_THROWS_WITH((void)fill_mask(made, ""), doctest::Contains("got none"));
  CHECK_THROWS_WITH((void)fill_mask(made, "[mask] caf\xE9"), doctest::Contains("invalid UTF-8 at byte 10"));
  std::string longer = "[mask]";
  for (int i = 0; i < 40; ++i) longer += " quick";
  CHECK_THROWS_AS((void)fill_mask(made, longer), Error);
  SmallTask causal = small_task("gmlp", Task::causal_lm);
  Checkpoint other;
  other.tokenizer = causal.data->tokenizer();
  other.model = std::move(causal.model);
  CHECK_THROWS_WITH((void)fill_mask(other, "[mask]"), doctest::Contains("has the task causal-lm, expected masked-lm"));
  TokenizerOptions options;
  options.task = Task::masked_lm;
  options.min_count = 1000000;
  other.tokenizer = learn_tokenizer("words", small_text(), options);
  other.model = small_model("fnet", Task::masked_lm, other.tokenizer->size(), 0, {});
  CHECK_THROWS_WITH((void)fill_mask(other, "[mask]"), doctest::Contains("only special symbols"));
}

}  // namespace weft::test
