// Tests of weft train, eval and predict with sentences in CoNLL's columns.
#include <doctest/doctest.h>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

// 60 sentences of two words, with their parts of speech in column 2 and their chunks in column 3.
std::string tagged_sentences() {
  const char* const colors[] = {"red", "green", "blue"};
  const char* const things[] = {"wind", "tree"};
  std::string lines = "-DOCSTART- -X- O\n\n";
  for (int i = 0; i < 60; ++i)
    lines +=
        std::string(colors[i % 3]) + " ADJ B-" + (i % 3 == 0 ? "WARM" : "COLD") + "\n" + things[i % 2] + " N O\n\n";
  return lines;
}

}  // namespace

TEST_CASE("CoNLL files: train a tagger, eval and predict") {
  const TemporaryFolder folder;
  folder.write("train.conll", tagged_sentences());
  folder.write("words.conll", "tree\nred\n\nblue\n");
  const std::string data = folder / "train.conll", run = folder / "run", conll = " --format conll";
  const std::string train = "train --arch gmlp --task tagging --data " + data + conll + row_sizes + "--lr 1e-2 ";
  const Outcome trained = weft(train + "--steps 120 --test " + data + " --out " + run);
  CAPTURE(trained.err);
  REQUIRE(trained.code == 0);
  CHECK(contains(trained.err,
                 data + ": CoNLL, word in column 1, tag in the last column; 60 rows, 2 labels: B-COLD O, B-WARM O\n"));
  CHECK(contains(trained.err, "tagging: 3 tags: B-COLD, B-WARM, O\n"));
  CHECK(contains(trained.out, "test accuracy 100.00 %"));
  CHECK(contains(folder.read("run/run.json"), "\"format\": \"conll\""));

  const Outcome measured = weft("eval " + run + " --data " + data + conll);
  CHECK(contains(measured.err, data + ": CoNLL, word in column 1, tag in the last column; 60 rows"));
  CHECK(contains(measured.out, "test accuracy 100.00 %"));
  CHECK(contains(measured.out, "predicted 120\n"));
  const Outcome predicted = weft("predict " + run + " " + (folder / "words.conll") + conll);
  CHECK(predicted.code == 0);
  CHECK(predicted.out == "tree\tO\nred\tB-WARM\n\nblue\tB-COLD\n\n");

  const Outcome parts = weft(train + "--columns text=1,label=2 --steps 2 --out " + (folder / "parts"));
  CHECK(contains(parts.err, ": CoNLL, word in column 1, tag in column 2; 60 rows, 1 label: ADJ N\n"));
  CHECK(contains(parts.err, "tagging: 2 tags: ADJ, N\n"));
}

TEST_CASE("CoNLL files: wrong columns are refused with the file and the row") {
  const TemporaryFolder folder;
  folder.write("train.conll", tagged_sentences());
  folder.write("bad.conll", "red ADJ O\n\nblue ADJ O\ntree\n\ngreen ADJ A\n\n");
  const std::string good = folder / "train.conll", bad = folder / "bad.conll", run = folder / "run";
  const auto train = [&](const std::string& file, const std::string& options = "") {
    return weft("train --arch gmlp --task tagging --format conll --data " + file + options + row_sizes +
                "--steps 2 --overwrite --out " + run);
  };
  REQUIRE(train(good).code == 0);
  const std::string at = "\"" + bad + "\": row 2 (line 3): expected at least 2 columns, got the line \"tree\"";
  CHECK(fails_with(train(bad), 1, at));
  CHECK(fails_with(weft("eval " + run + " --format conll --data " + bad), 1, at));
  CHECK(contains(train(bad, " --skip-bad-rows").err, "; 2 rows, 2 labels: A, O; 1 bad row skipped\n"));
  const std::string columns = "\"" + good + "\": row 1 (line 3): expected at least 4 columns, got the line \"red ADJ ";
  CHECK(fails_with(train(good, " --columns label=4"), 1, columns));
  CHECK(fails_with(weft("predict " + run + " --format conll --columns text=4 " + good), 1, columns));
  CHECK(fails_with(train(good, " --columns label=tag"), 1,
                   "\"" + good + "\": expected the number of a column, from 1, got \"tag\""));
}

}  // namespace weft::test
