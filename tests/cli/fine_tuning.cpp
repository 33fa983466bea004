// Tests of weft train --from: what a run on other data takes from a checkpoint.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstdlib>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "weft/classifier.h"

namespace weft::test {
namespace {

// The rows of small_rows, with these names as labels.
std::string named_rows(const std::vector<std::string>& names) {
  std::string rows;
  const LabeledTexts all = small_rows();
  for (std::size_t i = 0; i < all.texts.size(); ++i)
    rows += all.texts[i] + "\t" + names[static_cast<std::size_t>(all.labels[i])] + "\n";
  return rows;
}

// A trained classifier of colors, numbers and winds.
struct TrainedOnWords {
  TrainedOnWords() {
    folder.write("rows", named_rows({"colour", "number", "wind"}));
    const Outcome trained = weft("train --arch fnet --data " + (folder / "rows") + sizes +
                                 "--min-count 1 --steps 150 --lr 5e-3 --out " + (folder / "first"));
    REQUIRE(trained.code == 0);
  }
  std::string from(const std::string& data) const {
    return "train --from " + (folder / "first") + " --steps 1 --lr 1e-30 --overwrite --data " + (folder / data) +
           " --out " + (folder / "run") + " ";
  }
  std::vector<double> probabilities(const std::string& run, const std::string& text) const {
    return Classifier(load_checkpoint(folder / run)).probabilities(text);
  }
  TemporaryFolder folder;
};

}  // namespace

TEST_CASE_FIXTURE(TrainedOnWords,
                  "weft train --from: the same number of labels with other names, some of which are known") {
  const std::string text = "red green blue and 3";
  folder.write("other", named_rows({"wind", "breeze", "number"}));
  const Outcome some = weft(from("other"));
  CAPTURE(some.err);
  REQUIRE(some.code == 0);
  CHECK(contains(some.err,
                 "labels: 2 of 3 known to " + (folder / "first") + "; the head's rows for the other labels are new\n"));
  CHECK_FALSE(contains(some.err, "; new parameters: "));
  const std::vector<double> before = probabilities("first", text), after = probabilities("run", text);
  CHECK(load_checkpoint(folder / "run").info.labels == std::vector<std::string>{"breeze", "number", "wind"});
  // the ratio of known labels doesn't depend on the new label
  CHECK(after[1] / after[2] == doctest::Approx(before[1] / before[2]));
  CHECK(after[0] / after[1] != doctest::Approx(before[0] / before[1]));

  folder.write("new", named_rows({"a", "b", "c"}));
  const Outcome none = weft(from("new"));
  CHECK(contains(none.err, "labels: 0 of 3 known to " + (folder / "first") + "; the head is new\n"));
  CHECK(contains(none.err, "; new parameters: classifier.weight, classifier.bias\n"));

  const Outcome all = weft(from("rows"));
  CHECK(contains(all.err, "labels: 3 of 3 known to " + (folder / "first") + "\n"));
  CHECK(probabilities("run", text)[0] == doctest::Approx(before[0]));
  CHECK_FALSE(contains(weft("train --resume " + (folder / "run") + " --steps 2").err, "known to"));
}

TEST_CASE_FIXTURE(TrainedOnWords,
                  "weft train --from: rows are padded as for the classifier, unless --pad-to is given") {
  for (const std::string padding : {"exact", "7"}) {
    CAPTURE(padding);
    const std::int64_t kept = padding == "exact" ? 0 : 7;
    REQUIRE(weft(from("rows") + "--pad-to " + padding).code == 0);
    const std::string again = "train --from " + (folder / "run") + " --steps 1 --overwrite --data " +
                              (folder / "rows") + " --out " + (folder / "again");
    REQUIRE(weft(again).code == 0);
    CHECK(load_checkpoint(folder / "again").info.pad_to == kept);
    REQUIRE(weft("train --resume " + (folder / "again") + " --steps 2").code == 0);
    CHECK(load_checkpoint(folder / "again").info.pad_to == kept);
    REQUIRE(weft("train --config " + (folder / "again/run.json") + " --out " + (folder / "repeated")).code == 0);
    CHECK(load_checkpoint(folder / "repeated").info.pad_to == kept);
    std::filesystem::remove_all(folder / "repeated");
    REQUIRE(weft(again + " --pad-to 6").code == 0);
    CHECK(load_checkpoint(folder / "again").info.pad_to == 6);
  }
}

TEST_CASE_FIXTURE(TrainedOnWords,
                  "weft train --resume: a run.json without pad-to comes from rows that fill the sequences") {
  REQUIRE(weft(from("rows") + "--pad-to exact").code == 0);
  REQUIRE(weft("train --from " + (folder / "run") + " --pad-to 8 --steps 1 --data " + (folder / "rows") + " --out " +
               (folder / "old"))
              .code == 0);
  std::string settings = folder.read("old/run.json");
  const std::string pad_to = "\"pad-to\": \"8\",";
  REQUIRE(contains(settings, pad_to));
  folder.write("old/run.json", settings.erase(settings.find(pad_to), pad_to.size()));
  REQUIRE(weft("train --resume " + (folder / "old") + " --steps 2").code == 0);
  CHECK(load_checkpoint(folder / "old").info.pad_to == 8);
}

TEST_CASE_FIXTURE(TrainedOnWords,
                  "weft train --from: rows that fill sequences of one length fill those of another length") {
  const std::string rows = " --steps 1 --overwrite --data " + (folder / "rows") + " --out ";
  const auto filled = [&](const std::string& options) {
    REQUIRE(weft("train " + options + rows + (folder / "run")).code == 0);
    return load_checkpoint(folder / "run").info.pad_to;
  };
  REQUIRE(weft("train --arch tnn --layers 1 --d-model 8 --seq-len 8" + rows + (folder / "tnn")).code == 0);
  const std::string from = "--from " + (folder / "tnn"), repeat = "--config " + (folder / "tnn/run.json");
  CHECK(filled(from) == 8);
  for (const std::string& first : {from, repeat})
    for (const std::string length : {" --seq-len 12", " --set seq_len=12"}) {
      CAPTURE(first + length);
      CHECK(filled(first + length) == 12);
    }
  folder.write("text", small_text());
  REQUIRE(weft("train --arch fnet --task masked-lm --tokenizer words --min-count 1 --steps 1 --text " +
               (folder / "text") + sizes + "--out " + (folder / "lm"))
              .code == 0);
  CHECK(filled("--from " + (folder / "lm")) == 8);
}

TEST_CASE_FIXTURE(TrainedOnWords, "weft train --from reads the rows once, so they may come from a pipe") {
  REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
  const std::string run = "timeout 60 sh -c 'cat " + (folder / "rows") + " >" + (folder / "pipe") +
                          " & exec timeout 20 \"$WEFT\" " + from("pipe") + "' >" + (folder / "said") + " 2>&1";
  CHECK(std::system(run.c_str()) == 0);
  CHECK(contains(folder.read("said"), "labels: 3 of 3 known to "));
}

}  // namespace weft::test
