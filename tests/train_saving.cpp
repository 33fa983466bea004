// Saving: what is refused before anything is written, and what is left of a save that stops.
#include <doctest/doctest.h>

#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/trainer.h"

namespace weft::test {

TEST_CASE("saving: a vocabulary that isn't the model's is refused, and the old checkpoint stays") {
  const TemporaryFolder folder;
  const auto model = make_model({"gmlp", Task::causal_lm, 4, 0, R"({"d_model":8,"layers":1,"seq_len":8})"}, {});
  save_checkpoint(folder / "run", *model, Vocabulary::of_characters("abcd"));
  const std::string before = folder.read("run/model.safetensors");
  for (const char* characters : {"ab", "abcde"}) {
    CHECK_THROWS_WITH_AS(save_checkpoint(folder / "run", *model, Vocabulary::of_characters(characters)),
                         doctest::Contains("the model takes 4 symbols, the vocabulary has"), Error);
    CHECK_THROWS_AS(save_checkpoint(folder / "new", *model, Vocabulary::of_characters(characters)), Error);
  }
  CHECK(folder.read("run/model.safetensors") == before);
  CHECK(load_checkpoint(folder / "run").vocabulary == Vocabulary::of_characters("abcd"));
  CHECK_FALSE(std::filesystem::exists(folder / "new"));
}

}  // namespace weft::test
