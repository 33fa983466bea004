// Tests of weft train --task retrieval, weft embed and weft nearest.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "small_run.h"
#include "task_runs.h"
#include "temporary_folder.h"

namespace weft::test {
TEST_CASE("embeddings: train on pairs, eval, embed and nearest") {
  const TemporaryFolder folder;
  folder.write("pairs.csv", pairs());
  const std::string data = folder / "pairs.csv", run = folder / "run", columns = " --columns text=body,label=title";
  const std::string train = "train --arch gmlp --layers 0 --d-model 16 --task retrieval --dimensions 12 --batch 16";
  const auto trained = weft(train + " --seq-len 8 --min-count 1 --steps 120 --lr 0.01 --data " + data + columns +
                            " --test " + data + " --out " + run);
  CHECK(trained.code == 0);
  CHECK(number_after(trained.out + trained.err, "test recall@10") > 80);
  CHECK(number_after(weft("eval " + run + " --data " + data + columns).out, "recall@1 ") > 50);
  CHECK(weft("report " + run + " --out " + (folder / "r.html")).code == 0);

  const auto lines = weft("embed " + run + " " + data + " --columns text=title");
  CHECK(lines.code == 0);
  const auto first = nlohmann::json::parse(lines.out.substr(0, lines.out.find('\n')));
  CHECK(first.at("text") == "apple 0");
  double square = 0;
  for (const double x : first.at("vector")) square += x * x;
  CHECK(first.at("vector").size() == 12);
  CHECK(square == doctest::Approx(1).epsilon(1e-5));

  const std::string vectors = folder / "titles.npy", search = "nearest " + run + " " + data + " --columns text=title";
  CHECK(contains(weft("embed " + run + " " + data + " --columns text=title --out " + vectors).err,
                 "48 vectors of 12 numbers"));
  const auto found = weft(search + " \"a story of the dragon number 2\" --top 3");
  CHECK(found.code == 0);
  CHECK(contains(found.out, "dragon"));
  CHECK(weft(search + " \"a story of the dragon number 2\" --top 3 --vectors " + vectors).out == found.out);
  const auto two = weft(search + " garden harbor --top 1 --json");
  const auto second = nlohmann::json::parse(two.out.substr(two.out.find('\n') + 1));
  CHECK(second.at("query") == "harbor");
  CHECK(second.at("nearest").size() == 1);

  folder.write("lines.txt", "one line\n");
  CHECK(fails_with(weft("nearest " + run + " " + (folder / "lines.txt") + " q --vectors " + vectors), 1,
                   "expected 1 vectors of 12 numbers, one for each text of the corpus, got 48 vectors of 12 numbers"));
  folder.write("broken.npy", "no array");
  CHECK(fails_with(weft("nearest " + run + " " + (folder / "lines.txt") + " q --vectors " + (folder / "broken.npy")), 1,
                   "expected a NumPy file"));
  folder.write("empty.txt", "");
  CHECK(fails_with(weft("nearest " + run + " " + (folder / "empty.txt") + " q"), 1, "has no texts"));
  CHECK(fails_with(weft("embed " + run + " " + (folder / "absent.txt")), 1, "absent.txt"));
  CHECK(fails_with(weft("classify " + run + " " + (folder / "lines.txt")), 1, "got a model for the task retrieval"));
  CHECK(fails_with(weft(train + " --pad-to 8 --data " + data + columns + " --out " + (folder / "x")), 2,
                   "--pad-to applies only to the task classifier"));
  CHECK(fails_with(
      weft("train --arch gmlp --task retrieval --batch 1 --data " + data + columns + " --out " + (folder / "x")), 2,
      "--batch 1: a retrieval model compares the pairs of a batch"));
}

TEST_CASE("embeddings: pairs whose cells contain line breaks") {
  const TemporaryFolder folder;
  std::string csv = "title,body\n";
  for (int k = 0; k < 20; ++k)
    csv += "\"title\n" + std::to_string(k) + "\",\"the body\r\nof " + std::to_string(k) + "\"\n";
  folder.write("pairs.csv", csv);
  const std::string data = folder / "pairs.csv --columns text=body,label=title", run = folder / "run";
  const Outcome trained =
      weft("train --arch gmlp --layers 0 --d-model 8 --task retrieval --dimensions 4 --seq-len 8 --steps 2 --data " +
           data + " --out " + run);
  CHECK(trained.code == 0);
  CHECK(contains(trained.err, "in batches of 64"));  // more pairs than rows of other tasks, because they are negatives
  CHECK(weft("eval " + run + " --data " + data).code == 0);
}

TEST_CASE("embeddings: an error names the text that has no vector") {
  const TemporaryFolder folder;
  folder.write("pairs.csv", pairs());
  const std::string run = folder / "run";
  CHECK(weft("train --arch gmlp --layers 0 --d-model 8 --task retrieval --dimensions 4 --seq-len 8 --steps 2 --data " +
             (folder / "pairs.csv") + " --columns text=body,label=title --out " + run)
            .code == 0);
  folder.write("lines.txt", "one\ntwo\nthr\xFF\nfour\n");
  const std::string lines = folder / "lines.txt", expected = "\"" + lines + "\": line 3: [embed] invalid UTF-8";
  CHECK(fails_with(weft("embed " + run + " " + lines + " --out " + (folder / "v.npy")), 1, expected));
  CHECK(fails_with(weft("nearest " + run + " " + lines + " one"), 1, expected));
  const auto printed = weft("embed " + run + " < " + lines);
  CHECK(printed.code == 1);
  CHECK(contains(printed.err, "standard input: line 3: [embed] invalid UTF-8"));
  folder.write("good.txt", "one\n");
  CHECK(
      fails_with(weft("nearest " + run + " " + (folder / "good.txt") + " \"$(printf 'a\\377')\""), 1, "the query \"a"));
}

TEST_CASE("embeddings: --pooling of embed and nearest, and what refuses it") {
  const TemporaryFolder folder;
  folder.write("rows.csv", small_csv());
  folder.write("texts", "red green blue\nred two south\n");
  folder.write("text", small_text());
  folder.write("pairs.csv", pairs());
  const std::string run = folder / "run", texts = folder / "texts", train = "train --arch gmlp --steps 20" + sizes;
  REQUIRE(weft(train + "--min-count 1 --lr 0.01 --data " + (folder / "rows.csv") + " --out " + run).code == 0);
  const std::string embed = "embed " + run + " " + texts;
  const Outcome usual = weft(embed), mean = weft(embed + " --pooling mean"), first = weft(embed + " --pooling first");
  CHECK(mean.code == 0);
  CHECK(first.code == 0);
  CHECK(usual.out == mean.out);
  CHECK(first.out != mean.out);
  CHECK(weft("embed --help").out.find("--pooling NAME") != std::string::npos);

  // nearest compares vectors of the same pooling: a text has the similarity 1 to itself.
  REQUIRE(weft(embed + " --pooling first --out " + (folder / "first.npy")).code == 0);
  const std::string search = "nearest " + run + " " + texts + " \"red two south\" --top 1 --pooling first";
  const Outcome found = weft(search);
  CHECK(found.out == "1.0000\tred two south\n");
  CHECK(weft(search + " --vectors " + (folder / "first.npy")).out == found.out);
  CHECK(std::stod(weft(search + " --pooling mean --vectors " + (folder / "first.npy")).out) < 0.9999);

  CHECK(fails_with(weft(embed + " --pooling max"), 2, "--pooling: [pooling] expected one of mean, first, got \"max\""));
  REQUIRE(weft(train + "--text " + (folder / "text") + " --out " + (folder / "lm")).code == 0);
  CHECK(fails_with(weft("embed " + (folder / "lm") + " " + texts + " --pooling first"), 1,
                   "expected the pooling mean, got first: the first token of a causal model sees no other token"));
  REQUIRE(
      weft("train --arch gmlp --layers 1 --d-model 8 --seq-len 8 --task retrieval --dimensions 4 --steps 2 --data " +
           (folder / "pairs.csv") + " --columns text=body,label=title --out " + (folder / "search"))
          .code == 0);
  for (const std::string pooling : {"first", "mean"})
    for (const std::string& command :
         {"embed " + (folder / "search") + " " + texts, "nearest " + (folder / "search") + " " + texts + " red"})
      CHECK(fails_with(weft(command + " --pooling " + pooling), 2,
                       "--pooling can't be used with the task retrieval, whose models output one vector"));
}

}  // namespace weft::test
