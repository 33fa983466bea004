// Tests of saving: refusals before anything is written, and the files that an interrupted save leaves behind.
#include <doctest/doctest.h>

#include <filesystem>
#include <functional>

#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

// Calls `each` before each validation batch.
class WatchedData : public TextData {
 public:
  explicit WatchedData(std::function<void(std::int64_t)> f)
      : TextData(small_text(), text_tokenizer(small_text(), Task::causal_lm), Task::causal_lm, 16, 4),
        each(std::move(f)) {}
  Batch validation(std::int64_t k) const override {
    each(k);
    return TextData::validation(k);
  }
  std::function<void(std::int64_t)> each;
};

std::unique_ptr<Model> watched_gmlp() {
  return small_model("gmlp", Task::causal_lm, text_tokenizer(small_text(), Task::causal_lm)->size(), 0, {});
}

const std::string saved_files[] = {"last/model.safetensors", "last/training.safetensors", "last/config.json",
                                   "best/model.safetensors", "best/config.json"};

}  // namespace

TEST_CASE("saving: a tokenizer that does not fit the model is refused, and the old checkpoint stays") {
  const TemporaryFolder folder;
  const auto model = make_model({"gmlp", Task::causal_lm, 4, 0, R"({"d_model":8,"layers":1,"seq_len":8})"}, {});
  save_checkpoint(folder / "run", *model, *characters("abc"));
  const std::string before = folder.read("run/model.safetensors");
  for (const char* text : {"ab", "abcd"}) {
    CHECK_THROWS_WITH_AS(
        save_checkpoint(folder / "run", *model, *characters(text)),
        doctest::Contains("expected a tokenizer with 4 symbols, as many as the model has, got one with"), Error);
    CHECK_THROWS_AS(save_checkpoint(folder / "new", *model, *characters(text)), Error);
  }
  CHECK(folder.read("run/model.safetensors") == before);
  CHECK(load_checkpoint(folder / "run").tokenizer->to_json() == characters("abc")->to_json());
  CHECK_FALSE(std::filesystem::exists(folder / "new"));
}

TEST_CASE(
    "saving: the state comes before the evaluation, which a request to stop ends; the resumed run evaluates first") {
  const TemporaryFolder folder;
  RunOptions run;
  run.eval_every = 4;
  run.folder = folder / "whole";
  {
    const WatchedData data([](std::int64_t) {});
    const auto model = watched_gmlp();
    Trainer(*model, data, small_options(6)).run(run);
    REQUIRE(data.validation_batches() > 1);
  }
  for (const std::int64_t at : {4, 6}) {  // an intermediate evaluation and the last one
    CAPTURE(at);
    run.folder = folder / ("run" + std::to_string(at));
    std::int64_t done = 0, batches = 0;
    const WatchedData data([&](std::int64_t) {
      ++batches;
      const auto same = watched_gmlp();
      const WatchedData same_data([](std::int64_t) {});
      Trainer saved(*same, same_data, small_options(6));
      saved.load_state(state_path(run.folder));
      CHECK(saved.steps_done() == done);
    });
    run.progress = [&](const Progress& p) { return done = p.step, true; };
    run.stop = [&] { return done == at && batches == (at == 4 ? 1 : data.validation_batches() + 1); };
    run.evaluated = [&](std::int64_t step, const Evaluation&) { CHECK(step < at); };
    {
      const auto model = watched_gmlp();
      Trainer trainer(*model, data, small_options(6));
      const RunResult result = trainer.run(run);
      CHECK(result.stopped);
      CHECK_FALSE(result.evaluation.has_value());
      CHECK(trainer.steps_done() == at);
    }
    const Checkpoint saved = load_checkpoint(last_path(run.folder));
    CHECK(saved.info.step == at);
    CHECK_FALSE(saved.info.validation_loss.has_value());

    std::vector<std::int64_t> evaluated;
    run.stop = nullptr;
    run.evaluated = [&](std::int64_t step, const Evaluation&) { evaluated.push_back(step); };
    const auto model = watched_gmlp();
    Trainer resumed(*model, data, small_options(6));
    resumed.load_state(state_path(run.folder));
    done = at;
    CHECK_FALSE(resumed.run(run).stopped);
    CHECK(evaluated == (at == 4 ? std::vector<std::int64_t>{4, 6} : std::vector<std::int64_t>{6}));
    for (const std::string& file : saved_files)
      CHECK(folder.read("run" + std::to_string(at) + "/" + file) == folder.read("whole/" + file));
  }
}

}  // namespace weft::test
