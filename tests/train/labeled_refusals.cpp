// Tests of labeled texts that are ambiguous or unreadable.
#include <doctest/doctest.h>

#include <filesystem>

#include "child.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/labeled_texts.h"
#include "weft/os.h"
#include "weft/run_folder.h"

namespace weft::test {
namespace {

std::string refusal(const std::string& rows, const LabeledOptions& options = {}) {
  return error_of([&] { (void)parse_labeled(rows, "rows", options); });
}

LabeledOptions columns_of(std::vector<std::string> text, const std::string& label) {
  LabeledOptions options;
  options.text = std::move(text);
  options.label = label;
  return options;
}

std::string utf16(const std::string& ascii, bool big_endian) {
  std::string text;
  for (const char c : ascii) text += big_endian ? std::string{'\0', c} : std::string{c, '\0'};
  return text;
}

}  // namespace

TEST_CASE("rows: two columns with the same name are refused if that name is requested") {
  const std::string rows = "1,a b c d,e f\n2,b c,d\n1,c,d e\n2,e,f\n";
  const std::string two_texts = "label,text,text\n" + rows, two_labels = "label,text,label\n" + rows;
  CHECK(refusal(two_texts) ==
        "rows: two columns have the name \"text\", columns 2 and 3 (choose by number, for example --columns "
        "text=2,label=1)");
  CHECK(refusal(two_labels).find("the name \"label\", columns 1 and 3") != std::string::npos);
  CHECK(refusal(two_texts, columns_of({"text"}, "")).find("columns 2 and 3") != std::string::npos);
  CHECK(refusal(two_labels, columns_of({"text"}, "label")).find("columns 1 and 3") != std::string::npos);
  LabeledOptions header = columns_of({"3"}, "1");
  header.header = true;
  CHECK(parse_labeled(two_texts, "rows", header).texts[0] == "e f");
  // Equal names of unused columns have no effect.
  const LabeledTexts other = parse_labeled("label,text,x,x\n1,a b,,\n2,c d,,\n", "rows");
  CHECK(other.texts == std::vector<std::string>{"a b", "c d"});
  // A header above columns of numbers consists of names, even if they are equal.
  CHECK(parse_labeled("foo,foo\n1,a b c d e\n2,b c d e f\n1,c d e f g\n2,e f g h i\n", "rows").texts.size() == 4);
  // Rows without a header may have equal fields.
  const std::string equal = "hello,hello\nbye,see you later my friends\nnew,what is new to you\n";
  CHECK(parse_labeled(equal + "bye,until we meet again here\nnew,has anything happened since then\n", "rows")
            .texts.size() == 5);
  CHECK(parse_labeled("1,yes,yes\n2,no,no\n1,yes,no\n2,no,no\n", "rows").texts.size() == 4);
}

TEST_CASE("rows: an error names UTF-16 without a byte order mark") {
  const std::string rows = "label,text\n1,one two\n2,three four\n";
  for (const bool big : {false, true})
    for (const DataFormat format :
         {DataFormat::automatic, DataFormat::csv, DataFormat::tsv, DataFormat::jsonl, DataFormat::fasttext}) {
      LabeledOptions options;
      options.format = format;
      const std::string encoding = big ? "UTF-16BE" : "UTF-16LE";
      CHECK(refusal(utf16(rows, big), options) == "rows: " + encoding +
                                                      " without a byte order mark; expected UTF-8 (iconv -f " +
                                                      encoding + " -t UTF-8 FILE > NEW converts it)");
    }
  CHECK(refusal(rows + std::string("1,a\0b\n", 6)).find("row 4: byte ") != std::string::npos);
  const TemporaryFolder folder;
  folder.write("d/a/1", utf16("one two", false));
  folder.write("d/a/2", "one two");
  folder.write("d/b/1", "three");
  LabeledOptions skip;
  skip.skip_bad_rows = true;
  CHECK(read_labeled(folder / "d", skip).skipped == 1);
}

TEST_CASE("rows: a label with a control character is refused, and the error names the row") {
  for (const std::string name : {"a\x1B[31m", "a\x7F", "a\tb"})
    CHECK(refusal("label,text\n1,one two\n\"" + name + "\",three\n", columns_of({"text"}, "label")) ==
          "rows: row 3: the label has a line end or another control character (--skip-bad-rows skips such rows)");
}

TEST_CASE("the report of a replaced run moves with the run and returns with it") {
  const TemporaryFolder folder;
  const SmallTask small = small_task("gmlp", Task::causal_lm);
  save_checkpoint(folder / "run/last", *small.model, *small.data->tokenizer());
  const std::string page = "<!doctype html><meta name=\"generator\" content=\"weft report\">";
  folder.write("run/report.html", page);
  {
    RunFolder run(folder / "run");
    run.begin("{}");
    CHECK_FALSE(std::filesystem::exists(folder / "run/report.html"));
    folder.write("run/report.html", page + "new");  // from a run that saves nothing
  }
  CHECK(folder.read("run/report.html") == page);
  RunFolder run(folder / "run");
  run.begin("{}");
  save_checkpoint(folder / "run/last", *small.model, *small.data->tokenizer());
  run.saved();
  CHECK_FALSE(std::filesystem::exists(folder / "run/report.html"));
}

TEST_CASE("rows: tab-separated quoted fields with tabs and line breaks inside") {
  for (const int rows : {4, 12, 30000}) {  // the last number exceeds the sample
    CAPTURE(rows);
    std::string text = "\"label\"\t\"text\"\n";
    for (int i = 0; i < rows; ++i)
      text += (i % 2 ? "\"a\"" : "\"b\"") + std::string("\t\"first line\nsecond\tline\nthird\tline\"\n");
    for (const DataFormat format : {DataFormat::automatic, DataFormat::tsv}) {
      LabeledOptions options;
      options.format = format;
      const LabeledTexts all = parse_labeled(text, "rows", options);
      CHECK(all.names == std::vector<std::string>{"a", "b"});
      CHECK(all.texts ==
            std::vector<std::string>(static_cast<std::size_t>(rows), "first line\nsecond\tline\nthird\tline"));
    }
  }
}

TEST_CASE("rows: tabs, and quotation marks that are part of the text") {
  std::string text = "pos\t\"Great\" film\n";
  for (int i = 0; i < 1500; ++i) text += i % 2 ? "neg\tbad film\n" : "pos\tgood \"film\"\n";
  text += "neg\t\"Bad\", they say\npos\t\"Best of all\n";
  const LabeledTexts all = parse_labeled(text, "rows");
  CHECK(all.texts.size() == 1503);
  CHECK(all.texts.front() == "\"Great\" film");
  CHECK(all.texts.back() == "\"Best of all");
}

TEST_CASE("rows: tabs, and quotation marks that are part of the text, far after the first rows") {
  // If quotation marks counted, the last rows would be one row with as many columns as the others.
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 2 ? "neg\tbad film\n" : "pos\tgood \"film\"\n";
  const LabeledTexts all = parse_labeled(text + "pos\t\"Ghosts\nneg\tof the past, 12\"\n", "rows");
  CHECK(all.texts.size() == 3002);
  CHECK(all.texts[3000] == "\"Ghosts");
}

TEST_CASE("rows: JSON lines with different keys: memory depends on their size, not on rows times keys") {
  std::string rows;
  for (int i = 0; i < 1000; ++i) {
    rows += R"({"label":"ab","text":"x y")";
    for (int key = 0; key < 20; ++key) rows += ",\"k" + std::to_string(20 * i + key) + "\":0";
    rows += "}\n";
  }
  std::string one = R"({"label":"c")";
  for (int key = 0; key < 50000; ++key) one += ",\"k" + std::to_string(key) + "\":0";
  rows += one + R"(,"text":"z"})" + "\n";
  WEFT_CHECK_IN_CHILD([&](Findings& findings) {
    const std::uint64_t before = os::peak_resident_memory();
    const LabeledTexts all = parse_labeled(rows, "rows");
    findings.expect(all.names == std::vector<std::string>{"ab", "c"} && all.texts.size() == 1001, "the rows");
    findings.expect(all.format == "JSON lines, label in column \"label\", text in column \"text\"", all.format);
    findings.expect(os::peak_resident_memory() - before < (100 << 20), "little memory");
  });
}

TEST_CASE("rows: JSON lines with two keys, which the values identify, one of them missing at first") {
  std::string two = R"({"first":"some words here"})" + std::string("\n");
  for (int i = 0; i < 30; ++i)
    two += R"({"second":")" + std::string(i % 2 ? "yes" : "no") + R"(","first":"words )" + std::to_string(i) + "\"}\n";
  LabeledOptions skipping;
  skipping.skip_bad_rows = true;
  CHECK(refusal(two, skipping).find("can't tell which column is the label") != std::string::npos);
  CHECK(parse_labeled(two.substr(two.find('\n') + 1), "rows").format ==
        "JSON lines, label in column \"second\", text in column \"first\"");
}

