// Tests of quotation marks in labeled texts: around fields, or as part of the text.
#include <doctest/doctest.h>

#include <algorithm>

#include "labeled_support.h"

namespace weft::test {

TEST_CASE("labeled texts: CSV and semicolons: text after a closing quotation mark is kept, as in Python's csv") {
  for (const char delimiter : {',', ';'}) {
    std::string text = "1,\"a\"b,c\n2,\"a, \"\"b\"\"\" \"c\",d\"\"e\n1,\"\"x,\"y\"\"z\"\r\n";
    std::replace(text.begin(), text.end(), ',', delimiter);
    CHECK(pairs(parse(text)) ==
          Strings{"1: ab c", "2: a" + std::string(1, delimiter) + " \"b\" \"c\" d\"\"e", "1: x y\"z"});
  }
}

TEST_CASE("labeled texts: quotation marks that are part of the text, at any position") {
  LabeledOptions options;
  options.literal_quotes = true;
  const std::string rows = "1,\"a\"\n2,\"b \"\"c\n1,\"\n";
  for (const char delimiter : {',', ';', '\t'}) {
    std::string text = rows;
    std::replace(text.begin(), text.end(), ',', delimiter);
    CHECK(pairs(parse(text, options)) == Strings{"1: \"a\"", "2: \"b \"\"c", "1: \""});
  }
  CHECK(contains(error("__label__1 a\n", options),
                 "fasttext has no fields in quotation marks (--literal-quotes applies to csv, tsv and semicolon)"));
  CHECK(contains(error("{\"label\":1,\"text\":\"a\"}\n", options), "jsonl has no fields in quotation marks"));
}

TEST_CASE("labeled texts: tabs, with quotation marks in the text or around fields") {
  CHECK(pairs(parse("x\t\"Never\" he said\ny\tplain \"b\"\nx\t\"\n")) ==
        Strings{"x: \"Never\" he said", "y: plain \"b\"", "x: \""});
  CHECK(pairs(parse("label\ttext\n1\t\"a\ttab, a \"\"quote\"\"\nand a line\"\n2\tb\n")) ==
        Strings{"1: a\ttab, a \"quote\"\nand a line", "2: b"});
  // Quotation marks around a whole field are not part of the text, even if the field contains other quotation marks
  // that are.
  CHECK(pairs(parse("x\t\"a\"\ny\t\"b \"\"c\"\"\"\nx\t\"\"\ny\t\"d\" and \"e\"\n")) ==
        Strings{"x: a", "y: b \"c\"", "x: ", "y: \"d\" and \"e\""});
  // Quoted fields that contain tabs and line breaks, and an unclosed field before other fields.
  const std::string two_lines = "x\t\"a\n\nb\tc\nd\ne\nf\"\n";
  CHECK(pairs(parse(two_lines + two_lines + "y\t\"d\" e\ny\t\"h\nx\t\"i\"\n" + two_lines)) ==
        Strings{"x: a\n\nb\tc\nd\ne\nf", "x: a\n\nb\tc\nd\ne\nf", "y: \"d\" e", "y: \"h", "x: i",
                "x: a\n\nb\tc\nd\ne\nf"});
  CHECK(error("x\ta\ny\n") ==
        "file: row 2: expected 2 columns as in row 1, got 1 (--format and --columns set how rows are "
        "read; --skip-bad-rows skips such rows)");
}

}  // namespace weft::test
