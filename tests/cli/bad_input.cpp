// Tests of bad input. The command prints one clear line, exits with a non-zero code, and leaves an existing checkpoint
// unchanged.
#include <doctest/doctest.h>
#include <signal.h>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {
namespace {

// A folder with a text, a table, and the checkpoint of a small gMLP.
class Fixture {
 public:
  Fixture() {
    folder.write("text", small_text());
    folder.write("empty", "");
    folder.write("latin1", "caf\xE9");
    folder.write("rows", "1,a,b\n2,a,b\n1,c,d\n");
    folder.write("row", "1,a,b\n");
    folder.write("columns", "1,a,b\n2,a\n");
    folder.write("class", "1,a,b\n2,a,b\nx,a,b\n");
    folder.write("unknown.json", R"({"colour": 1})");
    folder.write("type.json", R"({"d_model": "wide"})");
    folder.write("list.json", "[1]");
    folder.write("twice.json", R"({"d_model": 8, "layers": 1, "d_model": 16})");
    folder.write("short", "abcdef");
    const Outcome made = weft("train --arch gmlp --text " + text() + tiny_sizes + "--steps 2 --out " + run());
    REQUIRE(made.code == 0);
    model_ = folder.read("run/last/model.safetensors");
    config_ = folder.read("run/last/config.json");
  }

  std::string text() const { return folder / "text"; }
  std::string run() const { return folder / "run"; }

  // Runs the command with these arguments and checks that it fails as documented.
  void refuses(const std::string& arguments, const std::string& part, int code = 1) const {
    CAPTURE(arguments);
    const Outcome outcome = weft(arguments);
    CAPTURE(outcome.err);
    CHECK(fails_with(outcome, code, part));
    CHECK(folder.read("run/last/model.safetensors") == model_);
    CHECK(folder.read("run/last/config.json") == config_);
  }

  TemporaryFolder folder;

