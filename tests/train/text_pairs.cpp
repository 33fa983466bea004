// Tests of rows that are pairs of texts: their columns, their tokens, and that other rows don't change.
#include <doctest/doctest.h>

#include "framing_tokenizer.h"
#include "labeled_support.h"
#include "weft/classifier_data.h"
#include "weft/tokenizer.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

// [cls] is 1, [sep] is 2 and padding is 3.
SpecialIds marks(bool has_sep) {
  SpecialIds special;
  special.pad = 3;
  special.cls = 1;
  if (has_sep) special.sep = 2;
  return special;
}

Ids ids(const std::string& text, std::int64_t longest, bool has_sep = true) {
  return encode_rows(Framing(marks(has_sep)), {text}, longest).to_vector<std::int64_t>();
}

LabeledOptions pair_options(Strings text, Strings second, std::string label = "") {
  LabeledOptions options;
  options.text = std::move(text);
  options.second = std::move(second);
  options.label = std::move(label);
  return options;
}

Strings shown(const std::string& content, const LabeledOptions& options) {
  Strings rows = pairs(parse(content, options));
  for (std::string& row : rows)
    if (const std::size_t at = row.find(pair_separator); at != std::string::npos) row.replace(at, 1, " | ");
  return rows;
}

}  // namespace

TEST_CASE("pairs of texts: [cls] first [sep] second [sep]") {
  CHECK(ids(text_pair("ab", "c"), 0) == Ids{1, 'a', 'b', 2, 'c', 2});
  CHECK(ids(text_pair("ab", "c"), 0, false) == Ids{1, 'a', 'b', 1, 'c'});
  CHECK(ids(text_pair("", "c"), 0) == Ids{1, 2, 'c', 2});
  CHECK(ids(text_pair("a", ""), 0) == Ids{1, 'a', 2, 2});
  CHECK(text_pair("a\x1f"
                  "c",
                  "b\x1f") ==
        "a c\x1f"
        "b ");
  CHECK(text_pair("a", "b") ==
        "a\x1f"
        "b");
}

TEST_CASE("pairs of texts: the longer text is truncated first") {
  CHECK(ids(text_pair("abcdef", "xy"), 8) == Ids{1, 'a', 'b', 'c', 2, 'x', 'y', 2});
  CHECK(ids(text_pair("ab", "uvwxyz"), 8) == Ids{1, 'a', 'b', 2, 'u', 'v', 'w', 2});
  CHECK(ids(text_pair("abcdef", "uvwxyz"), 8) == Ids{1, 'a', 'b', 'c', 2, 'u', 'v', 2});
  CHECK(ids(text_pair("abcdef", "uvwxyz"), 8, false) == Ids{1, 'a', 'b', 'c', 1, 'u', 'v', 'w'});
  CHECK(ids(text_pair("ab", "xy"), 7) == Ids{1, 'a', 'b', 2, 'x', 'y', 2});
  CHECK(ids(text_pair("ab", "xy"), 6) == Ids{1, 'a', 'b', 2, 'x', 2});
  for (std::int64_t longest = 1; longest <= 4; ++longest)
    for (const bool has_sep : {false, true}) {
      const Ids few = ids(text_pair("abc", "xyz"), longest, has_sep);
      CHECK(std::ssize(few) == longest);
      CHECK(few[0] == 1);
    }
}

TEST_CASE("pairs of texts: their columns in each format") {
  const Strings want = {"no: a b | c", "yes: d | e"};
  CHECK(shown("label,one,two\nno,a b,c\nyes,d,e\n", pair_options({"one"}, {"two"}, "label")) == want);
  CHECK(shown("label,one,two\nno,a b,c\nyes,d,e\n", pair_options({"one"}, {"two"})) == want);
  CHECK(shown("no,a b,c\nyes,d,e\n", pair_options({"2"}, {"3"}, "1")) == want);
  CHECK(shown("one\ttwo\tlabel\na b\tc\tno\nd\te\tyes\n", pair_options({"one"}, {"two"}, "label")) == want);
  CHECK(shown("two;label;one\nc;no;a b\ne;yes;d\n", pair_options({"one"}, {"two"}, "label")) == want);
  CHECK(shown("{\"one\":\"a b\",\"two\":\"c\",\"label\":\"no\"}\n{\"two\":\"e\",\"one\":\"d\",\"label\":\"yes\"}\n",
              pair_options({"one"}, {"two"}, "label")) == want);
  // The second text has several columns, and the first text's column has a common name.
  CHECK(shown("label,text,two,three\nno,a b,c,\nyes,d,,e\n", pair_options({}, {"two", "three"}, "label")) == want);
  CHECK(contains(parse("label,one,two\nno,a b,c\nyes,d,e\n", pair_options({"one"}, {"two"}, "label")).format,
                 "text in column \"one\", second text in column \"two\""));
  CHECK(contains(parse("no,a,b,c\nyes,d,e,f\n", pair_options({"2"}, {"3", "4"}, "1")).format,
                 "text in column 2, second text in columns 3 and 4"));
}

TEST_CASE("pairs of texts: an empty text keeps its place") {
  CHECK(shown("label,one,two\nno,,c\nyes,d,\n", pair_options({"one"}, {"two"}, "label")) ==
        Strings{"no:  | c", "yes: d | "});
}

TEST_CASE("pairs of texts: a separator inside a cell becomes a space, so that a single text stays single") {
  LabeledOptions single;
  single.text = {"text"};
  CHECK(parse("label,text\nno,a\x1f"
              "b\nyes,c\n",
              single)
            .texts[0] == "a b");
  CHECK(parse("label,one,two\nno,a\x1f"
              "b,c\nyes,d,e\n",
              pair_options({"one"}, {"two"}, "label"))
            .texts[0] == text_pair("a b", "c"));
  CHECK(contains(error("yes,a b c\nno,d e f\n", pair_options({}, {"2"}, "1")), "can't tell which column is the text"));
}

TEST_CASE("pairs of texts: invalid columns") {
  const std::string table = "label,one,two\nno,a b,c\nyes,d,e\n";
  CHECK(contains(error(table, pair_options({"one"}, {"one"}, "label")), "one column can't be both text and second"));
  CHECK(contains(error(table, pair_options({"one"}, {"label"}, "label")), "one column can't be both text and label"));
  CHECK(contains(error(table, pair_options({"one"}, {"three"}, "label")), "got \"three\""));
  LabeledOptions lines = pair_options({}, {"2"});
  lines.format = DataFormat::fasttext;
  CHECK(contains(error("__label__a b\n", lines), "no columns to choose from"));
  lines.format = DataFormat::conll;
  CHECK(contains(error("a B\n", lines), "rows in the format conll have no second text"));
}

TEST_CASE("pairs of texts: a classifier's rows have the tokens of both texts") {
  const auto rows = parse("label,one,two\nno,ab,c\nyes,d,e\n", pair_options({"one"}, {"two"}, "label"));
  const ClassifierData data(rows, rows, std::make_shared<Framing>(marks(true)), 8, 2);
  CHECK(data.validation(0).tokens.to_vector<std::int64_t>() ==
        Ids{1, 'a', 'b', 2, 'c', 2, 3, 3, 1, 'd', 2, 'e', 2, 3, 3, 3});
}

}  // namespace weft::test
