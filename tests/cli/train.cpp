// Tests of weft train, from the first step to the last line, and of eval, generate and info on its result.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "weft/trainer.h"

namespace weft::test {

TEST_CASE("weft train, eval, generate and info on a text") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string text = "--text " + (folder / "text"), run = folder / "run";
  for (const std::string& arch : own_architectures) {
    CAPTURE(arch);
    const Outcome trained =
        weft("train --arch " + arch + " " + text + sizes +
             "--split 90/10/0 --steps 40 --eval-every 40 --overwrite --out " + run + " --log " + (folder / "log"));
    CAPTURE(trained.err);
    CHECK(trained.code == 0);
    CHECK(ends_as_promised(trained.out));
    CHECK(contains(trained.err, "step 40/40"));
    CHECK_FALSE(contains(trained.err, "\r"));
    const std::string log = folder.read("log");
    CHECK(log.rfind("step\tloss\tvalidation loss\n1\t", 0) == 0);
    CHECK(contains(log, "\n40\t-\t"));

    const Outcome evaluated = weft("eval --batch 4 --checkpoint " + run + " " + text);
    CHECK(evaluated.code == 0);
    CHECK(number_after(evaluated.out, "validation loss ") == number_after(trained.out, "validation loss "));
    const Outcome info = weft("info --checkpoint " + run);
    CHECK(info.code == 0);
    CHECK(number_after(info.out, "\nparameters ") == number_after(trained.out, "\nparameters "));
    CHECK(number_after(info.out, "\nstep ") == 40);

    const Outcome generated = weft("generate --checkpoint " + run + " --prompt 'the fox – ' --tokens 50 --seed 2");
    if (usual_task(arch) != Task::causal_lm) {
      CHECK(fails_with(generated, 1, "can't continue a text"));
      continue;
    }
    CHECK(generated.code == 0);
    CHECK(generated.out.rfind("the fox – ", 0) == 0);
    CHECK(generated.out.size() >= 12 + 50);
    CHECK(weft("generate --checkpoint " + run + " --prompt 'the fox – ' --tokens 50 --seed 2").out == generated.out);
    CHECK(weft("generate --checkpoint " + run + " --prompt 'the fox – ' --tokens 50 --seed 3").out != generated.out);
    CHECK(weft("generate --checkpoint " + run + " --prompt Zoë").out.rfind("Zoë", 0) == 0);
  }
}

TEST_CASE("the defaults of weft train are those in its help") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  folder.write("csv", small_csv());
  // The training state records all options, and the parameters depend on these options.
  const auto state = [&](const std::string& options) {
    const Outcome outcome = weft("train --arch gmlp --layers 1 --d-model 8 --seq-len 8 --steps 3 --overwrite --out " +
                                 (folder / "run") + " " + options);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return folder.read("run/last/training.safetensors");
  };
  const std::string text = "--text " + (folder / "text") + " ", csv = "--csv " + (folder / "csv") + " ";
  const std::pair<std::string, std::string> cases[] = {
      {text,
       "--task causal-lm --batch 12 --micro-batches 1 --optimizer adamw --beta1 0.9 --beta2 0.99 --eps 1e-8 "
       "--weight-decay 0.1 --clip 1 --schedule cosine --lr 2e-3 --lr-floor 0 --warmup 100 --seed 1"},
      {csv,
       "--task classifier --batch 32 --lr 1e-3 --min-count 2 --vocabulary-size 20000 --format auto --header auto "
       "--columns text=2+3,label=1 --pad-to 8"},
      {text + "--schedule noam ", "--lr 1 --warmup 2000"},
      {text + "--schedule constant ", "--lr 2e-3 --warmup 100"},
      {csv + "--schedule noam ", "--lr 1 --warmup 2000"},
      {text + "--optimizer adam ", "--beta1 0.9 --beta2 0.999 --weight-decay 0"},
      {text + "--optimizer sgd ", "--momentum 0.9 --weight-decay 0"},
      {text + "--optimizer lion ", "--beta1 0.9 --beta2 0.99 --weight-decay 1 --lr 2e-4"},
      {text, "--d-ffn 64 --dropout 0"}};
  for (const auto& c : cases) {  // the given options, and the same options with all defaults written out
    CAPTURE(c.first);
    CHECK(state(c.first) == state(c.first + c.second));
  }
  CHECK(state(text) != state(text + "--warmup 101"));
  const std::string train = "train --arch gmlp" + sizes + "--overwrite --out " + (folder / "run") + " ";
  CHECK(contains(weft_with_signal(train + text, "step 100/", SIGINT).err, "step 100/2000 "));
  CHECK(contains(weft_with_signal(train + csv, "step 100/", SIGINT).err, "step 100/1000 "));
}

