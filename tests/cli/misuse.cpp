// Tests of options that contradict each other, and of invalid files and numbers.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cmath>
#include <iostream>
#include <sstream>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "tools/console/command.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/gmlp.h"

namespace weft::test {
namespace {

class TextAndRows {
 public:
  TextAndRows() {
    folder.write("text", small_text());
    folder.write("rows", "1,a,b\n2,a,b\n1,c,d\n2,c,d\n");
  }
  std::string train(const std::string& options) const {
    return "train --arch gmlp --steps 2 --overwrite --out " + (folder / "run") + tiny_sizes + "--text " +
           (folder / "text") + " " + options;
  }
  TemporaryFolder folder;
};

// A model that learns only from rows.
class Sorter : public Gmlp {
 public:
  using Gmlp::Gmlp;
  const char* arch() const noexcept override { return "sorter"; }
};

}  // namespace

TEST_CASE_FIXTURE(TextAndRows, "options without effect are refused or reported") {
  const auto refused = [&](const std::string& options, const std::string& part, int code) {
    const Outcome outcome = weft(train(options));
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, code, part));
  };
  refused("--min-count 3", "--min-count applies only to word tokenizers, not to characters", 2);
  refused("--tokenizer bytes --vocabulary-size 3", "the vocabulary size of the tokenizer bytes can't be chosen", 2);
  refused("--pad-to 8", "--pad-to requires --data", 2);
  refused("--word-dropout 0.3", "--word-dropout requires --data", 2);
  refused("--schedule constant --lr-floor 0.2",
          "--lr-floor applies only to the cosine and linear schedules, not to constant", 2);
  refused("--schedule noam --lr-floor 0.1", "--lr-floor applies only to the cosine and linear schedules, not to noam",
          2);
  refused("--arch tnn --d-ffn 8", "--d-ffn: unknown config key \"d_ffn\" of tnn", 2);
  const Outcome warm = weft(train("--warmup 4 --lr 0.5"));
  CHECK(warm.code == 0);
  CHECK(contains(warm.err, "the warm-up of 4 steps is longer than the run: the last learning rate is 0.25 (--warmup"));
  for (const std::string enough : {"--warmup 2", "--warmup 0", "--schedule noam --warmup 1"})
    CHECK_FALSE(contains(weft(train(enough)).err, "warm-up"));
}

TEST_CASE("info: options of a model need an architecture, and those of a classifier need a classifier") {
  for (const std::string options :
       {"--layers 5", "--vocabulary 5", "--classes 5", "--task classifier", "--set layers=3"})
    CHECK(fails_with(weft("info " + options), 2,
                     options.substr(0, options.find(' ')) + " needs an architecture: give --arch (gmlp, tnn, fnet)"));
  CHECK(fails_with(weft("info --arch gmlp --classes 5"), 2,
                   "--classes applies only to tasks on rows, but the task is causal-lm"));
  CHECK(contains(weft("info --arch gmlp --task classifier --classes 5").out, "\noutputs 5\n"));
  CHECK(contains(weft("info --arch fnet").out, "\ntask masked-lm\n"));
  CHECK(weft("info --threads 1").code == 0);
}

TEST_CASE("info allocates no memory for elements, and terminates for any size") {
  const Outcome wide = weft("info --arch gmlp --layers 3 --d-model 1000000");
  CHECK(wide.code == 0);
  CHECK(number_after(wide.out, "\nparameters ") > 3 * 12e12);
  CHECK(fails_with(weft("info --arch gmlp --layers 2000000000"), 1, "more than 100000 parameter tensors"));
  CHECK(fails_with(weft("info --arch tnn --set layers=2000000000"), 1, "reduce --layers"));
  CHECK(fails_with(weft("info --arch gmlp --layers 5 --d-model 2000000000"), 1, "["));
}