 private:
  std::string model_, config_;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture, "training data that can't be used") {
  const std::string gmlp = "train --arch gmlp --steps 2 --overwrite --out " + run() + " ";
  refuses(gmlp + "--text " + (folder / "missing"), "missing");
  refuses(gmlp + "--text " + run(), "run");
  refuses(gmlp + "--text " + (folder / "empty"), "is empty");
  refuses(gmlp + "--text " + (folder / "latin1"), "invalid UTF-8 at byte 3");
  folder.write("latin1-line", "caf\xE9 au lait");
  refuses(gmlp + "--text " + (folder / "latin1-line"), "invalid UTF-8 at byte 3 (is it in another encoding? iconv -f ");
  refuses(gmlp + "--text " + (folder / "short"), "too few");
  refuses(gmlp + "--text " + (folder / "latin1") + " --log " + (folder / "latin1"), "--log names the input");
  const std::string rows = folder.read("rows");
  folder.write("test", rows);
  for (const std::string log : {"rows", "test"}) {
    refuses(gmlp + "--data " + (folder / "rows") + " --test " + (folder / "test") + " --log " + (folder / log),
            "--log names the input \"" + (folder / log));
    CHECK(folder.read(log) == rows);
  }
  refuses(gmlp + "--data " + (folder / "missing"), "missing");
  refuses(gmlp + "--data " + (folder / "empty"), "is empty");
  refuses(gmlp + "--data " + (folder / "row"),
          "all rows have the label \"1\"; a classifier needs at least two labels (--columns");
  refuses(gmlp + "--data " + (folder / "columns"), "row 2: expected 3 columns as in row 1, got 2");
  refuses(gmlp + "--data " + (folder / "latin1"), "--format");
  refuses(gmlp + "--data " + (folder / "rows") + " --test " + (folder / "class"),
          "class\": row 3: the label is \"x\", expected one of \"1\", \"2\" (--skip-bad-rows");
  const std::string data = gmlp + "--data " + (folder / "rows") + " ";
  refuses(data + "--format xml",
          "--format: [format] expected one of auto, csv, tsv, semicolon, jsonl, fasttext, folders", 2);
  refuses(data + "--format jsonl", "row 1: expected a JSON object");
  refuses(data + "--format folders", "expected a folder, got a file");
  refuses(data + "--header maybe", "--header: expected yes, no or auto, got \"maybe\"", 2);
  for (const std::string columns : {"text", "text=", "body=1", "text=1,text=2", "label=1,label=2", "text=1,,label=2",
                                    "text=1,", "text=body+", "text=+body", "text=1++2", "label=+"})
    refuses(data + "--columns " + columns, "--columns: expected one or more of text=NAME", 2);
  refuses(data + "--columns text=7", "expected a column's name, or its number from 1, got \"7\"");
  for (const std::string length : {"1", "x", "8x", "-2", "99999999999999999999"})
    refuses(data + "--pad-to " + length, "--pad-to: expected exact or a whole number of at least 2, got", 2);
  for (const std::string part : {"1", "-0.1", "nan", "x"})
    refuses(data + "--word-dropout " + part, "--word-dropout", 2);
  refuses(data + tiny_sizes + "--pad-to 9", "at most 8 tokens, the model's maximum, got 9");
  refuses(gmlp + "--text " + text() + " --columns text=1", "--columns requires --data", 2);
}

TEST_CASE_FIXTURE(Fixture, "models that can't be made") {
  const std::string train = "train --steps 2 --overwrite --out " + run() + " --text " + text() + " ";
  const std::string gmlp = train + "--arch gmlp ";
  refuses(train, "--arch", 2);
  refuses(train + "--arch rnn", "--arch: [model] unknown architecture \"rnn\"", 2);
  refuses(train + "--recipe big", "unknown recipe \"big\"", 2);
  refuses(train + "--arch fnet --task causal-lm", "masked-lm");
  refuses(gmlp + "--task translation", "--task: [task] expected one of causal-lm, masked-lm, classifier", 2);
  refuses(gmlp + "--task classifier", "--data", 2);
  refuses(gmlp + "--config " + (folder / "missing.json"), "missing.json");
  refuses(gmlp + "--config " + (folder / "unknown.json"), "unknown config key \"colour\"");
  refuses(gmlp + "--config " + (folder / "type.json"), "\"d_model\" has the wrong type");
  refuses(gmlp + "--config " + (folder / "list.json"), "expected a JSON object");
  const std::string twice = "twice.json\": an object has the key \"d_model\" twice";
  refuses(gmlp + "--config " + (folder / "twice.json"), twice);
  refuses("info --arch gmlp --config " + (folder / "twice.json"), twice);
  CHECK(weft("info --arch gmlp --set d_model=8 --set d_model=16").code == 0);
  refuses(gmlp + "--set colour", "KEY=VALUE", 2);
  refuses(gmlp + "--set colour=\xFF", "in UTF-8", 2);
  refuses(gmlp + "--set colour=3", "unknown config key \"colour\"", 2);
  refuses(gmlp + "--d-ffn 7", "d_ffn");
  refuses(gmlp + "--d-model 0", "--d-model", 2);
  refuses(gmlp + "--dropout 1", "--dropout", 2);
  refuses(gmlp + "--d-model 10000000", "--d-model");  // more than the memory of any machine
  refuses(gmlp + "--batch 1000000000000", "batch");
}

TEST_CASE_FIXTURE(Fixture, "training options that are invalid") {
  const std::string plain = "train --arch gmlp --out " + run() + " --text " + text() + " ";
  const std::string train = plain + "--overwrite ";
  refuses(train + "--optimizer none", "--optimizer: unknown optimizer \"none\"", 2);
  refuses(train + "--schedule square",
          "--schedule: [schedule] expected one of constant, cosine, noam, linear, inverse-sqrt", 2);
  refuses(train + "--label-smoothing 1", "--label-smoothing", 2);
  refuses(train + "--patience -1", "--patience", 2);
  refuses(train + "--lr 0", "--lr", 2);
  refuses(train + "--lr nan", "--lr", 2);
  refuses(train + "--beta1 1", "--beta1", 2);
  refuses(train + "--momentum 0.5", "adamw has no option momentum");
  refuses(train + "--optimizer sgd --momentum -1", "--momentum", 2);
  refuses(train + "--weight-decay -1", "--weight-decay", 2);
  refuses(train + "--steps 0", "--steps", 2);
  refuses(train + "--steps many", "--steps", 2);
  refuses(train + "--threads 0", "--threads", 2);
  refuses(train + "--colour red", "--colour", 2);
  refuses("train --arch gmlp --out " + run(), "--text", 2);
  refuses("train --arch gmlp --text " + text(), "--out", 2);
  refuses("train --arch gmlp --out x --text a --data b", "--data", 2);
  refuses("", "subcommand", 2);
  refuses("train --resume --out " + run(), "weft train --resume " + run(), 2);
  refuses("train --out " + run() + " --resume", "weft train --resume " + run(), 2);
  refuses("train --resume " + run() + " --out " + run(), "weft train --resume " + run(), 2);
  refuses("train --resume", "weft train --resume DIR", 2);
  refuses("train --resume ''", "weft train --resume DIR", 2);
  for (const std::string option : {"--lr 1", "--arch gmlp", "--seq-len 8", "--seed 1", "--overwrite", "--config x"})
    refuses("train --resume " + run() + " " + option, "leave out " + option.substr(0, option.find(' ')), 2);
  refuses("train --resume " + (folder / "missing"), "there is no run in");
  CHECK_FALSE(std::filesystem::exists(folder / "missing"));
  refuses("train --arch gmlp --text " + text() + " --out " + (folder / "text"), "text");
  refuses("train --arch gmlp --text " + text() + " --out /proc/weft", "/proc/weft");
  refuses("train --arch gmlp --text " + text() + " --out " + (folder / "new") + " --log /proc/weft", "/proc/weft");
}

TEST_CASE_FIXTURE(Fixture, "a checkpoint is replaced only on request, even by a run that is stopped immediately") {
  const std::string train = "train --arch gmlp --text " + text() + tiny_sizes + "--seed 2 --steps 3 --out " + run();
  const std::string state = folder.read("run/last/training.safetensors");
  refuses(train, "--overwrite");
  refuses(train, "--resume");
  const std::string abandoned = ".weft-4194305-0.tmp";  // a process number above Linux's maximum
  folder.write("run/" + abandoned, "x");
  const Outcome stopped = weft_with_signal(train, "weft", SIGINT);
  CHECK((stopped.code == 1 || stopped.code == 128 + SIGINT));  // it either ended by itself or received an early signal
  CHECK(contains(stopped.err, "--overwrite"));
  CHECK(folder.read("run/last/training.safetensors") == state);
  std::filesystem::remove(folder / "run/last/model.safetensors");  // as after a kill during the first save
  CHECK(fails_with(weft(train), 1, "training.safetensors"));
  CHECK(std::filesystem::exists(folder / ("run/" + abandoned)));
  CHECK(weft(train + " --overwrite").code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / ("run/" + abandoned)));
  CHECK(folder.read("run/last/training.safetensors") != state);
}

