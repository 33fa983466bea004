// Tests of weft classify on files of rows: the formats and columns of training, and CSV with added predictions.
#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "command.h"
#include "small_run.h"
#include "temporary_folder.h"
#include "weft/classifier.h"

namespace weft::test {
namespace {

// A run on colors and winds. Its text is in the columns "note" and "more".
class TextColumns {
 public:
  TextColumns() {
    std::string csv = "id,kind,note,more\n";
    for (int i = 0; i < 20; ++i)
      csv += std::to_string(i) + (i % 2 ? ",wind,north south,west\n" : ",colour,red,green\n");
    folder.write("train.csv", csv);
    const Outcome trained =
        weft("train --arch gmlp --data " + (folder / "train.csv") + " --columns text=note+more,label=kind" + row_sizes +
             "--steps 40 --lr 5e-3 --out " + run);
    REQUIRE(trained.code == 0);
    classifier.emplace(load_checkpoint(run));
  }
  Outcome classify(const std::string& file, const std::string& content, const std::string& options = "") const {
    folder.write(file, content);
    return weft("classify " + run + " " + (folder / file) + " " + options);
  }
  std::string answer(const std::string& text) const {
    const Prediction p = (*classifier)(text);
    char number[32];
    std::snprintf(number, sizeof number, "%.4f", p.probability);
    return p.label + "\t" + number;
  }
  std::string answers(const std::vector<std::string>& texts) const {
    std::string all;
    for (const std::string& text : texts) all += answer(text) + "\n";
    return all;
  }
  // Returns the text as two CSV columns.
  std::string cells(const std::string& text) const {
    std::string both = answer(text);
    both[both.find('\t')] = ',';
    return both;
  }

