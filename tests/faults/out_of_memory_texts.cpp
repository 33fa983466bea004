// Memory runs out while data are read. Each failing allocation gives a weft::Error.
#include <doctest/doctest.h>

#include <filesystem>

#include "running_out.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/confusion.h"
#include "weft/encoded_text.h"

namespace weft::test {

namespace {

struct TextCall {
  std::string name;
  std::function<void()> body;
  std::size_t smallest = 0;
};

}  // namespace

// The rows are not in a folder, because libstdc++ ends the program if its directory_iterator runs out of memory.
TEST_CASE("out of memory while reading texts and rows and creating tokenizers: an Error") {
  const TemporaryFolder folder;
  std::string rows = "label,text\n", text = small_text();
  for (int i = 0; i < 20; ++i)
    rows += std::string(i % 2 ? "a" : "b") + ",\"red and green " + std::to_string(i) + "\"\n";
  folder.write("rows", rows);
  folder.write("text", text);
  const LabeledTexts read = read_labeled(folder / "rows");
  const auto of_rows = words(read.texts), of_text = characters(text);
  const std::string json = of_text->to_json(), kind = "words", where = "rows";
  const std::string row_file = folder / "rows", text_path = folder / "text", ids = folder / "ids";
  const std::vector<TextCall> calls = {
      {"parse_labeled", [&] { (void)parse_labeled(rows, where); }},
      {"read_labeled", [&] { (void)read_labeled(row_file); }},
      {"learn_tokenizer", [&] { (void)learn_tokenizer(kind, text); }},
      {"tokenizer_from_json", [&] { (void)tokenizer_from_json(json); }, of_json},
      {"read_text", [&] { (void)read_text(text_path); }},
      {"EncodedText", [&] { (void)EncodedText(text, *of_text); }},
      {"EncodedText::of_file", [&] { (void)EncodedText::of_file(text_path, *of_text, ids, 10); }, of_json},
      {"TextData", [&] { (void)TextData(text, of_text, Task::causal_lm, 16, 4); }},
      {"ClassifierData", [&] { (void)ClassifierData(read, read, of_rows, 8, 4); }},
      {"Confusion", [] { (void)Confusion(20); }}};
  for (const TextCall& call : calls) {
    CAPTURE(call.name);
    std::filesystem::remove(ids);
    const std::int64_t count = allocations_of(call.body, call.smallest);
    CHECK(count > 0);
    for (const std::int64_t k : chosen(count, 60)) {
      std::filesystem::remove(ids);
      (void)runs_out(call.body, k, call.smallest);
    }
    CHECK_NOTHROW(call.body());
  }
}

}  // namespace weft::test
