// Tests of labeled texts with weft train, eval and classify, from the file to the prediction.
#include <doctest/doctest.h>

#include <chrono>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "weft/classifier.h"

namespace weft::test {
namespace {

const char* const names[] = {"colour", "number", "wind"};

// The rows of small_rows with label names, in one of the formats.
struct Format {
  std::string file, options, content, says;
};

std::vector<Format> formats() {
  std::string csv = "kind,note\n", tsv, semicolon = "note;kind\n", jsonl, fasttext;
  const LabeledTexts rows = small_rows();
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    const std::string label = names[rows.labels[i]], &text = rows.texts[i];
    csv += label + ",\"" + text + "\"\n";
    tsv += text + "\t" + label + "\n";
    semicolon += text + ";" + label + "\n";
    jsonl += "{\"note\": \"" + text + "\", \"label\": \"" + label + "\"}\n";
    fasttext += "__label__" + label + " " + text + "\n";
  }
  return {{"a.csv", "--columns text=note,label=kind", csv,
           "CSV with a header, label in column \"kind\", text in column \"note\""},
          {"a.tsv", "", tsv, "TSV without a header, label in column 2, text in column 1"},
          {"a.txt", "--header yes", semicolon, "semicolons with a header"},
          {"a.jsonl", "--format jsonl", jsonl, "JSON lines, label in column \"label\", text in column \"note\""},
          {"a.ft", "", fasttext, "fastText's lines"}};
}

std::string quoted(const std::string& text) { return "'" + text + "'"; }

}  // namespace

TEST_CASE("weft train and eval on rows") {
  const TemporaryFolder folder;
  folder.write("csv", small_csv());
  const std::string csv = folder / "csv", run = folder / "run";
  for (const std::string& arch : own_architectures)
    for (const std::string padding : {"exact", "7"}) {
      CAPTURE(arch);
      const Outcome trained = weft("train --arch " + arch + " --data " + csv + " --validation " + csv + row_sizes +
                                   "--steps 30 --eval-every 30 " + "--pad-to " + padding + " --overwrite --out " + run);
      CAPTURE(trained.err);
      CHECK(trained.code == 0);
      CHECK(contains(trained.err, csv +
                                      ": CSV without a header, label in column 1, text in columns 2 and 3; 60 rows, 3 "
                                      "labels: 1, 2, 3\n"));
      const Outcome evaluated = weft("eval --checkpoint " + run + " --data " + csv);
      CHECK(number_after(evaluated.out, "test accuracy ") == number_after(trained.out, "validation accuracy "));
      CHECK(number_after(evaluated.out, "test loss ") == number_after(trained.out, "validation loss "));
      CHECK(number_after(evaluated.out, "predicted ") == 60);
      CHECK(load_checkpoint(run).info.pad_to == (padding == "7" ? 7 : 0));
      CHECK(load_checkpoint(run).info.length == (padding == "7" ? 7 : 8));
      CHECK(fails_with(weft("generate --checkpoint " + run), 1, "classifier"));
      CHECK(fails_with(weft("eval --checkpoint " + run + " --text " + csv), 1, "--data"));
    }
  // Rows without a text are used and counted. Control characters in column names don't reach the terminal.
  folder.write("odd", "label,te\x1B[31mxt\n1,red sky here\n2,\n1, \n2,blue sea now\n");
  const Outcome odd = weft("train --arch gmlp --data " + (folder / "odd") + " --columns label=label" + row_sizes +
                           "--steps 1 --overwrite --out " + run);
  CHECK(contains(odd.err, "text in column \"te\\x1B[31mxt\"; 4 rows, 2 labels: 1, 2; 2 rows with an empty text\n"));
  // Uses the old names of the options, and held-out rows.
  const Outcome held_out = weft("train --arch gmlp --csv " + csv + row_sizes + "--steps 2 --overwrite --out " + run);
  CHECK(std::isfinite(number_after(held_out.out, "validation accuracy ")));
  CHECK(weft("train --arch gmlp --csv " + csv + " --csv-test " + csv + row_sizes + "--steps 2 --overwrite --out " + run)
            .code == 0);
  CHECK(weft("eval --checkpoint " + run + " --csv " + csv).code == 0);
}

