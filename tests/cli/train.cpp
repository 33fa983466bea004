// weft train, eval, generate and info, from the first step to the last line.
#include <doctest/doctest.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <thread>

#include "../temporary_folder.h"
#include "../train_support.h"
#include "command.h"
#include "weft/checkpoint.h"
#include "weft/trainer.h"

namespace weft::test {
namespace {

const std::string sizes = " --layers 1 --d-model 16 --seq-len 8 --batch 4 ";

// The last three lines of what train prints, as the documentation promises them.
bool ends_as_promised(const std::string& out) {
  const std::size_t memory = out.rfind("\npeak memory "), speed = out.rfind("\ntokens/s "),
                    loss = out.rfind("\nvalidation loss ");
  return memory != std::string::npos && loss < speed && speed < memory && out.find('\n', memory + 1) == out.size() - 1;
}

}  // namespace

TEST_CASE("weft train, eval, generate and info on a text") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string text = "--text " + (folder / "text"), run = folder / "run";
  for (const std::string& arch : architectures()) {
    CAPTURE(arch);
    const Outcome trained = weft("train --arch " + arch + " " + text + sizes + "--steps 40 --overwrite --out " + run +
                                 " --log " + (folder / "log"));
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
      CHECK(fails_with(generated, 1, arch));
      continue;
    }
    CHECK(generated.code == 0);
    CHECK(generated.out.rfind("the fox – ", 0) == 0);
    CHECK(generated.out.size() >= 12 + 50);
    CHECK(weft("generate --checkpoint " + run + " --prompt 'the fox – ' --tokens 50 --seed 2").out == generated.out);
    CHECK(weft("generate --checkpoint " + run + " --prompt 'the fox – ' --tokens 50 --seed 3").out != generated.out);
    CHECK(fails_with(weft("generate --checkpoint " + run + " --prompt Q"), 1, "U+0051"));
  }
}

TEST_CASE("eval of a checkpoint that doesn't say the length of its sequences: the config's") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  for (const std::string& arch : architectures()) {
    CAPTURE(arch);
    const SmallTask small = small_task(arch, usual_task(arch));
    save_checkpoint(folder / arch, *small.model, small.data->vocabulary());
    const std::string eval = "eval --checkpoint " + (folder / arch) + " --text " + (folder / "text");
    const Outcome outcome = weft(eval), given = weft(eval + " --seq-len 16");
    CHECK(outcome.code == 0);
    CHECK(outcome.out.substr(0, outcome.out.find("peak")) == given.out.substr(0, given.out.find("peak")));
  }
}

TEST_CASE("eval takes the length of training, not the longest that the model can take") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const SmallTask small = small_task("gmlp", Task::causal_lm);  // of at most 16
  CheckpointInfo info;
  info.length = 5;
  save_checkpoint(folder / "run", *small.model, small.data->vocabulary(), info);
  const auto loss = [&](const std::string& more) {
    const Outcome outcome = weft("eval --checkpoint " + (folder / "run") + " --text " + (folder / "text") + more);
    CHECK(outcome.code == 0);
    return number_after(outcome.out, "validation loss ");
  };
  CHECK(loss("") == loss(" --seq-len 5"));
  CHECK(loss("") != loss(" --seq-len 16"));
}

