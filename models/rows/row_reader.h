// Reads rows one after the other from the content of a file in memory.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/error.h"

namespace weft::detail {

// A row that can't be used. The reader has moved past it and can continue.
class BadRow : public Error {
 public:
  using Error::Error;
};

// A file's content without its byte order mark, and the file's name for error messages.
struct Content {
  std::string_view text;
  std::string where;
  std::size_t before = 0;  // bytes of the file before `text`
};

class RowReader {
 public:
  explicit RowReader(Content content) : content_(std::move(content)) {}
  virtual ~RowReader() = default;

  // Reads the fields of the next row. Returns false at the end. Throws a BadRow for a row that is malformed or not
  // UTF-8.
  bool next(std::vector<std::string>& fields);

  // The number of rows with several labels.
  std::int64_t several() const noexcept { return several_; }

  // Throws a BadRow that names the latest row. `hint` says what the user can do instead of skipping the row.
  [[noreturn]] void fail(const std::string& what, const std::string& hint = "");

 protected:
  // Reads the fields of the row that begins at the current position. Moves to the row's end.
  virtual void read(std::vector<std::string>& fields) = 0;
  // Moves past everything between two rows. By default, these are line ends.
  virtual void skip_between_rows();
  // Moves from the beginning of a bad row to its end. By default, a row is one line.
  virtual void skip_bad_row() { (void)take_line(); }

  std::string_view rest() const noexcept { return content_.text.substr(at_); }
  bool at(char c) const noexcept { return at_ < content_.text.size() && content_.text[at_] == c; }
  void move(std::size_t bytes) noexcept { at_ += bytes; }
  std::string_view take_line();  // without its line end; moves to the line end
  void count_several() noexcept { ++several_; }

 private:
  void check_bytes(std::string_view row);

  Content content_;
  std::size_t at_ = 0, row_start_ = 0, counted_ = 0;
  // row_ counts rows from 1, without empty lines. line_ is the number of the line at counted_.
  std::int64_t row_ = 0, line_ = 1, several_ = 0;
};

// The meaning of a quotation mark at the beginning of a field. In a quoted field, a doubled mark stands for one mark. A
// mark at any other place is text.
enum class Quotes {
  literal,  // the mark is text
  // The mark encloses the field, which ends at the next delimiter or line end, if the field also ends with a mark and
  // all marks between them are doubled. Otherwise the mark is text.
  cells,
  fields,  // like cells, but the field may contain delimiters and line ends
  strict,  // like fields, but a mark that is text makes a BadRow
  // The quoted part ends at the next mark that isn't doubled, and may contain delimiters and line ends. Characters
  // after the closing mark are appended, as in Python's csv.
  csv,
};

// The rules by which CSV, TSV and similar formats write rows.
struct Dialect {
  char delimiter = ',';
  Quotes quotes = Quotes::csv;
};

// Reads rows with any number of fields.
std::unique_ptr<RowReader> delimited_rows(Content content, const Dialect& dialect);
// Reads rows with two fields: the label and the text.
std::unique_ptr<RowReader> fasttext_rows(Content content);
// The columns of CoNLL's lines, counted from 0.
struct ConllColumns {
  std::size_t word = 0;
  std::optional<std::size_t> tag;  // none: the last column of each line
};
// Reads two fields for each sentence: the tags, which are empty unless `labeled`, and the words.
std::unique_ptr<RowReader> conll_rows(const Content& content, const ConllColumns& columns, bool labeled);
// Reads rows whose fields are the values of the keys. A missing value or null becomes "". `label`, `text` and `second`
// are indices into `keys`. A row must have the label, at least one value of the text and, if it is a pair, at least one
// value of the second text. These values must be strings, numbers, true or false.
std::unique_ptr<RowReader> jsonl_rows(Content content, const std::vector<std::string>& keys,
                                      std::optional<std::size_t> label, const std::vector<std::size_t>& text,
                                      const std::vector<std::size_t>& second);

// Returns a hint with a command that converts a file from the given encoding to UTF-8.
std::string convert_hint(const char* encoding);

struct WrongBytes {
  std::string what, hint;  // empty if nothing is wrong
};
// Checks that a text is UTF-8 without zero bytes. `before` is the number of bytes before it in its file.
WrongBytes wrong_bytes(std::string_view text, std::size_t before);

const char* const fasttext_prefix = "__label__";

}  // namespace weft::detail