TEST_CASE("every training option of weft train reaches the trainer") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const auto tokenizer = characters(small_text());
  const TextData data(small_text(), tokenizer, Task::causal_lm, 8, 3);
  const auto check = [&](const std::string& given, const TrainOptions& options) {
    CAPTURE(given);
    const Outcome outcome = weft(
        "train --arch gmlp --layers 1 --d-model 16 --d-ffn 10 --seq-len 8 --dropout 0.2 "
        "--batch 3 --split 90/10/0 --overwrite --text " +
        (folder / "text") + " --out " + (folder / "run") + " " + given);
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto model = make_model({"gmlp", Task::causal_lm, tokenizer->size(), 0,
                                   R"({"layers":1,"d_model":16,"d_ffn":10,"seq_len":8,"dropout":0.2})"},
                                  {Random(options.seed).split(0), DType::f32});
    RunOptions run;
    run.folder = folder / "by-hand";
    run.eval_every = 1;
    Trainer(*model, data, options).run(run);
    CHECK(folder.read("run/last/training.safetensors") == folder.read("by-hand/last/training.safetensors"));
  };
  TrainOptions options;
  options.seed = 9;
  options.micro_batches = 2;
  options.schedule.steps = 6;
  options.schedule.warmup = 3;
  options.schedule.peak = 0.02;
  options.schedule.floor = 0.25;
  options.optimizer.own = {{"beta1", 0.7}, {"beta2", 0.8}, {"eps", 1e-5}};
  options.optimizer.weight_decay = 0.3;
  options.optimizer.clip = 0.4;
  const std::string all =
      "--seed 9 --micro-batches 2 --steps 6 --warmup 3 --lr 0.02 --weight-decay 0.3 "
      "--clip 0.4 ";
  const std::string adam = "--beta1 0.7 --beta2 0.8 --eps 1e-5 ";
  check(all + "--lr-floor 0.25 " + adam, options);
  options.optimizer.name = "adam";
  options.schedule.floor = 0;  // other schedules have no floor
  options.schedule.kind = ScheduleKind::noam;
  options.schedule.d_model = 16;
  check(all + adam + "--optimizer adam --schedule noam", options);
  options.optimizer.name = "sgd";
  options.optimizer.own = {{"momentum", 0.6}};
  options.schedule.kind = ScheduleKind::constant;
  check(all + "--momentum 0.6 --optimizer sgd --schedule constant", options);
}

TEST_CASE("an error for a loss that isn't finite names options that may help") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const Outcome failed = weft("train --arch gmlp" + sizes + "--text " + (folder / "text") +
                              " --steps 50 --lr 1e30 --warmup 0 --optimizer sgd --clip 0 --out " + (folder / "run"));
  CHECK(failed.code == 1);
  for (const char* option : {"the loss is ", "--lr", "--warmup", "--clip"}) CHECK(contains(failed.err, option));
}

TEST_CASE("the log's lines are means over the steps since the previous line") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  for (std::int64_t steps : {6, 420}) {  // for 200 steps or more, there are about 200 lines
    const std::int64_t a_line = std::max<std::int64_t>(1, steps / 200);
    REQUIRE(weft("train --arch gmlp" + sizes + "--split 90/10/0 --eval-every 500 --overwrite --text " +
                 (folder / "text") + " --steps " + std::to_string(steps) + " --out " + (folder / "run") + " --log " +
                 (folder / "log"))
                .code == 0);
    // The library makes the same run.
    const auto tokenizer = characters(small_text());
    const TextData data(small_text(), tokenizer, Task::causal_lm, 8, 4);
    const auto model =
        make_model({"gmlp", Task::causal_lm, tokenizer->size(), 0, R"({"layers":1,"d_model":16,"seq_len":8})"},
                   {Random(1).split(0), DType::f32});
    TrainOptions options;
    options.schedule.steps = steps;
    Trainer trainer(*model, data, options);
    std::istringstream log(folder.read("log"));
    std::string line;
    std::getline(log, line);
    for (std::int64_t step = a_line; step <= steps; step += a_line) {
      double mean = 0;
      for (std::int64_t k = 0; k < a_line; ++k) mean += trainer.step() / static_cast<double>(a_line);
      REQUIRE(std::getline(log, line));
      CAPTURE(line);
      CHECK(line.rfind(std::to_string(step) + "\t", 0) == 0);
      CHECK(std::abs(std::stod(line.substr(line.find('\t') + 1)) - mean) < 2e-6);
    }
    std::getline(log, line);
    CHECK(line.rfind(std::to_string(steps) + "\t-\t", 0) == 0);
    CHECK_FALSE(std::getline(log, line));
  }
}

}  // namespace weft::test