TEST_CASE("what weft train takes by default is what its help says") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  folder.write("csv", small_csv());
  // The state of training says all that was chosen, and its parameters what came of it.
  const auto state = [&](const std::string& options) {
    const Outcome outcome = weft("train --arch gmlp --layers 1 --d-model 8 --seq-len 8 --steps 3 --overwrite --out " +
                                 (folder / "run") + " " + options);
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return folder.read("run/training.safetensors");
  };
  const std::string text = "--text " + (folder / "text") + " ", csv = "--csv " + (folder / "csv") + " ";
  const std::pair<std::string, std::string> cases[] = {
      {text,
       "--task causal-lm --batch 12 --micro-batches 1 --optimizer adamw --beta1 0.9 --beta2 0.99 --eps 1e-8 "
       "--weight-decay 0.1 --clip 1 --schedule cosine --lr 2e-3 --lr-floor 0 --warmup 100 --seed 1"},
      {csv,
       "--task classifier --batch 32 --lr 1e-3 --min-count 2 --vocabulary-size 20000 --format auto --header auto "
       "--columns text=2+3,label=1 --pad-to exact"},
      {text + "--schedule noam ", "--lr 1 --warmup 2000"},
      {text + "--schedule constant ", "--lr 2e-3 --warmup 100"},
      {csv + "--schedule noam ", "--lr 1 --warmup 2000"},
      {text + "--optimizer adam ", "--beta1 0.9 --beta2 0.999 --weight-decay 0"},
      {text + "--optimizer sgd ", "--momentum 0.9 --weight-decay 0"},
      {text, "--d-ffn 64 --dropout 0"}};
  for (const auto& c : cases) {  // given, and the same written out
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
  const auto vocabulary = Vocabulary::of_characters(small_text());
  const TextData data(small_text(), vocabulary, Task::causal_lm, 8, 3);
  const auto check = [&](const std::string& given, const TrainOptions& options) {
    CAPTURE(given);
    const Outcome outcome = weft(
        "train --arch gmlp --layers 1 --d-model 16 --d-ffn 10 --seq-len 8 --dropout 0.2 "
        "--batch 3 --overwrite --text " +
        (folder / "text") + " --out " + (folder / "run") + " " + given);
    CAPTURE(outcome.err);
    REQUIRE(outcome.code == 0);
    const auto model = make_model({"gmlp", Task::causal_lm, vocabulary.size(), 0,
                                   R"({"layers":1,"d_model":16,"d_ffn":10,"seq_len":8,"dropout":0.2})"},
                                  {Random(options.seed).split(0), DType::f32});
    Trainer trainer(*model, data, options);
    for (std::int64_t step = 0; step < options.schedule.steps; ++step) trainer.step();
    trainer.save_state(folder / "state");
    CHECK(folder.read("run/training.safetensors") == folder.read("state"));
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
      "--seed 9 --micro-batches 2 --steps 6 --warmup 3 --lr 0.02 --lr-floor 0.25 --weight-decay 0.3 "
      "--clip 0.4 ";
  const std::string adam = "--beta1 0.7 --beta2 0.8 --eps 1e-5 ";
  check(all + adam, options);
  options.optimizer.name = "adam";
  options.schedule.kind = ScheduleKind::noam;
  options.schedule.d_model = 16;
  check(all + adam + "--optimizer adam --schedule noam", options);
  options.optimizer.name = "sgd";
  options.optimizer.own = {{"momentum", 0.6}};
  options.schedule.kind = ScheduleKind::constant;
  check(all + "--momentum 0.6 --optimizer sgd --schedule constant", options);
}

TEST_CASE("generate's temperature and top-k; eval of the whole text") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const SmallTask small = small_task("tnn", Task::causal_lm);
  save_checkpoint(folder / "run", *small.model, small.data->vocabulary());
  const auto text = [&](const std::string& options) {
    const Outcome outcome = weft("generate --tokens 40 --checkpoint " + (folder / "run") + " --prompt line " + options);
    CHECK(outcome.code == 0);
    return outcome.out;
  };
  const std::string greedy = text("--temperature 0 --seed 1");
  CHECK(greedy == text("--temperature 0 --seed 2"));
  CHECK(greedy == text("--top-k 1 --seed 3"));
  CHECK(greedy != text("--seed 3"));
  CHECK(text("--top-k 2 --seed 3") != text("--seed 3"));
  CHECK(text("--temperature 0.1 --seed 3") != text("--seed 3"));
  const std::string eval = "eval --checkpoint " + (folder / "run") + " --text " + (folder / "text");
  const auto symbols = static_cast<double>(small.data->vocabulary().encode(small_text()).size());
  CHECK(number_after(weft(eval + " --all").out, "predicted ") == symbols - 1);
  CHECK(number_after(weft(eval).out, "predicted ") == std::floor(symbols / 10) - 1);
}