  TemporaryFolder folder;
  std::string run = folder / "run";
  std::optional<Classifier> classifier;
};

bool says(const Outcome& outcome, const std::string& file, const std::string& format) {
  return outcome.code == 0 && contains(outcome.err, file + ": " + format + "\n");
}

}  // namespace

TEST_CASE_FIXTURE(TextColumns, "weft classify: it reads each format of training with the columns of training") {
  const std::vector<std::string> texts = {"red green", "north south west", "blue"};
  const std::string want = answers(texts), columns = "text in columns \"note\" and \"more\"";
  const auto gives = [&](const Outcome& outcome, const std::string& file, const std::string& format) {
    CAPTURE(file);
    CAPTURE(outcome.err);
    CHECK(says(outcome, file, format));
    CHECK(outcome.out == want);
  };
  const std::string csv = "more,kind,note\ngreen,?,red\nsouth west,,north\n,,blue\n";
  gives(classify("a.csv", csv), "a.csv", "CSV with a header, " + columns);
  gives(classify("b", csv), "b", "CSV with a header, " + columns);
  std::string other = csv;
  for (char& c : other) c = c == ',' ? ';' : c;
  gives(classify("c.csv", other), "c.csv", "semicolons with a header, " + columns);
  gives(classify("d.txt", other), "d.txt", "semicolons with a header, " + columns);
  for (char& c : other) c = c == ';' ? '\t' : c;
  gives(classify("e.tsv", other), "e.tsv", "TSV with a header, " + columns);
  gives(classify("f.csv", other), "f.csv", "TSV with a header, " + columns);
  const std::string jsonl =
      "{\"note\": \"red\", \"more\": \"green\", \"x\": [1]}\n{\"note\": \"north\", \"more\": \"south west\"}\n"
      "{\"more\": \"blue\"}\n";
  gives(classify("g", jsonl), "g", "JSON lines, " + columns);
  gives(classify("h", "__label__wind red green\nnorth south __label__colour west\n__label__other blue\n"), "h",
        "fastText's lines");
  // Without column names, the columns come from options or from the labels that the model knows.
  gives(classify("i.csv", "red green,1\nnorth south west,2\nblue,3\n", "--columns text=1"), "i.csv",
        "CSV without a header, text in column 1");
  std::filesystem::copy(folder / "run/best", folder / "plain", std::filesystem::copy_options::recursive);
  for (const auto& [file, content, format] : std::vector<std::array<std::string, 3>>{
           {"j", "red green\twind\nnorth south west\twind\nblue\tcolour\n", "TSV without a header, text in column 1"},
           {"k", "\"wind\",\"red green\"\n\"wind\",\"north south west\"\n\"wind\",\"blue\"\n",
            "CSV without a header, text in column 2"},
           {"l.csv", "red green\nnorth south west\nblue\n", "CSV without a header, text in column 1"},
           {"m.csv", "text\nred green\nnorth south west\nblue\n", "CSV with a header, text in column \"text\""},
           {"n", "text;label\nred green;\nnorth south west;\nblue;\n",
            "semicolons with a header, text in column \"text\""}}) {
    folder.write(file, content);
    gives(weft("classify " + (folder / "plain") + " " + (folder / file)), file, format);
  }
  folder.write("one.csv", "note\nred green\nnorth south west\nblue\n");
  gives(weft("classify " + run + "/best/ " + (folder / "one.csv")), "one.csv",
        "CSV with a header, text in column \"note\"");
  // Reads standard input if options name the format.
  gives(weft("classify " + run + " - --format csv <" + (folder / "a.csv")), "-", "CSV with a header, " + columns);
}

TEST_CASE_FIXTURE(TextColumns, "weft classify: if a run of another version doesn't record columns, options name them") {
  auto json = nlohmann::ordered_json::parse(folder.read("run/run.json"));
  CHECK(json["found"]["columns"].dump() == R"(["note","more"])");
  json["found"].erase("columns");
  folder.write("run/run.json", json.dump());
  CHECK(says(classify("a.csv", "more,note\ngreen,red\n"), "a.csv",
             "CSV with a header, text in columns \"note\" and \"more\""));
}

TEST_CASE_FIXTURE(TextColumns, "weft classify: lines that only look like rows are texts") {
  for (const std::string content :
       {"red, green\nnorth, south\n", "wind, north\ncolour, red\n", "red;green\n", "red\tgreen\n",
        "\"red\", she said\n", "{red}\n", "note\nred\n", "\n\n", "red\r\n\r\ngreen", "[{\"note\": 1}]\n"}) {
    CAPTURE(content);
    const Outcome said = classify("texts.txt", content);
    CHECK(said.code == 0);
    CHECK(said.err.empty());
    CHECK(said.out == weft("classify " + run + " <" + (folder / "texts.txt")).out);
    CHECK(std::count(said.out.begin(), said.out.end(), '\n') ==
          std::count(content.begin(), content.end(), '\n') + (content.back() != '\n'));
  }
  const std::string csv = "note,more\nred,green\n";
  folder.write("a.csv", csv);
  CHECK(weft("classify " + run + " <" + (folder / "a.csv")).out == answers({"note,more", "red,green"}));
  CHECK(fails_with(classify("texts.txt", "red\n", "--columns text=1"), 2,
                   "texts.txt: the given options apply only to tables"));
  CHECK(fails_with(classify("texts.txt", "red\n", "--header no"), 2, "(--format FORMAT reads the file as a table)"));
  CHECK(
      fails_with(classify("texts.txt", "red\n", "--skip-bad-rows"), 2, "(--format FORMAT reads the file as a table)"));
  CHECK(
      fails_with(classify("texts.txt", "red\n", "--literal-quotes"), 2, "(--format FORMAT reads the file as a table)"));
  CHECK(contains(classify("a.csv", "note\n\"red\"\n", "--csv").out, "\nred,"));
  CHECK(contains(classify("a.csv", "note\n\"red\"\n", "--csv --literal-quotes").out, "\n\"\"\"red\"\"\","));
}

TEST_CASE_FIXTURE(
    TextColumns, "weft classify --csv: the original rows, with quotes and line ends, and the predictions beside them") {
  const std::string csv =
      "label,note,more,probability\r\n"
      "\"a \"\"b\"\"\",\"red\r\nred\",\"green, green\",\n"
      "x,north\t,,1\n"
      "y,,,\n";
  const Outcome said = classify("a.csv", csv, "--csv");
  CHECK(says(said, "a.csv", "CSV with a header, text in columns \"note\" and \"more\""));
  CHECK(contains(said.err, "a.csv: 3 rows; 1 with an empty text\n"));
  CHECK(said.out ==
        "label,note,more,probability,predicted_label,predicted_probability\n"
        "\"a \"\"b\"\"\",\"red\r\nred\",\"green, green\",," +
            cells("red\r\nred green, green") + "\nx,north\t,,1," + cells("north\t") + "\ny,,,," + cells("") + "\n");
  CHECK(classify("a.csv", csv).out == answers({"red\r\nred green, green", "north\t", ""}));
  // JSON objects that lack some keys, adjacent labels, texts by lines, and rows without names.
  CHECK(classify("b.jsonl", "{\"note\": \"red\", \"id\": 7}\n{\"more\": \"green\", \"id\": {\"a\": [1, \"b\"]}}\n",
                 "--csv")
            .out == "note,id,more,label,probability\nred,7,," + cells("red") +
                        "\n,\"{\"\"a\"\":[1,\"\"b\"\"]}\",green," + cells("green") + "\n");
  const std::string two = classify("c.csv", "note,more\nred,\n", "--csv --top 0").out;
  CHECK(two.rfind("note,more,label,probability,label_2,probability_2\nred,," + cells("red"), 0) == 0);
  CHECK(classify("c.csv", "note,more\nred,\n", "--csv --threshold 1").out == "note,more,label,probability\nred,,,\n");
  CHECK(classify("d.txt", "red, \"green\"\n\n", "--csv").out ==
        "text,label,probability\n\"red, \"\"green\"\"\"," + cells("red, \"green\"") + "\n," + cells("") + "\n");
  CHECK(classify("e.tsv", "1\tred\n2\tgreen\n", "--csv --columns text=2 --header no").out ==
        "1,red," + cells("red") + "\n2,green," + cells("green") + "\n");
  CHECK(fails_with(classify("a.csv", csv, "--csv --json"), 2, "excludes"));
  const auto json = nlohmann::json::parse(classify("c.csv", "note,more\nred,\n", "--json").out);
  CHECK(json.at("labels")[0].at("label") == (*classifier)("red").label);
}

TEST_CASE_FIXTURE(TextColumns, "weft classify: rows that can't be classified") {
  CHECK(fails_with(
      classify("a.csv", "title,body\nred,green\n"), 1,
      "a.csv\": expected the text in column \"note\"; the file has the columns \"title\", \"body\" (--columns "
      "text=NAME chooses it"));
  CHECK(fails_with(classify("b.jsonl", "{\"a\": \"x\", \"b\": \"y\"}\n"), 1,
                   "b.jsonl\": expected the text in column \"note\"; the file has the columns \"a\", \"b\""));
  CHECK(fails_with(classify("b.csv", "1,2\n3,4\n", "--columns text=3"), 1,
                   "\"3\"; the file has 2 columns without names"));
  std::filesystem::copy(folder / "run/best", folder / "plain");
  folder.write("c.csv", "first,second\nred,green\n");
  CHECK(fails_with(weft("classify " + (folder / "plain") + " " + (folder / "c.csv") + " --header yes"), 1,
                   "c.csv\": can't tell which column is the text; the file has the columns \"first\", \"second\""));
  const std::string bad = "note,more\nred,green\nred\nnorth,\n", answered = answers({"red green"});
  Outcome said = classify("d.csv", bad);
  CHECK(said.code == 1);
  CHECK(said.out == answered);
  CHECK(contains(said.err, "d.csv\": row 3: expected 2 columns as in row 1, got 1 (--format and --columns set"));
  said = classify("d.csv", bad, "--skip-bad-rows");
  CHECK(said.out == answers({"red green", "north"}));
  CHECK(contains(said.err, "d.csv: 2 rows; 1 bad row skipped\n"));
  said = classify("e.jsonl", "{\"note\": \"red\", \"more\": \"green\"}\n{\"note\": \"\\u0000\"}\n");
  CHECK(said.code == 1);
  CHECK(said.out == answered);
  CHECK(contains(said.err, "e.jsonl: text 2: [classifier] byte 0 is 0"));
  CHECK(fails_with(classify("f.csv", "note,more\n", "--format folders"), 1, "is only for training"));
}

TEST_CASE("weft classify, eval: --literal-quotes is that of the run, and other formats ignore it") {
  const TemporaryFolder folder;
  std::string csv = "label,text\n";
  for (int i = 0; i < 20; ++i) csv += i % 2 ? "wind,\"north\"\n" : "colour,\"red\n";
  folder.write("train.csv", csv);
  const std::string run = folder / "run";
  REQUIRE(weft("train --arch gmlp --data " + (folder / "train.csv") + " --literal-quotes" + row_sizes +
               "--steps 3 --out " + run)
              .code == 0);
  folder.write("a.csv", "text\n\"red\n");
  const Outcome classified = weft("classify " + run + " " + (folder / "a.csv") + " --csv");
  CHECK(classified.code == 0);
  CHECK(contains(classified.out, "\n\"\"\"red\","));
  CHECK(weft("eval " + run + " --data " + (folder / "train.csv")).code == 0);
  folder.write("a.jsonl", "{\"text\": \"red\", \"label\": \"colour\"}\n");
  CHECK(weft("classify " + run + " " + (folder / "a.jsonl") + " --format jsonl").code == 0);
  CHECK(weft("eval " + run + " --data " + (folder / "a.jsonl")).code == 0);
}

}  // namespace weft::test
