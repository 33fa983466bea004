// Tests of weft average, which averages checkpoints.
#include <doctest/doctest.h>
#include <weft/checkpoint.h>

#include <filesystem>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

// Runs of the same model. At this learning rate the validation loss rises, so the best and the last checkpoint differ.
struct AveragedRuns {
  TemporaryFolder folder;

  AveragedRuns() {
    folder.write("text", small_text());
    train("run", "--seed 1");
  }
  void train(const std::string& name, const std::string& options) const {
    const Outcome run =
        weft("train --arch gmlp --text " + at("text") + sizes +
             "--steps 20 --eval-every 1 --schedule constant --warmup 1 --lr 1 --beta1 0.99 --beta2 0.5 " + options +
             " --out " + at(name));
    REQUIRE_MESSAGE(run.code == 0, run.err);
  }
  std::string at(const std::string& name) const { return folder / name; }
};

std::vector<double> values(const std::string& folder) {
  std::vector<double> all;
  const Checkpoint checkpoint = load_checkpoint(folder);
  for (const auto& [name, parameter] : checkpoint.model->parameters())
    for (const double value : raw::convert(parameter.value(), DType::f64).to_vector<double>()) all.push_back(value);
  return all;
}

}  // namespace

TEST_CASE("weft average: each parameter is the mean of the checkpoints' parameters, rounded once") {
  const AveragedRuns runs;
  runs.train("other", "--seed 2");
  const std::vector<std::string> folders = {runs.at("run/best"), runs.at("run/last"), runs.at("other/last")};
  const Outcome mean =
      weft("average " + folders[0] + " " + folders[1] + " " + folders[2] + " --out " + runs.at("mean"));
  CAPTURE(mean.err);
  REQUIRE(mean.code == 0);
  const auto best = values(folders[0]), last = values(folders[1]), other = values(folders[2]),
             found = values(runs.at("mean"));
  REQUIRE(found.size() == best.size());
  CHECK(best != last);
  long wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i)
    wrong += found[i] != static_cast<double>(static_cast<float>((best[i] + last[i] + other[i]) / 3));
  CHECK(wrong == 0);
  CHECK(contains(mean.out, folders[1] + ": step 20"));
  CHECK(contains(mean.out, "the mean of 3 checkpoints, " + std::to_string(found.size()) + " parameters\n"));
  const CheckpointInfo info = load_checkpoint(runs.at("mean")).info;
  CHECK(info.step == 20);
  CHECK_FALSE(info.validation_loss);
  CHECK(weft("eval " + runs.at("mean") + " --text " + runs.at("text")).code == 0);
}

TEST_CASE("weft average: it uses a run's best checkpoint, and the average of a model with itself is the model") {
  const AveragedRuns runs;
  REQUIRE(weft("average " + runs.at("run") + " " + runs.at("run/best/model.safetensors") + " --out " + runs.at("mean"))
              .code == 0);
  CHECK(values(runs.at("mean")) == values(runs.at("run/best")));
  CHECK(values(runs.at("mean")) != values(runs.at("run/last")));
}

TEST_CASE("weft average: labels of rows are kept") {
  const AveragedRuns runs;
  runs.folder.write("csv", small_csv());
  const std::string rows = "train --arch fnet --min-count 1 --steps 2" + sizes + "--csv " + runs.at("csv") + " --out ";
  REQUIRE(weft(rows + runs.at("rows")).code == 0);
  REQUIRE(weft("average " + runs.at("rows") + "/best " + runs.at("rows") + "/last --out " + runs.at("mean")).code == 0);
  CHECK(load_checkpoint(runs.at("mean")).info.labels == load_checkpoint(runs.at("rows")).info.labels);
  CHECK(weft("eval " + runs.at("mean") + " --csv " + runs.at("csv")).code == 0);
}

TEST_CASE(
    "weft average: checkpoints that differ or are quantized, and existing files, are refused, and nothing is written") {
  const AveragedRuns runs;
  runs.train("wide", "--d-model 24");
  const std::string run = runs.at("run"), two = run + "/best " + run + "/last", out = " --out " + runs.at("out");
  const auto refused = [&](const std::string& arguments, int code, const std::string& part) {
    const Outcome outcome = weft("average " + arguments);
    CAPTURE(arguments);
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, code, part));
    CHECK_FALSE(std::filesystem::exists(runs.at("out")));
  };
  refused(run + out, 2, "give two checkpoints or more");
  refused(out, 2, "give two checkpoints or more");
  refused(two, 2, "give --out");
  refused(run + " " + runs.at("none") + out, 1, "none");
  refused(run + " " + runs.at("wide") + out, 1, "architecture, task, config or tokenizer differs");
  REQUIRE(weft("quantize " + run + " --to int8 --out " + runs.at("int8")).code == 0);
  refused(run + " " + runs.at("int8") + out, 1, "which is quantized: give the original checkpoint");
  refused(runs.at("int8") + " " + runs.at("int8") + out, 1, "which is quantized: give the original checkpoint");
  refused(run + " " + run + "/last --overwrite --out " + run, 1, "the checkpoint to be averaged");
  refused(two + " --overwrite --out " + run, 1, "the folder of a run");
  refused(two + " --overwrite --out " + run + "/last", 1, "the checkpoint to be averaged");
  refused(two + " --out " + runs.at("int8"), 1, "--overwrite replaces it");
  CHECK(weft("average " + two + " --overwrite --out " + runs.at("int8")).code == 0);
  CHECK(weft("average " + two + " --overwrite --out " + runs.at("int8")).code == 0);
}

TEST_CASE("weft average: classifiers with different labels or row lengths are different models") {
  const AveragedRuns runs;
  const std::string rows = "train --arch fnet --steps 2" + sizes;
  std::string first = "a b c d,x\nb c d a,y\n", second = "a b c d,x\nb c d a,z\n";
  for (std::string* each : {&first, &second}) {
    for (int i = 0; i < 5; ++i) *each += *each;
    *each = "text,label\n" + *each;
  }
  runs.folder.write("xy.csv", first);
  runs.folder.write("xz.csv", second);
  for (const std::string name : {"xy", "xz"})
    REQUIRE(weft(rows + "--csv " + runs.at(name + ".csv") + " --out " + runs.at(name)).code == 0);
  const Outcome mean = weft("average " + runs.at("xy") + " " + runs.at("xz") + " --out " + runs.at("out"));
  REQUIRE(weft(rows + "--pad-to exact --csv " + runs.at("xy.csv") + " --out " + runs.at("exact")).code == 0);
  CHECK(fails_with(weft("average " + runs.at("xy") + " " + runs.at("exact") + " --out " + runs.at("out")), 1,
                   "padded to different lengths"));
  CHECK(fails_with(mean, 1, "their labels differ"));
}

}  // namespace weft::test