TEST_CASE("rows: a folder whose name can't be a label, and links without a target") {
  const TemporaryFolder folder;
  folder.write("d/a/1", "one");
  folder.write("d/b/2", "two");
  folder.write("d/caf\xE9/3", "three");
  const auto read = [&](bool skip) {
    LabeledOptions options;
    options.skip_bad_rows = skip;
    return read_labeled(folder / "d", options);
  };
  CHECK(error_of([&] { (void)read(false); }) ==
        "\"" + (folder / "d/caf\xE9/3") +
            "\": the label is not UTF-8 (invalid UTF-8 at byte 3) (--skip-bad-rows skips such files)");
  CHECK(read(true).names == std::vector<std::string>{"a", "b"});
  CHECK(read(true).skipped == 1);
  std::filesystem::remove_all(folder / "d/caf\xE9");
  std::filesystem::create_symlink("loop", folder / "d/loop");  // next to the label folders, where files don't count
  CHECK(read(false).texts.size() == 2);
  for (const char* target : {"loop", "missing"}) {
    std::filesystem::create_symlink(target, folder / "d/b/loop");
    const std::string error = error_of([&] { (void)read(false); });
    CHECK(error.find("d/b/loop\": ") != std::string::npos);
    CHECK(error.find("(--skip-bad-rows skips such files)") != std::string::npos);
    CHECK(read(true).skipped == 1);
    std::filesystem::remove(folder / "d/b/loop");
  }
}

}  // namespace weft::test
