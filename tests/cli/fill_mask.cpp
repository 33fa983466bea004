// Tests of weft fill-mask, and of weft eval for a classifier's labels.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "command.h"
#include "temporary_folder.h"
#include "train_support.h"

namespace weft::test {

TEST_CASE("weft fill-mask: prints a line for each gap, or a JSON object for each text") {
  const TemporaryFolder folder;
  folder.write("text", small_text());
  const std::string run = folder / "run", small = " --layers 1 --d-model 16 --seq-len 16 --steps 3 --out ";
  REQUIRE(weft("train --arch fnet --text " + (folder / "text") + small + run).code == 0);
  folder.write("in", "\xEF\xBB\xBFthe qu[mask]ck\n[mask]x[mask]\n");
  const Outcome plain = weft("fill-mask " + run + " " + (folder / "in") + " --top 2");
  CAPTURE(plain.err);
  REQUIRE(plain.code == 0);
  CHECK(std::count(plain.out.begin(), plain.out.end(), '\n') == 3);
  CHECK(std::count(plain.out.begin(), plain.out.end(), '\t') == 9);
  const Outcome json = weft("fill-mask " + run + " --json --threshold 0.001 <" + (folder / "in"));
  const auto first = nlohmann::json::parse(json.out.substr(0, json.out.find('\n')));
  CHECK(first["gaps"].size() == 1);
  CHECK(first["gaps"][0].size() == 5);
  CHECK(first["text"].get<std::string>() == "the qu" + first["gaps"][0][0]["symbol"].get<std::string>() + "ck");
  CHECK(contains(plain.out, "\t"));
  folder.write("none", "[mask]\nno gap\n");
  const Outcome none = weft("fill-mask " + run + " " + (folder / "none"));
  CHECK(none.code == 1);
  CHECK(contains(none.err, "none\": line 2: [fill-mask] expected a text with \"[mask]\""));
  CHECK(std::count(none.out.begin(), none.out.end(), '\n') == 1);
  folder.write("utf16", std::string("\xFF\xFEw\0", 4));
  CHECK(fails_with(weft("fill-mask " + run + " " + (folder / "utf16")), 1, "UTF-16"));
  CHECK(fails_with(weft("fill-mask " + run + " " + (folder / "missing")), 1, "missing"));
  CHECK(fails_with(weft("fill-mask " + run + " " + (folder / "in") + " >/dev/full"), 1, "standard output"));
  REQUIRE(weft("train --arch gmlp --text " + (folder / "text") + small + (folder / "lm")).code == 0);
  CHECK(fails_with(weft("fill-mask " + (folder / "lm") + " " + (folder / "in")), 1,
                   "expected a checkpoint with the task masked-lm"));
  CHECK(fails_with(weft("fill-mask " + (folder / "lm") + " </dev/null"), 1,
                   "(weft train --task masked-lm), got causal-lm"));
}

TEST_CASE("weft eval of a classifier: scores of each label, the confusion matrix, JSON") {
  const TemporaryFolder folder;
  std::string rows = "label,text\n";
  for (int i = 0; i < 60; ++i)
    rows += std::string(i % 3 == 0 ? "sport" : i % 3 == 1 ? "Börse" : "x") + ",w" + std::to_string(i % 3) + "\n";
  folder.write("rows", rows);
  const std::string run = folder / "run";
  REQUIRE(weft("train --arch gmlp --data " + (folder / "rows") + " --validation " + (folder / "rows") +
               " --layers 1 --d-model 16 --seq-len 8 --steps 60 --min-count 1 --out " + run)
              .code == 0);
  const std::string eval = "eval " + run + " --data " + (folder / "rows");
  const Outcome text = weft(eval);
  CHECK(contains(text.out, "label           precision     recall         F1       rows\n"));
  CHECK(contains(text.out, "Börse          "));
  CHECK(contains(text.out, "true\\predicted "));
  const Outcome json = weft(eval + " --json");
  CAPTURE(json.err);
  REQUIRE(json.code == 0);
  const auto scores = nlohmann::json::parse(json.out);
  CHECK(scores["predicted"] == 60);
  CHECK(scores["task"] == "classifier");
  REQUIRE(scores["labels"].size() == 3);
  CHECK(scores["labels"][0]["label"] == "Börse");
  CHECK(scores["labels"][0]["rows"] == 20);
  std::int64_t right = 0, all = 0;
  for (std::size_t i = 0; i < 3; ++i) {
    std::int64_t of_label = 0, given = 0;
    for (std::size_t j = 0; j < 3; ++j) {
      of_label += scores["confusion"][i][j].get<std::int64_t>();
      given += scores["confusion"][j][i].get<std::int64_t>();
    }
    const auto hits = scores["confusion"][i][i].get<std::int64_t>();
    CHECK(of_label == 20);
    CHECK(scores["labels"][i]["predicted"] == given);
    CHECK(scores["labels"][i]["recall"].get<double>() == doctest::Approx(static_cast<double>(hits) / 20));
    right += hits;
    all += of_label;
  }
  CHECK(scores["accuracy"].get<double>() == doctest::Approx(static_cast<double>(right) / static_cast<double>(all)));
  CHECK(scores["macro"]["f1"].get<double>() > 0.9);
  folder.write("text", small_text());
  REQUIRE(weft("train --arch tnn --text " + (folder / "text") + " --layers 1 --d-model 8 --seq-len 8 --steps 2 --out " +
               (folder / "lm"))
              .code == 0);
  const auto lm =
      nlohmann::json::parse(weft("eval " + (folder / "lm") + " --text " + (folder / "text") + " --json").out);
  CHECK(lm["bits_per_byte"].get<double>() > 0);
  CHECK(lm["perplexity"].get<double>() == doctest::Approx(std::exp(lm["loss"].get<double>())));
  CHECK_FALSE(lm.contains("labels"));
}

}  // namespace weft::test
