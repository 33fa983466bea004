// Tests of wrong requests for formats: an empty name, and a task that differs from the checkpoint's.
#include <doctest/doctest.h>

#include "temporary_folder.h"
#include "weft/checkpoint_format.h"
#include "weft/weft_c.h"

namespace weft::test {
namespace {

Checkpoint classifier() {
  Checkpoint made;
  made.model = make_model({"fnet", Task::classifier, 40, 3, R"({"d_model":8,"layers":1})"}, Init{Random(3)});
  made.tokenizer = tokenizer_from_json(R"({"unit":"ids","size":40,"pad":3})");
  return made;
}

}  // namespace

TEST_CASE("forms: an empty name doesn't look for files in the root folder") {
  const std::string expected = "expected the name of a folder, got an empty one";
  for (const std::string& format : checkpoint_formats()) {
    CHECK_THROWS_WITH_AS((void)load_checkpoint_as(format, ""), doctest::Contains(expected.c_str()), Error);
    CHECK_THROWS_AS((void)save_checkpoint_as(format, "", classifier()), Error);
  }
  CHECK_THROWS_WITH_AS((void)load_checkpoint(""), doctest::Contains(expected.c_str()), Error);
  const Checkpoint made = classifier();
  CHECK_THROWS_WITH_AS(save_checkpoint("", *made.model, *made.tokenizer), doctest::Contains(expected.c_str()), Error);
  weft_model* model = nullptr;
  CHECK(weft_load("", &model) == WEFT_FAILED);
  CHECK(std::string(weft_last_error()).find(expected) != std::string::npos);
}

TEST_CASE("forms: a task that differs from the checkpoint's") {
  const TemporaryFolder folder;
  LoadOptions options;
  for (const std::string format : {"huggingface-fnet", "weft"}) {
    (void)save_checkpoint_as(format, folder / format, classifier());
    options.task = Task::masked_lm;
    CHECK_THROWS_WITH_AS((void)load_checkpoint_as(format, folder / format, options),
                         doctest::Contains("has the task classifier, not masked-lm"), Error);
    options.task = Task::classifier;
    CHECK(load_checkpoint_as(format, folder / format, options).model->task() == Task::classifier);
  }
}

}  // namespace weft::test
