// Tests of labeled texts as users have them: formats, columns, labels, and refusals.
#include "weft/labeled_texts.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "labeled_support.h"
#include "temporary_folder.h"
#include "weft/error.h"
#include "weft/tokenizer.h"

namespace weft::test {
namespace {

using Ids = std::vector<std::int64_t>;

LabeledOptions columns(const Strings& text, const std::string& label) {
  LabeledOptions options;
  options.text = text;
  options.label = label;
  return options;
}

LabeledOptions format(DataFormat f) {
  LabeledOptions options;
  options.format = f;
  return options;
}

LabeledOptions skipping() {
  LabeledOptions options;
  options.skip_bad_rows = true;
  return options;
}

std::string path_error(const std::string& path, const LabeledOptions& options = {}) {
  try {
    (void)read_labeled(path, options);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

const std::string skip = " (--skip-bad-rows skips such rows)";

}  // namespace

TEST_CASE("labeled texts: CSV: quotes, doubled quotes, commas and line breaks inside, CRLF, byte order mark") {
  const LabeledTexts rows = parse(
      "\xEF\xBB\xBF\"2\",\"a \"\"b\"\", c\",\"line 1\nline 2\"\r\n1,,plain text\n\n"
      "\"2\",\"\",\"\"\"\"");
  CHECK(rows.format == "CSV without a header, label in column 1, text in columns 2 and 3");
  CHECK(rows.names == Strings{"1", "2"});
  CHECK(rows.labels == Ids{1, 0, 1});
  CHECK(rows.texts == Strings{"a \"b\", c line 1\nline 2", "plain text", "\""});
}

TEST_CASE("labeled texts: line breaks after fields without quotation marks") {
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    CAPTURE(end.size());
    const LabeledTexts rows = parse("1,a,b" + end + "2,c," + end + end + "2,\"d\",e", format(DataFormat::csv));
    CHECK(pairs(rows) == Strings{"1: a b", "2: c", "2: d e"});
  }
}

TEST_CASE("labeled texts: the first rows determine the format") {
  const struct {
    const char *content, *format;
  } formats[] = {
      {"3,t,a long text\n4,t,another text here\n3,u,more of it\n",
       "CSV without a header, label in column 1, text in columns 2 and 3"},
      {"Class Index,Title,Description\n3,t,d\n4,u,e\n",
       "CSV with a header, label in column \"Class Index\", text in columns \"Title\" and \"Description\""},
      {"text,label\ngood,a\nbad,b\n", "CSV with a header, label in column \"label\", text in column \"text\""},
      {"id,text,x,category\n1,good,7,a\n2,bad,8,b\n",
       "CSV with a header, label in column \"category\", text in column \"text\""},
      {"I like it, really;5\nnot so good;1\nI like it;5\n",
       "semicolons without a header, label in column 2, text in column 1"},
      {"pos\tI like it, really\nneg\tI don't, no\npos\twell, yes\n",
       "TSV without a header, label in column 1, text in column 2"},
      {"stars;review\n5;good; no\n", ""},
      {"{\"id\": 1, \"text\": \"a\", \"label\": \"x\"}\n{\"id\": 2, \"text\": \"b\", \"label\": \"y\"}\n",
       "JSON lines, label in column \"label\", text in column \"text\""},
      {"__label__a some words, here\n__label__b more; words\n", "fastText's lines"},
      {"some words __label__a\nmore words __label__b\n", "fastText's lines"},
  };
  for (const auto& f : formats) {
    CAPTURE(f.content);
    if (*f.format) CHECK(parse(f.content).format == f.format);
    else CHECK(contains(error(f.content), "file: row 2: expected 2 columns as in row 1, got 3 (--format"));
  }
  std::string german = "Sparte,Meldung\n";
  for (int i = 0; i < 12; ++i)
    german += std::string(i % 2 ? "Sport" : "Politik") + ",dies ist die Meldung " + std::to_string(i) + "\n";
  CHECK(parse(german).format == "CSV with a header, label in column \"Sparte\", text in column \"Meldung\"");
  CHECK(parse(german.substr(german.find('\n') + 1)).format ==
        "CSV without a header, label in column 1, text in column 2");
  CHECK(parse("Note,Satz\n1,gut\n2,schlecht\n").format ==
        "CSV with a header, label in column \"Note\", text in column \"Satz\"");
}

TEST_CASE("labeled texts: a header may be declared or excluded") {
  LabeledOptions options;
  options.header = true;
  CHECK(pairs(parse("1,a\n2,b\n3,c\n", options)) == Strings{"2: b", "3: c"});
  options.header = false;
  CHECK(pairs(parse("text,label\na,x\nb,label\n", options)).size() == 3);
  options.format = DataFormat::jsonl;
  CHECK(contains(error("{\"text\":\"a\",\"label\":1}\n", options), "jsonl has no header (--header"));
}

TEST_CASE("labeled texts: columns by name and by number") {
  const std::string table = "id,title,body,kind,tag\n1,A,a b,x,7\n2,B,,y,8\n";
  CHECK(pairs(parse(table, columns({"title", "body"}, "kind"))) == Strings{"x: A a b", "y: B"});
  CHECK(pairs(parse(table, columns({"body", "2"}, "5"))) == Strings{"7: a b A", "8: B"});
  CHECK(pairs(parse(table, columns({}, "kind"))) == Strings{"x: A a b", "y: B"});
  CHECK(pairs(parse(table, columns({"title"}, ""))) == Strings{"7: A", "8: B"});  // "tag" is a usual name for labels
  // The first row has the names, whatever they look like.
  CHECK(pairs(parse("1,2,a b c d e f\nx,y,z\n", columns({"a b c d e f"}, "1"))) == Strings{"x: z"});
  CHECK(pairs(parse("5,a,b\n6,c,d\n", columns({"3"}, "1"))) == Strings{"5: b", "6: d"});
  const std::string none = "file: --columns: expected a column's name, or its number from 1, got ";
  CHECK(error(table, columns({"text"}, "kind")) ==
        none + "\"text\"; the file has the columns \"id\", \"title\", \"body\", \"kind\", \"tag\"");
  CHECK(error("1,a\n", columns({"3"}, "1")) == none + "\"3\"; the file has 2 columns without names");
  CHECK(error("1,a\n", columns({"0"}, "1")) == none + "\"0\"; the file has 2 columns without names");
  CHECK(error(table, columns({"title"}, "title")) == "file: --columns: one column can't be both text and label");
  CHECK(error("id,colour,note\n1,red,this is a note\n2,blue,that is not\n") ==
        "file: can't tell which column is the label; the file has the columns \"id\", \"colour\", \"note\" "
        "(--columns text=NAME,label=NAME chooses them, by name or by number from 1)");
  CHECK(contains(error("colour,label,note\nred,1,x\nblue,2,y\n"), "can't tell which column is the text"));
  std::string many = "c1", row = "x";  // an error names only the first columns
  for (int i = 2; i <= 100000; ++i) many += ",c" + std::to_string(i), row += ",x";
  CHECK(contains(error(many + "\n" + row + "\n", columns({"text"}, "c1")), "\"c18\", \"c19\", \"c20\" and 99980 more"));
  CHECK(
      contains(error("a\nb\n", format(DataFormat::csv)), "expected a text column and a label column, got one column"));
  const std::string json = "{\"a\":\"t\",\"b\":\"u\",\"c\":true}\n{\"a\":\"v\",\"c\":false,\"b\":null}\n";
  CHECK(pairs(parse(json, columns({"b", "a"}, "c"))) == Strings{"true: u t", "false: v"});
}

TEST_CASE("labeled texts: without names, the label is the column with few distinct values") {
  std::string last, sorted, numbers;
  for (int i = 0; i < 60; ++i) {
    const std::string n = std::to_string(i);
    last += "text number " + n + ",en," + (i % 3 ? "good" : "bad") + "\n";
    sorted += std::string("spam,text number ") + n + "\n";
    numbers += "a" + n + ",b" + n + "\n";
  }
  CHECK(parse(last).format == "CSV without a header, label in column 3, text in columns 1 and 2");
  CHECK(parse(sorted).format == "CSV without a header, label in column 1, text in column 2");
  CHECK(contains(error(numbers), "can't tell which column is the label"));
  LabeledOptions options;
  options.labels = {"x", "y"};
  CHECK(parse("y,y,a\nz,x,b\nz,y,c\nz,x,d\n", options).format ==
        "CSV without a header, label in column 2, text in columns 1 and 3");
}

TEST_CASE("labeled texts: names of labels in the order of their values, and names that a model knows") {
  CHECK(parse("10,a\n9,b\n-1,c\n10,d\n").names == Strings{"-1", "9", "10"});
  CHECK(parse("b,a x\n10,b x\n9,c x\nb,d x\n").names == Strings{"10", "9", "b"});
  const LabeledTexts spaced = parse(" b ,x\nb,y\na,z\n");
  CHECK(spaced.names == Strings{"a", "b"});
  CHECK(spaced.labels == Ids{1, 1, 0});
  LabeledOptions known;
  known.labels = {"z", "b", "a"};
  const LabeledTexts few = parse("a,t\nb,u\na,v\n", known);
  CHECK(few.names == known.labels);
  CHECK(few.labels == Ids{2, 1, 2});
  CHECK(error("a,t\nb,u\na,v\n\nc,w\n", known) ==
        "file: row 4 (line 5): the label is \"c\", expected one of \"z\", \"b\", \"a\"" + skip);
  known.skip_bad_rows = true;
  const LabeledTexts left = parse("a,t\nb,u\nc,w\na,v\n", known);
  CHECK(left.texts == Strings{"t", "u", "v"});
  CHECK(left.skipped == 1);
  known.labels.clear();
  for (int i = 0; i < 12; ++i) known.labels.push_back("l" + std::to_string(i));
  known.skip_bad_rows = false;
  CHECK(contains(error("l1,t\nl2,t\nl3,t\nx,t\n", known), "\"l7\" and 4 more"));
}

TEST_CASE("labeled texts: an error for damaged CSV names the row, the expectation and a remedy") {
  const std::string good = "\"1\",\"t\",\"d\"\n";
  CHECK(error(good).empty());
  const std::string three = "expected 3 columns as in row 1, got ",
                    help = " (--format and --columns set how rows are read; --skip-bad-rows skips such rows)";
  CHECK(error(good + "\"1\",\"t\"\n") == "file: row 2: " + three + "2" + help);
  CHECK(error(good + "1,a,b,c\n") == "file: row 2: " + three + "4" + help);
  CHECK(error(good + good + ",a,b\n", columns({"2", "3"}, "1")) == "file: row 3: the label is empty" + skip);
  CHECK(error(good + "\"a\nb\",c,d\n", columns({"2", "3"}, "1")) ==
        "file: row 2: the label has a line end or another control character" + skip);
  CHECK(error("Class,Title,Text\n") == "file has no rows");
  CHECK(error("\n\n") == "file has no rows");
  CHECK(error("") == "file is empty");
  CHECK(error("\xEF\xBB\xBF\n") == "file has no rows");
  CHECK(error(good + "\"1\",\"t\",\"d\n") ==
        "file: row 2: a quotation mark is not closed (--literal-quotes reads it as text; --skip-bad-rows skips such "
        "rows)");
  // Line breaks inside a field and empty lines: the line numbers of an editor are not row numbers.
  const std::string two = "1,t,\"d\r\nd\"\r\n\r\n";
  CHECK(error(two + "1,a\n") == "file: row 2 (line 4): " + three + "2" + help);
  CHECK(error(two + "1,t,\"a\n\"\r1,a\n") == "file: row 3 (line 6): " + three + "2" + help);
  // Truncates every row at every position.
  const std::string table = "text,label\n\"a, b\",x\n\"c \"\"d\"\"\",y\nplain,x\n";
  for (std::size_t cut = 0; cut < table.size(); ++cut) {
    const std::string message = error(table.substr(0, cut), format(DataFormat::csv));
    CHECK((message.empty() || message.rfind("file", 0) == 0));
  }
}

TEST_CASE("labeled texts: bad rows are omitted and counted") {
  const LabeledTexts rows = parse("text,label\na,x\nb\nc,y,z\ne,y\nf,\n\xFFg,x\n\"h\ni,y\n", skipping());
  CHECK(pairs(rows) == Strings{"x: a", "y: e", "y: i"});
  CHECK(rows.skipped == 5);
  CHECK(pairs(parse("\xFFtext\ntext,label\na,x\nb,y\n", skipping())) == Strings{"x: a", "y: b"});
  CHECK(error("text,label\nb\n\xFF\n", skipping()) == "file has only bad rows; 2 were skipped");
  CHECK(parse("__label__a x\nno label\n__label__b y\n", skipping()).skipped == 1);
  CHECK(parse("{\"text\":\"a\",\"label\":1}\n{\"text\":\"b\"\n{\"text\":\"c\",\"label\":2}\n", skipping()).skipped ==
        1);
}

TEST_CASE("labeled texts: errors name other encodings, with a command that converts them") {
  const std::string latin =
      " (is it in another encoding? iconv -f ISO-8859-1 -t UTF-8 FILE > NEW converts it; "
      "--skip-bad-rows skips such rows)";
  CHECK(error("1,a\n2,caf\xE9\n") == "file: row 2: invalid UTF-8 at byte 9" + latin);
  CHECK(error("\xEF\xBB\xBF"
              "1,a\n2,a long caf\xE9\n") == "file: row 2: invalid UTF-8 at byte 19" + latin);
  CHECK(error("__label__a x\n__label__a \xC3\n") == "file: row 2: invalid UTF-8 at byte 24" + latin);
  CHECK(error("{\"text\":\"a\",\"label\":1}\n{\"text\":\"\xE9\",\"label\":1}\n") ==
        "file: row 2: invalid UTF-8 at byte 32" + latin);
  CHECK(error("a\t1\nb\xFF\t2\n") == "file: row 2: invalid UTF-8 at byte 5" + latin);
  CHECK(error("a;1\nb\xFF;2\n") == "file: row 2: invalid UTF-8 at byte 5" + latin);
  const std::string to_8 = "; expected UTF-8 (iconv -f ";
  CHECK(contains(error({"\xFF\xFE"
                        "1\0,\0a\0\n\0",
                        10}),
                 "file: UTF-16" + to_8 + "UTF-16 -t UTF-8"));
  CHECK(contains(error({"\xFE\xFF\0"
                        "1\0,\0a\0\n",
                        10}),
                 "file: UTF-16" + to_8));
  CHECK(contains(error({"\xFF\xFE\0\0"
                        "1\0\0\0",
                        8}),
                 "file: UTF-32" + to_8 + "UTF-32"));
  CHECK(contains(error({"1\0,\0a\0\n\0", 8}, format(DataFormat::csv)),
                 "UTF-16LE without a byte order mark; expected UTF-8 (iconv"));
  CHECK(contains(error("\x1F\x8B\x08"), "compressed by gzip"));
}

TEST_CASE("labeled texts: JSON lines") {
  const LabeledTexts rows = parse(
      "{\"title\":\"A\\n\",\"text\":\"\\u00e9 "
      "\\ud83d\\ude00\",\"label\":3}\n\n{\"label\":20,\"text\":\"c\",\"title\":null}\r\n"
      "{\"label\":3,\"text\":\"d\"}");
  CHECK(rows.names == Strings{"3", "20"});
  CHECK(rows.texts == Strings{"A\n \xC3\xA9 \xF0\x9F\x98\x80", "c", "d"});
  const std::string good = "{\"text\":\"a\",\"label\":1}\n";
  CHECK(error(good + "{\"text\":\"b\",\"lab") == "file: row 2: expected a JSON object" + skip);
  CHECK(error(good + "[1]\n") == "file: row 2: expected a JSON object" + skip);
  CHECK(error(good + "{\"text\":\"b\"}") == "file: row 2: expected a value of \"label\"" + skip);
  CHECK(error(good + "{\"label\":\"b\"}") == "file: row 2: expected a value of \"text\"" + skip);
  CHECK(error(good + "{\"text\":\"b\",\"label\":[1]}") ==
        "file: row 2: expected a string, a number, true or false as \"label\"" + skip);
  CHECK(error(good + "{\"text\":\"b\",\"label\":1,\"x\":" + std::string(100000, '[') + "\n") ==
        "file: row 2: expected a JSON object" + skip);
  LabeledOptions pair;
  pair.text = {"text"};
  pair.second = {"b", "c"};
  pair.label = "label";
  const std::string whole = "{\"text\":\"a\",\"b\":\"b\",\"c\":\"c\",\"label\":1}\n";
  CHECK(parse(whole + "{\"text\":\"a\",\"c\":\"c\",\"label\":2}", pair).texts[1] == text_pair("a", "c"));
  CHECK(error(whole + "{\"text\":\"a\",\"label\":1}", pair) == "file: row 2: expected a value of \"b\"" + skip);
  CHECK(error(whole + "{\"b\":\"a\",\"label\":1}", pair) == "file: row 2: expected a value of \"text\"" + skip);
  CHECK(contains(error("[{\"text\":\"a\"}]"), "expected a JSON object in each line, got a JSON array (jq"));
  CHECK(contains(error("{\"text\"", format(DataFormat::jsonl)), "row 1: expected a JSON object"));
}

TEST_CASE("labeled texts: fastText's lines, where the first of several labels counts") {
  const LabeledTexts rows = parse("__label__b  two\twords \n__label__a __label__b one\nlast __label__c __label__a\n");
  CHECK(pairs(rows) == Strings{"b: two words", "a: one", "c: last"});
  CHECK(rows.several == 2);
  CHECK(error("__label__a x\ny\n") ==
        "file: row 2: expected a label, which is a word that begins with __label__" + skip);
  CHECK(error("__label__a x\n__lab") ==
        "file: row 2: expected a label, which is a word that begins with __label__" + skip);
  CHECK(error("__label__ x\n") == "file: row 1: the label is empty" + skip);
  CHECK(contains(error("__label__a x\n", columns({"1"}, "2")), "fasttext has no columns to choose from"));
}

TEST_CASE("labeled texts: a line break in a label counts as white space") {
  const std::string csv = "question,answer\nwhy,\"because\r\nof\tit\n\"\nwhen,now\n";
  LabeledOptions options = columns({"question"}, "answer");
  CHECK(contains(error(csv, options), "row 2: the label has a line end or another control character"));
  options.labels_are_texts = true;
  CHECK(pairs(parse(csv, options)) == Strings{"because  of it: why", "now: when"});
}

TEST_CASE("labeled texts: a folder for each label") {
  const TemporaryFolder folder;
  folder.write("d/b/2.txt", "two\n");
  folder.write("d/b/1.txt", "\xEF\xBB\xBFone");
  folder.write("d/a/x", "three");
  folder.write("d/README", "\xFF");
  folder.write("d/b/.hidden", "\xFF");
  folder.write("d/.git/x", "x");
  const LabeledTexts rows = read_labeled(folder / "d");
  CHECK(pairs(rows) == Strings{"a: three", "b: one", "b: two\n"});
  CHECK(rows.format == "a folder for each label");
  const auto leaves_out = [](const std::string& what) { return what + "--skip-bad-rows skips such files)"; };
  folder.write("d/b/3.txt", "caf\xE9");
  CHECK(path_error(folder / "d") == leaves_out("\"" + (folder / "d/b/3.txt") +
                                               "\": invalid UTF-8 at byte 3 (is it in another encoding? iconv -f "
                                               "ISO-8859-1 -t UTF-8 FILE > NEW converts it; "));
  CHECK(read_labeled(folder / "d", skipping()).skipped == 1);
  folder.write("d/b/3.txt", "\xFF\xFEx");
  CHECK(contains(path_error(folder / "d"), "3.txt\": UTF-16"));
  CHECK(read_labeled(folder / "d", skipping()).skipped == 1);
  std::filesystem::remove(folder / "d/b/3.txt");
  folder.write("d/b/deep/x", "x");
  CHECK(contains(path_error(folder / "d"), "deep\": expected a file for each row, got a folder"));
  std::filesystem::remove_all(folder / "d/b/deep");
  REQUIRE(::mkfifo((folder / "d/b/pipe").c_str(), 0600) == 0);
  CHECK(contains(path_error(folder / "d"), "pipe\": expected a regular file"));
  LabeledOptions known = skipping();
  known.labels = {"b"};
  CHECK(pairs(read_labeled(folder / "d", known)) == Strings{"b: one", "b: two\n"});
  known.skip_bad_rows = false;
  CHECK(path_error(folder / "d", known) ==
        leaves_out("\"" + (folder / "d/a/x") + "\": the label is \"a\", expected one of \"b\" ("));
  std::filesystem::create_directory(folder / "empty");
  CHECK(contains(path_error(folder / "empty"), "expected a folder for each label"));
  CHECK(contains(path_error(folder / "d", format(DataFormat::csv)), "expected a file, got a folder (--format csv)"));
  CHECK(contains(path_error(folder / "d", columns({}, "1")), "folders have no header and no columns"));
  LabeledOptions literal;
  literal.literal_quotes = true;
  CHECK(contains(path_error(folder / "d", literal), "folders have no fields (--literal-quotes"));
  folder.write("file", "1,a\n");
  CHECK(contains(path_error(folder / "file", format(DataFormat::folders)), "expected a folder, got a file"));
  CHECK(contains(path_error(folder / "missing"), "missing"));
}

TEST_CASE("labeled texts: a mapped file, and the error for a text in no known format") {
  const TemporaryFolder folder;
  folder.write("rows", "1,a\n2,b\n");
  CHECK(pairs(read_labeled(folder / "rows")) == Strings{"1: a", "2: b"});
  folder.write("empty", "");
  CHECK(path_error(folder / "empty") == "\"" + (folder / "empty") + "\" is empty");
  folder.write("prose", "Nothing of all\nthat is here.\n");
  CHECK(contains(path_error(folder / "prose"),
                 "the first rows have none of these formats (--format sets the format; "
                 "weft train --text reads a text without labels)"));
  CHECK(data_format_from_name("jsonl") == DataFormat::jsonl);
  CHECK_THROWS_AS((void)data_format_from_name("xml"), Error);
  for (const std::string& name : data_formats()) CHECK(data_format_name(data_format_from_name(name)) == name);
}

TEST_CASE("labeled texts: a file in which nearly every row is bad") {
  std::string bad = "text,label\na,x\n", open = bad;
  for (int i = 0; i < 20000; ++i) {
    bad += "\"a\"b\n";
    open += "\"a\n";
  }
  CHECK(parse(bad + "b,y\n", skipping()).skipped == 20000);
  CHECK(parse(open + "\nb,y\n", skipping()).texts.size() >= 2);
}

}  // namespace weft::test
