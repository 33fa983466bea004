// Tests of sentences in CoNLL's columns.
#include <doctest/doctest.h>

#include "contains.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/labeled_texts.h"

namespace weft::test {
namespace {

using Strings = std::vector<std::string>;

LabeledOptions conll(const Strings& text = {}, const std::string& label = "") {
  LabeledOptions options;
  options.format = DataFormat::conll;
  options.text = text;
  options.label = label;
  return options;
}

std::string label_of(const LabeledTexts& rows, std::size_t row) {
  return rows.names[static_cast<std::size_t>(rows.labels[row])];
}

std::string refused_sentences(const std::string& content, const LabeledOptions& options = conll()) {
  return error_of([&] { (void)parse_labeled(content, "\"x\"", options); });
}

const char* const sentences =
    "-DOCSTART- -X- O O\n\nEU NNP I-NP I-ORG\nrejects VBZ I-VP O\n\n\n  \nPeter  NNP I-NP I-PER\n\n# SYM B-NP O\n";
const char* const treebank =
    "# text = It's new\n1\tIt\tit\tPRON\n2-3\t's "
    "new\t_\t_\n2\t's\tbe\tAUX\n3\tnew\tnew\tADJ\n3.1\tx\tx\tX\n\n1\t#\t#\tSYM\n\n";

}  // namespace

TEST_CASE("CoNLL: a sentence is a row with a tag for each word") {
  for (const bool windows : {false, true}) {
    std::string content = sentences;
    if (windows)
      for (std::size_t at = 0; (at = content.find('\n', at)) != std::string::npos; at += 2) content.insert(at, "\r");
    const LabeledTexts rows = parse_labeled(content, "x", conll());
    CHECK(rows.format == "CoNLL, word in column 1, tag in the last column");
    CHECK(rows.texts == Strings{"EU rejects", "Peter", "#"});
    CHECK(label_of(rows, 0) == "I-ORG O");
    CHECK(label_of(rows, 1) == "I-PER");
    CHECK(label_of(rows, 2) == "O");
  }
  const LabeledTexts parts = parse_labeled(sentences, "x", conll({"1"}, "2"));
  CHECK(parts.format == "CoNLL, word in column 1, tag in column 2");
  CHECK(label_of(parts, 0) == "NNP VBZ");
  CHECK(parse_labeled("a X", "x", conll()).texts == Strings{"a"});
}

TEST_CASE("CoNLL: lines of a treebank that are not words are omitted") {
  const LabeledTexts rows = parse_labeled(treebank, "x", conll({"2"}, "4"));
  CHECK(rows.texts == Strings{"It 's new", "#"});
  CHECK(label_of(rows, 0) == "PRON AUX ADJ");
  CHECK(label_of(rows, 1) == "SYM");
}

TEST_CASE("CoNLL: texts to predict need no tags") {
  const TemporaryFolder folder;
  folder.write("words", "a\nb\n\nc X\n");
  const auto rows = TextRows::open(folder / "words", conll());
  REQUIRE(rows);
  CHECK(rows->format() == "CoNLL, word in column 1");
  std::string text;
  CHECK((rows->next(text) && text == "a b"));
  CHECK((rows->next(text) && text == "c"));
  CHECK_FALSE(rows->next(text));
}

TEST_CASE("CoNLL: a bad sentence is refused with its row and line, or skipped completely") {
  const std::string bad = "a X\n\nb X\nc\nd X\n\ne X\n";
  CHECK(refused_sentences(bad) ==
        "\"x\": row 2 (line 3): expected at least 2 columns, got the line \"c\" (--skip-bad-rows skips such rows)");
  LabeledOptions skip = conll();
  skip.skip_bad_rows = true;
  const LabeledTexts rows = parse_labeled(bad, "x", skip);
  CHECK(rows.texts == Strings{"a", "e"});
  CHECK(rows.skipped == 1);
  CHECK(contains(refused_sentences("a b\tX\n"), "without blanks, got the line"));
  CHECK(contains(refused_sentences("a\t\t\n"), "without blanks, got the line"));
  CHECK(contains(refused_sentences("a X\n", conll({"3"})), "expected at least 3 columns"));
  CHECK(contains(refused_sentences("-DOCSTART- O\n\n"), "has no rows"));
  CHECK(contains(refused_sentences("a X\n", conll({"word"})), "expected the number of a column, from 1, got \"word\""));
  CHECK(contains(refused_sentences("a X\n", conll({"0"})), "got \"0\""));
  CHECK(contains(refused_sentences("a X\n", conll({"1", "2"})), "one column of words"));
  CHECK(contains(refused_sentences("a \xFF\n"), "UTF-8"));
  LabeledOptions header = conll();
  header.header = true;
  CHECK(contains(refused_sentences("a X\n", header), "conll has no header"));
}

TEST_CASE("CoNLL: a file may end in blank lines, a comment or the start of a document") {
  for (const char* end : {"\n \n", "\n-DOCSTART- O", "\n-DOCSTART- O\n\n", "\n\n  \n-DOCSTART- -X- O\n \n"}) {
    CAPTURE(end);
    CHECK(parse_labeled(std::string("a X\n") + end, "x", conll()).texts == Strings{"a"});
  }
  for (const char* end : {"\n# the end", "\n# the end\n\n", "\n1-2\tab\t_\n"}) {
    CAPTURE(end);
    CHECK(parse_labeled(std::string("1\ta\tX\n") + end, "x", conll({"2"})).texts == Strings{"a"});
  }
}

TEST_CASE("CoNLL: a bad sentence counts once after the start of a document, a comment or an extra word") {
  LabeledOptions skip = conll();
  skip.skip_bad_rows = true;
  const std::string bad = "a X\n\n-DOCSTART- O\n\nb X\nc\n\nd X\n";
  const LabeledTexts rows = parse_labeled(bad, "x", skip);
  CHECK(rows.texts == Strings{"a", "d"});
  CHECK(rows.skipped == 1);
  CHECK(contains(refused_sentences(bad), "\"x\": row 2 (line 5): expected at least 2 columns, got the line \"c\""));
  skip.text = {"2"};
  const LabeledTexts treebank_rows = parse_labeled("# one\n1-2\tab\t_\n\n# two\n1\n\n1\tb\tX\n", "x", skip);
  CHECK(treebank_rows.texts == Strings{"b"});
  CHECK(treebank_rows.skipped == 1);
}

}  // namespace weft::test
