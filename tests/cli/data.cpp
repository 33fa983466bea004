// Tests of weft data: ListOps, associative recall, and descriptions of packages.
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>
#include <vector>

#include "command.h"
#include "temporary_folder.h"

namespace weft::test {
namespace {

struct Row {
  std::vector<std::string> symbols;
  std::string text, label;
};

// Returns the rows of a file and checks its header.
std::vector<Row> rows_of(const std::string& file) {
  std::istringstream lines(file);
  std::string line;
  std::getline(lines, line);
  CHECK(line == "Source\tTarget");
  std::vector<Row> rows;
  while (std::getline(lines, line)) {
    Row row;
    const std::size_t tab = line.find('\t');
    row.text = line.substr(0, tab);
    row.label = line.substr(tab + 1);
    std::istringstream symbols(row.text);
    for (std::string symbol; symbols >> symbol;) row.symbols.push_back(symbol);
    rows.push_back(row);
  }
  return rows;
}

// Properties of an expression that follow from the rules of ListOps.
struct Expression {
  std::size_t at = 0;
  int depth = 0, fewest = 1000, most = 0;
  std::map<std::string, int> nodes = {};  // below the root

  int value(const std::vector<std::string>& symbols, int level) {
    const std::string symbol = symbols.at(at++);
    depth = std::max(depth, level);
    if (level > 1) ++nodes[symbol];
    if (symbol[0] != '[') return std::stoi(symbol);
    std::vector<int> arguments;
    while (symbols.at(at) != "]") arguments.push_back(value(symbols, level + 1));
    ++at;
    const int n = static_cast<int>(arguments.size());
    fewest = std::min(fewest, n);
    most = std::max(most, n);
    std::sort(arguments.begin(), arguments.end());
    int sum = 0;
    for (int x : arguments) sum += x;
    if (symbol == "[MIN") return arguments.front();
    if (symbol == "[MAX") return arguments.back();
    if (symbol == "[SM") return sum % 10;
    CHECK(symbol == "[MED");
    const auto middle = static_cast<std::size_t>(n / 2);
    return n % 2 == 1 ? arguments[middle] : static_cast<int>((arguments[middle - 1] + arguments[middle]) / 2.0);
  }
};

struct Generated : TemporaryFolder {
  std::vector<Row> make(const std::string& options, const std::string& to = "set") const {
    const Outcome made = weft("data " + options + " --overwrite --out " + (*this / to));
    CAPTURE(made.err);
    REQUIRE(made.code == 0);
    std::vector<Row> all;
    for (const char* part : {"train", "validation", "test"})
      for (const Row& row : rows_of(read(to + "/" + part + ".tsv"))) all.push_back(row);
    return all;
  }
};

}  // namespace

TEST_CASE("listops: lengths, depth, arguments and values follow the rules, and no row occurs twice") {
  const Generated folder;
  for (const std::string rules : {"--train 600 --validation 20 --test 10",
                                  "--min-length 10 --max-length 60 --depth 4 --arguments 5 --train 500"}) {
    CAPTURE(rules);
    const bool usual = rules[2] == 't';
    const std::vector<Row> rows = folder.make("listops " + rules);
    CHECK(rows.size() == (usual ? 630 : 4500));
    std::set<std::string> texts;
    int depth = 0, fewest = 1000, most = 0;
    std::size_t shortest = 100000, longest = 0;
    for (const Row& row : rows) {
      texts.insert(row.text);
      Expression expression;
      CHECK(std::to_string(expression.value(row.symbols, 1)) == row.label);
      CHECK(expression.at == row.symbols.size());
      depth = std::max(depth, expression.depth);
      fewest = std::min(fewest, expression.fewest);
      most = std::max(most, expression.most);
      shortest = std::min(shortest, row.symbols.size());
      longest = std::max(longest, row.symbols.size());
    }
    CHECK(texts.size() == rows.size());
    CHECK(depth == (usual ? 10 : 4));
    CHECK(fewest == 2);
    CHECK(most == (usual ? 10 : 5));
    CHECK(shortest > (usual ? 500 : 10));
    CHECK(shortest < (usual ? 520 : 12));
    CHECK(longest < (usual ? 2000 : 60));
    CHECK(longest > (usual ? 1900 : 57));
  }
}

// These lengths exclude almost nothing, so the frequencies are those of the rules. For example, a node at depth 2 of 3
// is a digit with probability 3/4.
TEST_CASE("listops: digits, operators and numbers of arguments have the right probabilities") {
  const Generated folder;
  const std::vector<Row> rows =
      folder.make("listops --min-length 3 --max-length 5000 --depth 2 --arguments 10 --train 20000");
  std::map<std::string, double> operators, digits;
  std::map<std::size_t, double> counts;
  double all = 0;
  for (const Row& row : rows) {
    ++operators[row.symbols[0]];
    ++counts[row.symbols.size() - 2];
    for (std::size_t i = 1; i + 1 < row.symbols.size(); ++i) ++digits[row.symbols[i]];
    all += static_cast<double>(row.symbols.size() - 2);
  }
  const auto n = static_cast<double>(rows.size());
  for (const char* each : {"[MIN", "[MAX", "[MED", "[SM"})
    CHECK(operators[each] == doctest::Approx(n / 4).epsilon(0.04));
  CHECK(digits.size() == 10);
  for (const auto& each : digits) CHECK(each.second == doctest::Approx(all / 10).epsilon(0.03));
  for (std::size_t arguments = 4; arguments <= 10; ++arguments)  // short rows can't all be different
    CHECK(counts[arguments] == doctest::Approx(counts[10]).epsilon(0.1));

  double leaves = 0, nodes = 0;
  for (const Row& row : folder.make("listops --min-length 20 --max-length 5000 --depth 3 --train 5000")) {
    // The children of the root.
    std::size_t at = 1;
    while (row.symbols[at] != "]") {
      Expression child;
      child.at = at;
      (void)child.value(row.symbols, 2);
      at = child.at;
      ++nodes;
      leaves += child.depth == 2;
    }
  }
  CHECK(leaves / nodes == doctest::Approx(0.7).epsilon(0.1));  // long rows have fewer leaves
}

TEST_CASE("listops: a seed gives the same bytes on every machine, and different seeds give different bytes") {
  const Generated folder;
  const std::string small = "listops --min-length 5 --max-length 20 --train 30 --validation 5 --test 5";
  const auto first = folder.make(small, "a"), again = folder.make(small + " --seed 1", "b"),
             other = folder.make(small + " --seed 2", "c");
  for (const char* part : {"train", "validation", "test"}) {
    CHECK(folder.read(std::string("a/") + part + ".tsv") == folder.read(std::string("b/") + part + ".tsv"));
    CHECK(folder.read(std::string("a/") + part + ".tsv") != folder.read(std::string("c/") + part + ".tsv"));
  }
  CHECK(first[0].text == "[MAX 1 3 9 4 ]");
  CHECK(folder.make("recall --length 16 --pairs 3 --train 1", "d")[0].text == ". k2 v2 k1 v0 . . . . . k0 v1 . . k2");
}

TEST_CASE("listops --check: with or without round brackets, and the first label that is wrong") {
  const TemporaryFolder folder;
  folder.write(
      "right",
      "0\t( ( ( ( ( [SM 6 ) 5 ) 9 ) 0 ) ] )\n5\t( ( ( [MED 7 ) 4 ) ] )\n4\t( ( ( ( ( [MED 0 ) 9 ) 5 ) 4 ) ] )\n"
      "6\t[MED 6 9 [MIN 6 3 4 ] ]\n9\t[MAX 1 9 2 ]\n5\t[SM 9 9 [MAX 2 7 ] ]\n8\t[MED 8 ]\n");
  const Outcome right = weft("data listops --check " + (folder / "right"));
  CAPTURE(right.err);
  CHECK(right.code == 0);
  CHECK(right.out == "rows 7\nagree 7\n");
  folder.write("wrong", "0\t[SM 6 5 9 0 ]\n6\t[MED 7 4 ]\n1\t[MAX 3 2 ]\n");
  const Outcome wrong = weft("data listops --check " + (folder / "wrong"));
  CHECK(wrong.code == 1);
  CHECK(wrong.out == "rows 3\nagree 1\n");
  CHECK(contains(wrong.err, "row 2, not counting the header and rows without a text: expected the label 5, got 6"));
  const std::map<std::string, std::string> bad = {{"[SM 1 2", "expected a digit or an operator, got the end"},
                                                  {"[SUM 1 2 ]", "expected a digit or an operator, got \"[SUM\""},
                                                  {"[MAX ]", "expected an argument of [MAX, got \"]\""},
                                                  {"[MAX 1 2 ] 3", "expected the end, got \"3\""},
                                                  {"[MAX 1 12 ]", "got \"12\""}};
  for (const auto& each : bad) {
    CAPTURE(each.first);
    folder.write("bad", "1\t[MAX 1 0 ]\n2\t" + each.first + "\n1\t[MIN 1 2 ]\n");
    CHECK(fails_with(weft("data listops --check " + (folder / "bad")), 1,
                     "row 2, not counting the header and rows without a text: [listops] "));
    CHECK(contains(weft("data listops --check " + (folder / "bad")).err, each.second));
  }
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[MAX ";
  folder.write("deep", "1\t" + deep + "\n1\t[MAX 1 0 ]\n2\t[MAX 2 0 ]\n");
  CHECK(fails_with(weft("data listops --check " + (folder / "deep")), 1, "more than 1000 nested operators"));
  for (const char* other : {"--out nowhere", "--train 5", "--seed 2", "--depth 3", "--overwrite"})
    CHECK(fails_with(weft("data listops --check " + (folder / "right") + " " + other), 2, "--check"));
}

TEST_CASE("recall: each key occurs once, at any place, with its own value, and the label is that of the last symbol") {
  const Generated folder;
  const std::vector<Row> rows = folder.make("recall --length 40 --pairs 4 --train 2000 --validation 2 --test 3");
  CHECK(rows.size() == 2005);
  std::map<std::string, double> labels, asked, order;  // order: the pair in which a value occurs
  std::map<std::size_t, double> places;
  std::set<std::string> texts;
  for (const Row& row : rows) {
    REQUIRE(row.symbols.size() == 39);
    std::map<std::string, std::string> values;
    std::set<std::string> different;
    for (std::size_t i = 0; i + 1 < row.symbols.size(); ++i) {
      if (row.symbols[i] == ".") continue;
      CHECK(row.symbols[i][0] == 'k');
      ++places[i];
      const std::string pair = std::to_string(values.size()) + " ";
      CHECK(values.emplace(row.symbols[i], row.symbols[i + 1]).second);
      if (row.symbols[i] == row.symbols.back()) ++order[pair + "asked"];
      ++order[pair + row.symbols[i]];
      ++order[row.symbols[i] + row.symbols[i + 1]];
      CHECK(row.symbols[++i][0] == 'v');
      ++order[pair + row.symbols[i]];
      different.insert(row.symbols[i]);
    }
    CHECK(values.size() == 4);
    CHECK(different.size() == 4);
    CHECK(row.label == values.at(row.symbols.back()));
    ++labels[row.label];
    ++asked[row.symbols.back()];
    texts.insert(row.text);
  }
  CHECK(texts.size() == rows.size());
  for (const auto& each : labels) CHECK(each.second == doctest::Approx(501).epsilon(0.15));
  for (const auto& each : asked) CHECK(each.second == doctest::Approx(501).epsilon(0.15));
  CHECK(labels.size() == 4);
  CHECK(asked.size() == 4);
  CHECK(order.size() == 4 + 3 * 16);
  for (const auto& each : order) CHECK(each.second == doctest::Approx(501).epsilon(0.2));
  CHECK(places.size() == 37);  // positions 0 to 36, before the last symbol, which is the queried key
  for (const auto& each : places) CHECK(each.second == doctest::Approx(8020 / 37.0).epsilon(0.35));
  const Outcome checked = weft("data recall --check " + (folder / "set/train.tsv"));
  CHECK(checked.out == "rows 2000\nagree 2000\n");
  CHECK(folder.make("recall --length 10 --pairs 4 --train 20 --validation 1 --test 1")[0].symbols.size() ==
        9);  // no fillers
  folder.write("none", "v1\tk1 v1 k2\nv2\tk1 v2 k1\nv2\tk1 v2 . k1\n");
  CHECK(fails_with(weft("data recall --check " + (folder / "none")), 1, "expected a value after the last key, \"k2\""));
}

TEST_CASE("weft data: bad input, and files that already exist") {
  const TemporaryFolder folder;
  const std::string small = "data listops --min-length 5 --max-length 20 --train 5 --validation 5 --test 5";
  CHECK(fails_with(weft("data"), 2, "give a subcommand: listops, recall, news, pathfinder"));
  CHECK(fails_with(weft("data listop --out x"), 2, "did you mean listops?"));
  CHECK(fails_with(weft("data listops"), 2, "give --out, the "));
  CHECK(fails_with(weft("data listops --min-length 10 --max-length 11 --out " + (folder / "x")), 2,
                   "leave no possible length between them"));
  CHECK(fails_with(weft("data listops --depth 1 --out " + (folder / "x")), 2, "--depth"));
  CHECK(fails_with(weft("data recall --length 20 --out " + (folder / "x")), 2, "10 pairs and a key need --length 22"));
  CHECK(fails_with(weft("data listops --check " + (folder / "missing")), 1, "missing"));
  CHECK_FALSE(std::filesystem::exists(folder / "x"));
  REQUIRE(weft(small + " --out " + (folder / "set")).code == 0);
  const std::string before = folder.read("set/train.tsv");
  CHECK(fails_with(weft(small + " --seed 2 --out " + (folder / "set")), 1, "already exists: --overwrite replaces it"));
  CHECK(folder.read("set/train.tsv") == before);
  // Only [MIN a b ] is possible, which gives 4 · 100 rows.
  const Outcome few =
      weft("data listops --min-length 3 --max-length 5 --train 395 --validation 4 --test 2 --out " + (folder / "few"));
  CHECK(fails_with(few, 1, "after 400 rows: these options allow too few"));
  CHECK(std::filesystem::is_empty(folder / "few"));
  folder.write("file", "");
  CHECK(fails_with(weft(small + " --out " + (folder / "file")), 1, "file"));
  CHECK(fails_with(weft(small + " --out " + (folder / "file/x")), 1,
                   "can't make the folder \"" + (folder / "file/x") + "\": Not a directory"));
}

// Package records, `count` per section. The descriptions consist of the section's own words.
std::string packages(const std::vector<std::string>& sections, int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    for (const std::string& section : sections)
      text += "Package: p\nSection: " + section + "\nDepends: libc6,\n libm\nDescription: a  \"" +
              section.substr(section.find('/') + 1) + "\" thing\n Number\t" + std::to_string(i) +
              ", it is.\n .\n  The end\nTag: x::y,\n z\n\n";
  return text;
}

TEST_CASE("weft data news: descriptions by section, each text once, and a tenth of each label for the test") {
  const TemporaryFolder folder;
  folder.write("records", packages({"games", "universe/sound", "libs"}, 40) + packages({"sound"}, 40) +
                              packages({"mail"}, 19) + "Package: no-description\nSection: mail\n");
  const std::string records = " --from " + (folder / "records"), out = folder / "news.csv", test = folder / "test.csv",
                    both = " --out " + out + " --test " + test;
  const Outcome made = weft("data news" + both + records);
  CAPTURE(made.err);
  REQUIRE(made.code == 0);
  CHECK(made.out == out + " 72\n" + test + " 8\n");
  CHECK(contains(made.err, "records: descriptions of 179 packages; rows per section: games 40, sound 40\n"));
  std::istringstream lines(folder.read("news.csv") + folder.read("test.csv"));
  std::map<std::string, int> seen;
  for (std::string line; std::getline(lines, line);) ++seen[line];
  CHECK(seen.size() == 81);
  CHECK(seen["label,text"] == 2);
  for (int i = 0; i < 40; ++i)
    for (const std::string label : {"games", "sound"})
      CHECK(seen[label + ",\"a \"\"" + label + "\"\" thing Number " + std::to_string(i) + ", it is. The end\""] == 1);
  const std::string first = folder.read("test.csv");
  CHECK(std::count(first.begin(), first.end(), '\n') == 9);
  std::size_t games = 0;
  for (std::size_t at = 0; (at = first.find("\ngames,", at)) != std::string::npos; ++at) ++games;
  CHECK(games == 4);
  // The order of the source's records has no effect. Existing files are only replaced on request.
  CHECK(fails_with(weft("data news" + both + records), 1, "already exists: --overwrite replaces it"));
  folder.write("records", packages({"sound", "games"}, 40));
  REQUIRE(weft("data news --overwrite" + both + records).code == 0);
  CHECK(folder.read("test.csv") == first);
  // Writes all rows into one file, then fewer rows, then other sections. If the default sections have too few rows,
  // uses all sections with enough rows.
  folder.write("records", packages({"games", "libs", "perl"}, 40));
  CHECK(weft("data news --overwrite --rows 30 --out " + out + records).out == out + " 90\n");
  CHECK(contains(weft("data news --overwrite --section perl --section libs --section perl --out " + out + records).err,
                 "rows per section: libs 40, perl 40\n"));
  CHECK(fails_with(weft("data news --overwrite --section mail --out " + out + records), 1,
                   "expected sections with at least 20 texts (games, libs, perl), got \"mail\""));
  CHECK(fails_with(weft("data news --overwrite --section perl --out " + out + records), 1,
                   "expected at least two sections with at least 20 package descriptions each, got perl"));
  folder.write("records", "label,text\n1,no records\n");
  CHECK(fails_with(weft("data news --overwrite --out " + out + records), 1, "expected at least two sections"));
  CHECK(fails_with(weft("data news --overwrite --out " + out + " --from " + (folder / "none")), 1, "none"));
  for (const std::string& same : {out, folder / "./news.csv"})
    CHECK(
        fails_with(weft("data news --overwrite --out " + out + " --test " + same + records), 2, "name the same file"));
  CHECK(fails_with(weft("data news" + records), 2, "give --out, the "));
}

TEST_CASE("weft data news: the system's own packages, if apt-cache is installed") {
  const TemporaryFolder folder;
  folder.write("bin/apt-cache", "#!/bin/sh\n[ \"$1\" = dumpavail ] && cat " + (folder / "records") + "\n");
  std::filesystem::permissions(folder / "bin/apt-cache", std::filesystem::perms::owner_all);
  folder.write("records", packages({"games", "mail"}, 20));
  const Outcome made =
      shell("env PATH=" + (folder / "bin") + ":$PATH \"$WEFT\" data news --out " + (folder / "news.csv"));
  CHECK(made.code == 0);
  CHECK(contains(made.err, "apt-cache dumpavail: descriptions of 40 packages"));
}

TEST_CASE("weft data: a signal leaves no file behind") {
  const TemporaryFolder folder;
  const Outcome stopped = weft_killed_after("data listops --train 100000000 --out " + (folder / "set"), 500, SIGINT);
  CAPTURE(stopped.err);
  CHECK(stopped.code == 130);
  CHECK(contains(stopped.err, "weft: stopped; nothing was written"));
  CHECK(std::filesystem::is_empty(folder / "set"));
}

}  // namespace weft::test
