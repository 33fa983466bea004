// Tests of --precision. A run records it, and commands on its checkpoint use it.
#include <doctest/doctest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "command.h"
#include "small_run.h"
#include "task_runs.h"
#include "temporary_folder.h"

namespace weft::test {

TEST_CASE("--precision: in the help of every command that runs a model, f32 by default, no other words") {
  for (const std::string command :
       {"train", "classify", "predict", "embed", "nearest", "generate", "eval", "fill-mask"}) {
    CAPTURE(command);
    CHECK(contains(weft(command + " --help").out, "--precision f32|bf16"));
    CHECK(fails_with(weft(command + " --precision f16"), 2,
                     "--precision: [precision] expected one of f32, bf16, got \"f16\""));
  }
}

TEST_CASE("--copy and --threads: in the help of every command that applies a model to an input") {
  for (const std::string command : {"classify", "predict", "embed", "nearest", "generate", "eval", "fill-mask"}) {
    CAPTURE(command);
    const std::string page = weft(command + " --help").out;
    CHECK(contains(page, "\n  --copy "));
    CHECK(contains(page, "\n  --threads N"));
  }
}

TEST_CASE("--precision bf16: run.json records it, and resuming and repeating use it and give the same bytes") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + "--eval-every 4 --steps ";
  const auto bytes = [&](const std::string& run) { return folder.read(run + "/last/training.safetensors"); };
  const Outcome whole = weft(train + "8 --precision bf16 --schedule constant --out " + (folder / "whole"));
  CAPTURE(whole.err);
  REQUIRE(whole.code == 0);
  CHECK(contains(whole.err, ", bf16\n"));
  CHECK(ends_as_promised(whole.out));
  const auto training = nlohmann::json::parse(folder.read("whole/run.json"))["training"];
  CHECK(training["precision"] == "bf16");

  REQUIRE(weft(train + "4 --precision bf16 --schedule constant --out " + (folder / "half")).code == 0);
  REQUIRE(weft("train --steps 8 --resume " + (folder / "half")).code == 0);
  CHECK(bytes("half") == bytes("whole"));
  CHECK(fails_with(weft("train --precision f32 --resume " + (folder / "half")), 2, "leave out --precision"));
  REQUIRE(weft("train --config " + (folder / "whole/run.json") + " --out " + (folder / "again")).code == 0);
  CHECK(bytes("again") == bytes("whole"));

  REQUIRE(weft(train + "8 --schedule constant --out " + (folder / "f32")).code == 0);
  CHECK(nlohmann::json::parse(folder.read("f32/run.json"))["training"]["precision"] == "f32");
  CHECK(bytes("f32") != bytes("whole"));
}

TEST_CASE("--precision: commands on a checkpoint, in either precision") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  folder.write("csv", small_csv());
  const std::string train = "train --steps 20 --lr 0.01" + sizes + "--precision bf16 --out ";
  REQUIRE(weft(train + (folder / "lm") + " --arch tnn --text " + (folder / "text")).code == 0);
  REQUIRE(weft(train + (folder / "masked") + " --arch fnet --text " + (folder / "text")).code == 0);
  REQUIRE(weft(train + (folder / "rows") + " --arch gmlp --min-count 1 --csv " + (folder / "csv")).code == 0);
  folder.write("in", "red green blue\nnorth\n");
  folder.write("gaps", "qu[mask]ck\n");
  // Each output has a number that must be close to the f32 result but have different bits.
  const auto near = [&](const std::string& command, const std::string& label) {
    CAPTURE(command);
    const Outcome f32 = weft(command), same = weft(command + " --precision f32"),
                  bf16 = weft(command + " --precision bf16");
    CAPTURE(bf16.err);
    CHECK(bf16.code == 0);
    CHECK(number_after(same.out, label) == number_after(f32.out, label));
    CHECK(number_after(bf16.out, label) != number_after(f32.out, label));
    CHECK(std::abs(number_after(bf16.out, label) - number_after(f32.out, label)) < 0.02);
  };
  near("eval --json " + (folder / "lm") + " --text " + (folder / "text"), "\"loss\":");
  near("eval --json " + (folder / "rows") + " --csv " + (folder / "csv"), "\"loss\":");
  near("classify --json " + (folder / "rows") + " " + (folder / "in"), "\"probability\":");
  near("fill-mask --json --top 1 " + (folder / "masked") + " " + (folder / "gaps"), "\"probability\":");
  const std::string lines = (folder / "rows") + " " + (folder / "in");
  near("embed " + lines, "\"vector\":[");
  near("nearest " + lines + " \"green blue\" --top 1 --json", "\"similarity\":");
  folder.write("numbers", "text,label\nred,0.1\nblue green,0.2\nred blue,0.15\nsouth,0.3\n");
  REQUIRE(weft(train + (folder / "regression") + " --arch gmlp --task regression --min-count 1 --validation " +
               (folder / "numbers") + " --data " + (folder / "numbers"))
              .code == 0);
  near("predict --json " + (folder / "regression") + " " + (folder / "in"), "\"value\":");
  std::string series = "x\n";
  for (int i = 0; i < 80; ++i) series += std::to_string(std::sin(0.5 * i)) + "\n";
  folder.write("series.csv", series);
  REQUIRE(weft(train + (folder / "forecast") + " --arch tnn --frames x --target x --data " + (folder / "series.csv"))
              .code == 0);
  near("predict --json " + (folder / "forecast") + " " + (folder / "series.csv"), "\"x+1\":");
  const std::string generate = "generate " + (folder / "lm") + " --prompt line --tokens 200 --precision ";
  const Outcome bf16 = weft(generate + "bf16"), again = weft(generate + "bf16 --threads 1"),
                f32 = weft(generate + "f32");
  CHECK(bf16.code == 0);
  CHECK(bf16.out == again.out);
  CHECK(bf16.out != f32.out);
}

TEST_CASE("--precision bf16: train, eval and predict or embed for the other tasks on rows") {
  const TemporaryFolder folder;
  for (const TaskRun& of : task_runs(folder)) {
    CAPTURE(of.task);
    const std::string run = folder / of.task;
    const Outcome trained = weft("train --arch gmlp --precision bf16 " + of.train + of.data + " --out " + run);
    CAPTURE(trained.err);
    REQUIRE(trained.code == 0);
    CHECK(contains(trained.err, ", bf16\n"));
    CHECK(nlohmann::json::parse(folder.read(of.task + "/run.json"))["training"]["precision"] == "bf16");
    const auto printed = [&](const std::string& command, const std::string& precision) {
      const Outcome outcome = weft(command + " --precision " + precision);
      CAPTURE(command);
      CAPTURE(outcome.err);
      REQUIRE(outcome.code == 0);
      return outcome.out;
    };
    const std::string eval = "eval --json " + run + " " + of.data, ask = of.ask + " " + run + " " + of.asked;
    const std::string f32 = printed(eval, "f32"), bf16 = printed(eval, "bf16"), metric = "\"" + of.metric + "\":";
    CHECK(number_after(bf16, "\"loss\":") != number_after(f32, "\"loss\":"));
    CHECK(number_after(f32, metric) > 0.9);
    CHECK(std::abs(number_after(bf16, metric) - number_after(f32, metric)) < 0.01);
    const std::string want = printed(ask, "f32"), got = printed(ask, "bf16");
    if (of.task == "tagging") {
      CHECK(got == want);  // words and tags, no numbers
    } else {
      CHECK(got != want);
      CHECK(difference(numbers_in(got), numbers_in(want)) < 0.02);
    }
  }
}

}  // namespace weft::test
