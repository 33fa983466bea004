// Rows of a file, one after the other, from its content in memory.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"

namespace weft::detail {

// A row that can't be used, and the reader stands behind it.
class BadRow : public Error {
 public:
  using Error::Error;
};

// A file's content without its byte order mark, and what errors call the file.
struct Content {
  std::string_view text;
  std::string where;
  std::size_t before = 0;  // bytes of the file before `text`
};

class RowReader {
 public:
  explicit RowReader(Content content) : content_(std::move(content)) {}
  virtual ~RowReader() = default;

  // The fields of the next row; false at the end. BadRow for one that isn't as it should be, or is not UTF-8.
  bool next(std::vector<std::string>& fields);

  // A row has several labels, which count as one.
  std::int64_t several() const noexcept { return several_; }

  // BadRow, naming the latest row; `hint` says what would help besides leaving it out.
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "");

 protected:
  // Of the row that begins at at(): its fields. Moves to its end or, before an Error, to the end of its first line.
  virtual void read(std::vector<std::string>& fields) = 0;

  std::string_view rest() const noexcept { return content_.text.substr(at_); }
  bool at(char c) const noexcept { return at_ < content_.text.size() && content_.text[at_] == c; }
  void move(std::size_t bytes) noexcept { at_ += bytes; }
  std::string_view take_line();  // without its end, where the reader then is
  void count_several() noexcept { ++several_; }

 private:
  void check_bytes(std::string_view row);

  Content content_;
  std::size_t at_ = 0, row_start_ = 0, counted_ = 0;
  std::int64_t row_ = 0, line_ = 1, several_ = 0;  // row_ from 1 without empty lines, line_ that of counted_
};

// What a quotation mark at a field's beginning means. Fields between marks have doubled ones inside for one; a mark elsewhere is
// itself.
enum class Quotes {
  literal,  // itself
  cells,  // if the field, up to the next delimiter or line end, also ends with one and those inside are doubled: nothing. Else itself
  fields,  // the same, but delimiters and line ends may be inside
  strict,  // as fields, and any mark that is itself makes a BadRow
  csv,  // the field goes to the next one, delimiters and line ends inside; what follows there is added, as Python's csv does
};

// How CSV, TSV and their like write rows.
struct Dialect {
  char delimiter = ',';
  Quotes quotes = Quotes::csv;
};

// Fields of any number.
std::unique_ptr<RowReader> delimited_rows(Content content, const Dialect& dialect);
// The label and the text.
std::unique_ptr<RowReader> fasttext_rows(Content content);
// The values of the keys. What is missing or null is "", but the label and one of the texts (numbers of keys) are there, and all
// of these are strings, numbers, true or false.
std::unique_ptr<RowReader> jsonl_rows(Content content, const std::vector<std::string>& keys,
                                      std::optional<std::size_t> label, const std::vector<std::size_t>& text);

// How to make UTF-8 of a file.
std::string convert_hint(const char* encoding);

struct WrongBytes {
  std::string what, hint;  // empty if nothing is wrong
};
// Whether a text, which `before` bytes of its file precede, is UTF-8 without zeros.
WrongBytes wrong_bytes(std::string_view text, std::size_t before);

const char* const fasttext_prefix = "__label__";

}  // namespace weft::detail