TEST_CASE("the log's lines are the means of the steps since the line before") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  for (std::int64_t steps : {6, 420}) {  // of 200 steps or more, about 200 lines
    const std::int64_t a_line = std::max<std::int64_t>(1, steps / 200);
    REQUIRE(weft("train --arch gmlp" + sizes + "--overwrite --text " + (folder / "text") + " --steps " +
                 std::to_string(steps) + " --out " + (folder / "run") + " --log " + (folder / "log"))
                .code == 0);
    // The same run, by the library.
    const auto vocabulary = Vocabulary::of_characters(small_text());
    const TextData data(small_text(), vocabulary, Task::causal_lm, 8, 4);
    const auto model =
        make_model({"gmlp", Task::causal_lm, vocabulary.size(), 0, R"({"layers":1,"d_model":16,"seq_len":8})"},
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

TEST_CASE("sizes: a preset's, replaced by a config file's, replaced by flags") {
  const TemporaryFolder folder;
  folder.write("config.json", R"({"d_model": 24, "layers": 2})");
  const std::string config = " --config " + (folder / "config.json");
  const Outcome info = weft("info --preset gmlp-original" + config + " --layers 1 --set d_ffn=10 --set tied=true");
  CHECK(contains(info.out, R"("d_model":24,"d_ffn":10,"layers":1,"seq_len":256,"tied":true)"));
  CHECK(contains(weft("info --arch fnet" + config).out, R"("layers":2)"));
  for (const std::string& arch : architectures()) {
    const std::string out = weft("info --arch " + arch + config).out;
    for (const ConfigField& field : architecture(arch).fields) {
      CAPTURE(field.name);
      CHECK_FALSE(field.meaning.empty());
      const std::size_t line = out.find("\n  " + field.name + " ");
      REQUIRE(line != std::string::npos);
      CHECK(contains(out.substr(line, out.find('\n', line + 1) - line), "  " + field.usual + " "));
      CHECK(contains(out.substr(line, out.find('\n', line + 1) - line), "  " + field.meaning));
    }
  }
  CHECK(number_after(weft("info --preset gmlp-original").out, "\nparameters ") == 9933377);
  CHECK(fails_with(weft("info --preset gmlp-original --arch fnet"), 1, "gmlp-original"));
}

TEST_CASE("architecture and task from a config file, also from a checkpoint's") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  folder.write("gmlp.json", R"({"arch": "gmlp", "task": "masked-lm", "d_model": 24, "layers": 1, "seq_len": 8})");
  folder.write("number.json", R"({"arch": 3})");
  const std::string gmlp = " --config " + (folder / "gmlp.json"), text = " --text " + (folder / "text");
  const Outcome info = weft("info" + gmlp);
  CHECK(contains(info.out, "architecture gmlp\ntask masked-lm\n"));
  CHECK(contains(info.out, R"("d_model":24)"));
  folder.write("wide.json", R"({"arch": "gmlp", "d_model": 24})");
  CHECK(contains(weft("info --arch tnn --config " + (folder / "wide.json")).out, "architecture tnn\n"));
  CHECK(contains(weft("info --task causal-lm" + gmlp).out, "architecture gmlp\ntask causal-lm\n"));
  CHECK(fails_with(weft("info --preset fnet-base" + gmlp), 1, "fnet-base is of fnet, not of gmlp"));
  CHECK(fails_with(weft("info --config " + (folder / "number.json")), 1, "\"arch\" to be a string"));

  REQUIRE(weft("train --steps 2" + text + gmlp + " --out " + (folder / "a")).code == 0);
  const std::string saved = " --config " + (folder / "a/config.json");
  CHECK(weft("train --steps 2" + text + saved + " --out " + (folder / "b")).code == 0);
  CHECK(folder.read("b/model.safetensors") == folder.read("a/model.safetensors"));
  std::string colour = folder.read("a/config.json");
  colour.insert(1, "\"colour\": 1,");
  folder.write("colour.json", colour);
  CHECK(fails_with(weft("info --config " + (folder / "colour.json")), 1, "unknown config key \"colour\""));
}

TEST_CASE("weft info and help") {
  const Outcome info = weft("info");
  CHECK(info.code == 0);
  for (const char* part : {"weft ", "instruction set ", "threads ", "architectures ", "presets "})
    CHECK(contains(info.out, part));
  CHECK(weft("--version").out.rfind("weft ", 0) == 0);
  CHECK(weft("--help").code == 0);
  for (const char* command : {"train", "classify", "generate", "eval", "info"})
    CHECK(contains(weft(command + std::string(" --help")).out, std::string("\n  weft ") + command));
}

TEST_CASE("a signal: saves, says so, exits 130; resumed training gives the same bytes") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  std::string other_text = small_text();
  std::swap(other_text[0], other_text[1]);
  folder.write("other", other_text);
  const std::string steps = " --steps 4000 --eval-every 1500";
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + steps + " --out ";
  const std::string log = " --log " + (folder / "log");
  const Outcome stopped = weft_with_signal(train + (folder / "a") + log, "step 200/", SIGINT);
  CAPTURE(stopped.err);
  CHECK(stopped.code == 130);
  CHECK(contains(stopped.err, "weft: stopped after step "));
  CHECK_FALSE(contains(stopped.out, "validation loss"));
  const Outcome info = weft("info --checkpoint " + (folder / "a"));
  CHECK(number_after(info.out, "\nstep ") == number_after(stopped.err, "stopped after step "));
  CHECK(number_after(info.out, "\nstep ") < 4000);

  const Outcome other =
      weft("train --arch gmlp --text " + (folder / "other") + sizes + steps + " --resume --out " + (folder / "a"));
  CHECK(fails_with(other, 1, "it is of a run with data "));

  const std::string start = folder.read("log");
  CHECK(weft(train + (folder / "a") + log + " --resume").code == 0);
  CHECK(folder.read("log").rfind(start, 0) == 0);
  CHECK(folder.read("log").rfind("step\t") == 0);
  CHECK(contains(folder.read("log").substr(start.size()), "\n4000\t-\t"));
  CHECK(weft(train + (folder / "b")).code == 0);
  CHECK(folder.read("a/model.safetensors") == folder.read("b/model.safetensors"));
  for (int signal : {SIGTERM, SIGHUP}) {
    CAPTURE(signal);
    CHECK(weft_with_signal(train + (folder / "c") + " --overwrite", "step 200/", signal).code == 128 + signal);
    CHECK(number_after(weft("info --checkpoint " + (folder / "c")).out, "\nstep ") >= 200);
    std::filesystem::remove_all(folder / "c");
  }
}