TEST_CASE("weft train: every format, including a folder, gives the same model, which knows the labels' names") {
  const TemporaryFolder folder;
  std::string first;
  std::vector<Format> all = formats();
  for (const Format& format : all) folder.write(format.file, format.content);
  const LabeledTexts rows = small_rows();
  for (const Format& format : all) {
    CAPTURE(format.file);
    const Outcome trained = weft("train --arch gmlp --data " + (folder / format.file) + " " + format.options +
                                 row_sizes + "--steps 60 --lr 5e-3 --overwrite --out " + (folder / "run"));
    CAPTURE(trained.err);
    CHECK(trained.code == 0);
    CHECK(contains(trained.err, format.file + ": " + format.says));
    CHECK(contains(trained.err, "; 60 rows, 3 labels: colour, number, wind\n"));
    const std::string model = folder.read("run/model.safetensors");
    if (first.empty()) first = model;
    CHECK(model == first);
    const Outcome said = weft("classify " + (folder / "run") + " " + (folder / format.file));
    CHECK(said.code == 0);
  }
  for (std::size_t i = 0; i < rows.texts.size(); ++i)
    folder.write("d/" + std::string(names[rows.labels[i]]) + "/" + std::to_string(i), rows.texts[i]);
  const Outcome trained = weft("train --arch gmlp --data " + (folder / "d") + row_sizes +
                               "--steps 2 --overwrite --out " + (folder / "run"));
  CHECK(contains(trained.err, "d: a folder for each label; 60 rows, 3 labels: colour, number, wind\n"));
  CHECK(contains(folder.read("run/last/config.json"), "\"colour\",\n    \"number\",\n    \"wind\""));
}

TEST_CASE("weft train and eval: bad rows are omitted and counted") {
  const TemporaryFolder folder;
  folder.write("csv", small_csv() + "1,a\n\"2\",\"\",\"\xFF\"\n");
  folder.write("test", small_csv() + "4,,a\n");
  const std::string train =
      "train --arch gmlp --data " + (folder / "csv") + row_sizes + "--steps 2 --out " + (folder / "run");
  CHECK(fails_with(weft(train), 1, "csv\": row 61: expected 3 columns"));
  const Outcome trained = weft(train + " --skip-bad-rows");
  CHECK(trained.code == 0);
  CHECK(contains(trained.err, "; 60 rows, 3 labels: 1, 2, 3; 2 bad rows skipped\n"));
  const std::string eval = "eval --checkpoint " + (folder / "run") + " --data " + (folder / "test");
  CHECK(fails_with(weft(eval), 1,
                   "test\": row 61: the label is \"4\", expected one of \"1\", \"2\", \"3\" (--skip-bad-rows"));
  const Outcome left_out = weft(eval + " --skip-bad-rows");
  CHECK(contains(left_out.err, "; 1 bad row skipped\n"));
  CHECK(number_after(left_out.out, "predicted ") == 60);
  folder.write("several", "__label__a __label__b x y\n__label__b z\n__label__a u\n");
  CHECK(contains(
      weft("train --arch gmlp --data " + (folder / "several") + row_sizes + "--steps 1 --out " + (folder / "s")).err,
      "; 1 row with several labels, of which only the first is used\n"));
}