TEST_CASE_FIXTURE(Fixture, "checkpoints that can't be used") {
  const std::string model = folder.read("run/last/model.safetensors"), config = folder.read("run/last/config.json");
  for (const std::string command :
       {"generate --checkpoint ", "info --checkpoint ", "eval --text x --checkpoint ", "classify "}) {
    refuses(command + (folder / "missing"), "missing/model.safetensors");
    folder.write("cut/model.safetensors", model.substr(0, model.size() / 2));
    refuses(command + (folder / "cut"), "cut/model.safetensors");
    folder.write("other/model.safetensors", model);
    folder.write("other/config.json", R"({"arch": "fnet"})");
    refuses(command + (folder / "other"), "belongs to a different model");
  }
  for (const std::string option : {"--arch fnet", "--recipe fnet-agnews", "--config x", "--layers 2", "--classes 2"})
    refuses("info --checkpoint " + run() + " " + option, option.substr(0, option.find(' ')), 2);
  refuses("eval --checkpoint " + run() + " --text " + (folder / "missing"), "missing");
  refuses("eval --checkpoint " + run() + " --text " + (folder / "latin1"), "latin1\": invalid UTF-8 at byte 3");
  refuses("eval --checkpoint " + run() + " --data " + (folder / "rows"), "--text");
  refuses("eval --checkpoint " + run() + " --text " + text() + " --seq-len 9", "sequences of 1 to 8 tokens, got 9");
  refuses("generate --checkpoint " + run() + " --prompt caf\xE9", "invalid UTF-8 at byte 3");
  refuses("generate --checkpoint " + run() + " --prompt a --prompt-file " + text(), "--prompt", 2);
  refuses("generate --checkpoint " + run() + " --prompt-file " + (folder / "missing"), "missing");
  refuses("generate --checkpoint " + run() + " --top-p 0",
          "--top-p: expected a finite number in decimal, above 0, at most 1, got \"0\"", 2);
  refuses("generate --checkpoint " + run() + " --temperature -1", "--temperature", 2);
  refuses("generate --checkpoint " + run() + " --tokens 20 >/dev/full", "standard output");
}

TEST_CASE_FIXTURE(Fixture,
                  "a loss that is not finite: the error names the step, and the last good checkpoint is kept") {
  const std::string before = folder.read("run/last/model.safetensors");
  const Outcome outcome =
      weft("train --arch gmlp --text " + text() + tiny_sizes + "--steps 300 --eval-every 200 " + "--overwrite --out " +
           run() + " --optimizer sgd --schedule constant --warmup 0 --clip 0 --lr 1e30");
  CAPTURE(outcome.err);
  CHECK(outcome.code == 1);
  CHECK(contains(outcome.err, "\nweft: [train] step "));
  CHECK(folder.read("run/last/model.safetensors") == before);
  CHECK(weft("info --checkpoint " + run()).code == 0);
}

}  // namespace weft::test