TEST_CASE("a finished run has nothing to resume, unless its last checkpoint is missing") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + "--schedule constant --out ";
  const std::string run = folder / "run";
  REQUIRE(weft(train + run + " --steps 20").code == 0);
  const std::string before = folder.read("run/model.safetensors"), state = folder.read("run/training.safetensors");
  const std::string nothing = "nothing to do: \"" + run + "\" is at step 20 of ";
  CHECK(fails_with(weft(train + run + " --steps 20 --resume"), 1, nothing + "20"));
  CHECK(fails_with(weft(train + run + " --steps 10 --resume"), 1, nothing + "10"));
  CHECK(folder.read("run/model.safetensors") == before);

  REQUIRE(weft(train + run + " --steps 19 --overwrite").code == 0);
  folder.write("run/training.safetensors", state);
  CHECK(weft(train + run + " --steps 20 --resume").code == 0);
  CHECK(folder.read("run/model.safetensors") == before);
}

TEST_CASE("a log that can't be written to its end: an error, and the checkpoint is saved") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + "--steps 2000 --out ";
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread reader([&] {
    std::ifstream log(pipe);
    std::string header;
    std::getline(log, header);
  });
  const Outcome outcome = weft(train + (folder / "run") + " --log " + pipe);
  reader.join();
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, "\nweft: can't write \"" + pipe + "\"\n"));
  CHECK(number_after(weft("info --checkpoint " + (folder / "run")).out, "\nstep ") == 2000);
}

TEST_CASE("nobody reads what training prints: it goes on; also after a hang-up if that was ignored") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string train = "train --arch gmlp --text " + (folder / "text") + sizes + "--steps 2000 --out ";
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  std::thread reader([&] { std::ifstream unread(pipe); });
  const Outcome outcome = weft(train + (folder / "a") + " 2>" + pipe);
  reader.join();
  CHECK(outcome.code == 0);
  CHECK(ends_as_promised(outcome.out));

  const auto before = ::signal(SIGHUP, SIG_IGN);
  const Outcome ignored = weft_with_signal(train + (folder / "b"), "step 200/", SIGHUP);
  ::signal(SIGHUP, before);
  CHECK(ignored.code == 0);
  CHECK(ends_as_promised(ignored.out));
}

}  // namespace weft::test