namespace {

// A checkpoint of a classifier with named labels, and texts.
class Classified {
 public:
  Classified() {
    folder.write("rows", formats()[1].content);
    const Outcome trained = weft("train --arch fnet --data " + (folder / "rows") + row_sizes +
                                 "--steps 150 --lr 5e-3 --out " + (folder / "run"));
    REQUIRE(trained.code == 0);
  }
  // Passes the text to standard input.
  Outcome classify(const std::string& input, const std::string& options = "") const {
    folder.write("in", input);
    return weft("classify " + (folder / "run") + " " + options + " <" + (folder / "in"));
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(Classified,
                  "weft classify: labels with probabilities, in the order of the lines, as by the library") {
  const std::vector<std::string> texts = {"red green blue and 5", "one two three", "", "north south, WEST!",
                                          "one two three"};
  const Classifier classifier(load_checkpoint(folder / "run"));
  std::string input, all, best, json;
  for (const std::string& text : texts) {
    input += text + "\n";
    const auto p = classifier.probabilities(text);
    const auto line = [&](const std::vector<Prediction>& predictions) {
      std::string out;
      char number[32];
      for (const Prediction& each : predictions) {
        std::snprintf(number, sizeof number, "\t%.4f", each.probability);
        out += (out.empty() ? "" : "\t") + each.label + number;
      }
      return out + "\n";
    };
    best += line(classifier.best(p));
    all += line(classifier.best(p, 0));
  }
  CHECK(classify(input).out == best);
  CHECK(classify(input, "-").out == best);
  CHECK(classify(input).err.empty());
  CHECK(classify(input, "--top 0").out == all);
  CHECK(classify(input, "--top 3 --threads 2").out == all);
  CHECK(classify("", "--threshold 1").out.empty());
  CHECK(classify("red\nblue", "--threshold 1").out == "\n\n");
  CHECK(weft("classify " + (folder / "run") + " " + (folder / "in")).out.size() > 10);
  CHECK(contains(best, "colour\t0."));
  CHECK(contains(best, "wind\t0."));

  std::istringstream lines(classify(input, "--json --top 2").out);
  std::string line;
  for (const std::string& text : texts) {
    REQUIRE(std::getline(lines, line));
    const auto answer = nlohmann::json::parse(line);
    const auto want = classifier.best(classifier.probabilities(text), 2);
    REQUIRE(answer.at("labels").size() == 2);
    for (std::size_t i : {0, 1}) {
      CHECK(answer["labels"][i]["label"] == want[i].label);
      CHECK(answer["labels"][i]["probability"].get<double>() == want[i].probability);
    }
  }
  CHECK_FALSE(std::getline(lines, line));
}

TEST_CASE_FIXTURE(Classified,
                  "weft classify: line breaks, a byte order mark, many lines, a last line without a line break") {
  const std::string one = classify("one two three\n").out;
  CHECK(classify("one two three").out == one);
  CHECK(classify("one two three\r\n").out == one);
  CHECK(classify("\xEF\xBB\xBFone two three\n").out == one);
  std::string input, want;
  const std::string red = classify("red green\n").out;
  for (int i = 0; i < 30000; ++i) {  // more than one read() returns
    input += i % 3 ? "red green\n" : "one two three\n";
    want += i % 3 ? red : one;
  }
  CHECK(classify(input).out == want);
  const std::string long_line(300000, 'x');
  CHECK(classify(long_line + "\none two three\n").out.size() > one.size());
}

TEST_CASE_FIXTURE(Classified, "weft classify: prints a prediction while the writer waits for it") {
  folder.write("talk.sh",
               "set -e\nmkfifo \"$1/to\" \"$1/from\"\n\"$WEFT\" classify \"$1/run\" <\"$1/to\" >\"$1/from\" &\n"
               "exec 3>\"$1/to\" 4<\"$1/from\"\n"
               "for text in 'one two three' 'red green blue'; do echo \"$text\" >&3; read -r answer <&4; echo "
               "\"$answer\"; done\n"
               "printf 'north\\nsouth' >&3; read -r answer <&4; echo \"$answer\"; exec 3>&-; cat <&4; wait\n");
  const std::string script = "timeout 60 sh " + quoted(folder / "talk.sh") + " " + quoted(folder.operator/("")) + " >" +
                             quoted(folder / "said");
  CHECK(std::system(script.c_str()) == 0);
  CHECK(folder.read("said") == classify("one two three\nred green blue\nnorth\nsouth\n").out);
}

TEST_CASE_FIXTURE(Classified, "weft classify: texts that can't be classified") {
  const Outcome latin = classify("red\nblue\ncaf\xE9\nred\n");
  CHECK(latin.code == 1);
  CHECK(latin.out == classify("red\nblue\n").out);
  CHECK(contains(latin.err, "weft: standard input: line 3: [classifier] invalid UTF-8 at byte 3"));
  CHECK(
      fails_with(classify({"\xFF\xFEr\0e\0d\0", 8}), 1, "standard input: expected UTF-8, got UTF-16 (iconv -f UTF-16"));
  CHECK(fails_with(weft("classify " + (folder / "run") + " " + (folder / "missing")), 1, "missing"));
  CHECK(fails_with(weft("classify " + (folder / "run") + " " + (folder / "run")), 1, "run"));
  CHECK(fails_with(weft("classify " + (folder / "missing")), 1, "missing/model.safetensors"));
  CHECK(fails_with(weft("classify"), 2, "checkpoint"));
  CHECK(fails_with(classify("red\n", "--threshold 2"), 2, "--threshold"));
  CHECK(fails_with(classify("red\n", "--top -1"), 2, "--top"));
  CHECK(fails_with(classify("red\n", ">/dev/full"), 1, "standard output"));
  folder.write("text", small_text());
  REQUIRE(weft("train --arch gmlp --text " + (folder / "text") +
               " --layers 1 --d-model 8 --seq-len 8 --steps 1 --out " + (folder / "lm"))
              .code == 0);
  CHECK(
      fails_with(weft("classify " + (folder / "lm")), 1, "expected a classifier, got a model for the task causal-lm"));
  CHECK(fails_with(weft("generate --checkpoint " + (folder / "run")), 1, "classifier"));
  // A program saved this checkpoint without labels.
  Checkpoint saved = load_checkpoint(folder / "run");
  save_checkpoint(folder / "plain", *saved.model, *saved.tokenizer);
  CHECK(contains(weft("classify " + (folder / "plain") + " --top 0 <" + (folder / "in")).out, "3\t0."));
}

}  // namespace weft::test