TEST_CASE("info of an architecture that only classifies") {
  Architecture sorter = Gmlp::architecture();
  sorter.name = "sorter";
  sorter.tasks = {Task::classifier};
  sorter.make = make_as<Sorter>;
  register_architecture(sorter);
  CLI::App app;
  const Command info = info_command(app, nullptr);
  app.parse("info --arch sorter --layers 1 --classes 3");
  std::ostringstream out;
  std::streambuf* before = std::cout.rdbuf(out.rdbuf());
  const int code = info.run();
  std::cout.rdbuf(before);
  CHECK(code == 0);
  CHECK(contains(out.str(), "architecture sorter\ntask classifier\nvocabulary 65\noutputs 3\n"));
}

TEST_CASE_FIXTURE(TextAndRows,
                  "a text that is too short, or a model that is too large, is refused before there are weights") {
  const std::string gmlp = "train --arch gmlp --out " + (folder / "run") + " --text " + (folder / "text") + " ";
  CHECK(fails_with(weft(gmlp + "--seq-len 2000000"), 1, "too few for sequences of 2000000"));
  CHECK(fails_with(weft(gmlp + "--seq-len 16 --d-model 10000000"), 1, "make the model smaller (--layers, --d-model"));
  CHECK(fails_with(weft(gmlp + "--seq-len 16 --layers 2000000000"), 1, "reduce --layers"));
  CHECK(fails_with(weft(gmlp + "--seq-len 16 --d-ffn 7"), 1, "[gmlp] expected an even d_ffn"));
  CHECK_FALSE(std::filesystem::exists(folder / "run"));
}

TEST_CASE_FIXTURE(TextAndRows, "errors explain batches that don't fit") {
  REQUIRE(weft(train("")).code == 0);
  const std::string eval = "eval --checkpoint " + (folder / "run") + " --text " + (folder / "text");
  CHECK(fails_with(weft(eval + " --batch 1000000000000"), 1,
                   "a batch of 1000000000000 sequences of 8 tokens doesn't fit into memory: choose a smaller batch or "
                   "shorter sequences"));
  CHECK(fails_with(weft(eval + " --batch 0"), 2, "--batch: expected a whole number in decimal, at least 1, got \"0\""));
  CHECK(fails_with(
      weft("train --arch gmlp --steps 2 --seq-len 1 --out " + (folder / "rows-run") + " --csv " + (folder / "rows")), 1,
      "expected sequences of at least 2 tokens, got 1"));
}

TEST_CASE_FIXTURE(TextAndRows, "a checkpoint may be given by one of its files") {
  REQUIRE(weft(train("")).code == 0);
  const auto info = [&](const std::string& path) { return weft("info --checkpoint " + path); };
  const std::string run = folder / "run/last";
  CHECK(info(run + "/model.safetensors").out == info(run).out);
  CHECK(info(run + "/config.json").out == info(run).out);
  for (const std::string command : {"info", "generate", "eval --text x"}) {
    CHECK(
        fails_with(weft(command + " --checkpoint " + (folder / "text")), 2,
                   "--checkpoint: expected the folder of a run or a checkpoint, got the file \"" + (folder / "text")));
    CHECK(fails_with(weft(command + " --checkpoint " + run + "/training.safetensors"), 2,
                     "expected the folder of a run or a checkpoint"));
  }
  CHECK(fails_with(weft("info --checkpoint " + run + "/missing"), 1, "missing/model.safetensors"));
}

TEST_CASE_FIXTURE(TextAndRows, "a pipe in place of config.json is refused, and weft does not wait for it") {
  REQUIRE(weft(train("")).code == 0);
  const std::string config = folder / "run/best/config.json";
  std::filesystem::remove(config);
  REQUIRE(::mkfifo(config.c_str(), 0600) == 0);
  CHECK(fails_with(weft("info --checkpoint " + (folder / "run")), 1, "config.json\": not a regular file"));
  CHECK(weft(train("--seed 2")).code == 0);  // removes the pipe with the run that it replaces
}

TEST_CASE_FIXTURE(TextAndRows, "an error names a config.json that is nested too deeply") {
  REQUIRE(weft(train("")).code == 0);
  folder.write("run/best/config.json", "{\"config\": " + std::string(20, '[') + std::string(20, ']') + "}");
  CHECK(fails_with(weft("info --checkpoint " + (folder / "run")), 1,
                   "\"" + (folder / "run/best/config.json") + "\": [json] expected at most 16 levels of nesting"));
}

