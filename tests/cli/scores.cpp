// Tests of labels with non-ASCII letters and with characters that control a terminal.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "command.h"
#include "console/visible.h"
#include "measure/scores.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"

namespace weft::test {
namespace {

bool has_control(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < ' ' && c != '\n' && c != '\t') || c == '\x7F';
  });
}

// Returns the number of code points before the last number of each line of the score table.
std::vector<std::size_t> widths(const std::string& table) {
  std::vector<std::size_t> widths;
  std::istringstream lines(table);
  for (std::string line; std::getline(lines, line) && !line.empty();) widths.push_back(code_points(line));
  return widths;
}

}  // namespace

TEST_CASE("code points and control characters of names") {
  CHECK(code_points("") == 0);
  CHECK(code_points("Zoë") == 3);
  CHECK(code_points("日本 x") == 4);
  CHECK(visible("Zoë – 日本") == "Zoë – 日本");
  CHECK(visible("a\tb\nc\rd") == "a\\tb\\nc\\rd");
  CHECK(visible("\x1B[31m\x7F") == "\\x1B[31m\\x7F");
  CHECK(visible("\xC2\x85 \xC2\x9F\xC2\xA0\xC2") == "\\u0085 \\u009F\xC2\xA0\xC2");
  CHECK(visible(std::string(1, '\0')) == "\\x00");
}

TEST_CASE("scores: column widths follow the number of letters, not of bytes") {
  Confusion confusion(3);
  confusion.add(0, 0);
  confusion.add(1, 2);
  const std::string table = scores_as_text(confusion, {"Wirtschaftsküche", "ääääääääääääää", "x"});
  const std::vector<std::size_t> all = widths(table);
  REQUIRE(all.size() == 5);
  for (const std::size_t each : all) CHECK(each == all[0]);
  CHECK(contains(table, "label             precision"));
  CHECK(contains(table, "\nx                "));
  const std::string fourteen = scores_as_text(confusion, {"ääääääääääääää", "b", "c"});
  CHECK(contains(fourteen, "label           precision"));
  const std::string cut = scores_as_text(confusion, {std::string(30, 'n'), "b", "c\x1B"});
  CHECK(contains(cut, "\n" + std::string(24, 'n') + "  "));
  CHECK(contains(cut, "\nc\\x1B "));
}

TEST_CASE("scores in JSON: the rows of the matrix are the labels that occur in the texts") {
  Confusion confusion(3);  // For each label, one row is predicted correctly and one as the next label.
  for (const std::int64_t label : {0, 1, 2}) {
    confusion.add(label, label);
    confusion.add(label, (label + 1) % 3);
  }
  const std::string half = R"("precision":0.5,"recall":0.5,"f1":0.5)", of_label = half + R"(,"rows":2,"predicted":2})";
  CHECK(scores_as_json(confusion, {"a", "b", "c"}).dump() ==
        R"({"labels":[{"label":"a",)" + of_label + R"(,{"label":"b",)" + of_label + R"(,{"label":"c",)" + of_label +
            R"(],"macro":{)" + half + R"(},"confusion":[[1,1,0],[0,1,1],[1,0,1]]})");
}

TEST_CASE("a checkpoint's labels don't send control characters to a terminal") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::classifier);
  CheckpointInfo info;
  info.labels = {"red\x1B[31m", "b\nc", "d\x7F\t"};
  save_checkpoint(folder / "run", *small.model, *small.data->tokenizer(), info);
  folder.write("texts", "red green\n");
  const Outcome said = weft("classify --top 0 " + (folder / "run") + " " + (folder / "texts"));
  CHECK(said.code == 0);
  CHECK_FALSE(has_control(said.out));
  CHECK(contains(said.out, "red\\x1B[31m\t0."));
  CHECK(contains(said.out, "b\\nc\t0."));
  CHECK(contains(said.out, "d\\x7F\\t\t0."));
  folder.write("rows", "x,one two\ny,three\n");
  const Outcome refused = weft("eval " + (folder / "run") + " --columns label=1 --data " + (folder / "rows"));
  CAPTURE(refused.err);
  CHECK(fails_with(refused, 1, "expected one of \"red\\x1B[31m\""));
  CHECK_FALSE(has_control(refused.err));
}

}  // namespace weft::test