TEST_CASE_FIXTURE(TextAndRows, "a byte order mark is not a symbol of a text") {
  const auto trained = [&](const std::string& text) {
    folder.write("text", text);
    const Outcome outcome = weft(train(""));
    CAPTURE(outcome.err);
    CHECK(outcome.code == 0);
    return folder.read("run/last/model.safetensors");
  };
  const std::string mark = "\xEF\xBB\xBF";
  const std::string plain = trained(small_text());
  CHECK(trained(mark + small_text()) == plain);
  CHECK(trained(mark + mark + small_text()) != plain);  // the second mark is a character
  folder.write("text", mark);
  CHECK(fails_with(weft(train("")), 1, "is empty"));
  folder.write("text", mark + "abc\xFF");
  CHECK(fails_with(weft(train("")), 1, "invalid UTF-8 at byte 6"));
}

TEST_CASE_FIXTURE(TextAndRows, "eval of a model whose outputs are not finite is an error") {
  const SmallTask broken = small_task("gmlp", Task::causal_lm);
  for (auto& [name, parameter] : broken.model->parameters())
    if (name == "head.weight") {  // finite, but a product with any number above 1 is infinite
      std::vector<float> values(static_cast<std::size_t>(parameter.value().numel()), 3e38f);
      for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -3e38f;
      Parameter(parameter).assign(Tensor::from(values, parameter.value().shape()));
    }
  save_checkpoint(folder / "broken", *broken.model, *broken.data->tokenizer());
  const Outcome outcome = weft("eval --checkpoint " + (folder / "broken") + " --text " + (folder / "text"));
  CAPTURE(outcome.err);
  CHECK(fails_with(outcome, 1, "the loss of \"" + (folder / "broken") + "\" on these data is "));
}

TEST_CASE_FIXTURE(TextAndRows, "closed standard streams: no other file takes their place") {
  for (const std::string closed : {"2>&-", "<&-", "<&- 2>&-"}) {
    CAPTURE(closed);
    const Outcome outcome = weft(train("--eval-every 2 --log " + (folder / "log") + " " + closed));
    CHECK(outcome.code == 0);
    CHECK(contains(outcome.out, "\nvalidation loss "));
    std::istringstream log(folder.read("log"));
    std::size_t lines = 0;
    for (std::string line; std::getline(log, line); ++lines) CHECK(std::count(line.begin(), line.end(), '\t') == 2);
    CHECK(lines == 4);
    CHECK(weft("info --checkpoint " + (folder / "run")).code == 0);
  }
  const Outcome silent = weft(train("--log " + (folder / "log") + " >&- 2>&-"));
  CHECK(silent.code == 1);  // the message is lost
  CHECK_FALSE(contains(folder.read("log"), "checkpoint"));
  CHECK(weft("info --checkpoint " + (folder / "run")).code == 0);
}

TEST_CASE_FIXTURE(TextAndRows, "a symbolic link without target in place of the folder") {
  std::filesystem::create_symlink(folder / "nowhere", folder / "link");
  CHECK(fails_with(
      weft("train --arch gmlp --steps 2" + tiny_sizes + "--text " + (folder / "text") + " --out " + (folder / "link")),
      1, "it is a link to \"" + (folder / "nowhere") + "\", which doesn't exist"));
}

TEST_CASE_FIXTURE(TextAndRows, "errors state the reason and a remedy") {
  CHECK(fails_with(weft(train("--arch fnet --task causal-lm")), 1,
                   "[fnet] this architecture does not support the task causal-lm; its tasks are masked-lm, classifier, "
                   "regression, multilabel, "
                   "tagging, forecast, retrieval (reason: the Fourier mixing sees the future)"));
  CHECK(fails_with(weft("info --arch tnn --set use_multi_decay=true"), 1, "set use_decay to false"));
  CHECK(weft("info --arch tnn --set use_multi_decay=true --set use_decay=false").code == 0);
}

}  // namespace weft::test
