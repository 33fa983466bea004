/// \file
/// Labelled texts: rows of a text and a label each, as people keep them: CSV, TSV, JSON lines, fastText's lines, a folder
/// for each label.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// How labelled texts are written.
enum class DataFormat {
  automatic,  ///< one of those below, by the first rows
  csv,  ///< fields between commas (RFC 4180: quotation marks, doubled ones and line ends inside of them), as Python's csv
  tsv,        ///< fields between tabs; quotation marks are text unless a field begins and ends with one
  semicolon,  ///< as csv, between semicolons
  jsonl,      ///< a JSON object in each line, whose keys are the columns
  fasttext,   ///< lines of "__label__NAME" and words, in any order; of several labels in a line the first counts
  folders,    ///< a folder for each label, with a file for each text; what lies beside the folders is left out
};

const char* data_format_name(DataFormat format) noexcept;   ///< "auto", "csv", "tsv", "semicolon", "jsonl", …
DataFormat data_format_from_name(const std::string& name);  ///< Error if it is none of those
std::vector<std::string> data_formats();                    ///< their names

/// How to read labelled texts. What isn't given is found by the first rows.
struct LabelledOptions {
  DataFormat format = DataFormat::automatic;  ///< how they are written
  /// Of CSV, TSV and semicolons: whether the first row names the columns.
  std::optional<bool> header;
  /// Columns whose contents, joined by blanks, are the text: their names, or their numbers from 1.
  std::vector<std::string> text;
  std::string label;                ///< the column of the label: its name, or its number from 1
  std::vector<std::string> labels;  ///< that a model knows, in its order; any other is an Error. None: those that occur
  bool literal_quotes = false;      ///< of CSV, TSV and semicolons: quotation marks are text, wherever they are
  bool skip_bad_rows = false;       ///< leaves out and counts the rows that would be an Error
};

/// Rows of a text and a label each.
struct LabelledTexts {
  std::vector<std::string> texts;    ///< UTF-8
  std::vector<std::int64_t> labels;  ///< of each text: which of the names
  std::vector<std::string> names;    ///< of the labels, each once
  std::string form;                  ///< how they were read, for people
  std::vector<std::string>
      columns;               ///< of the text: their names, or their numbers from 1; none of forms without columns
  std::int64_t skipped = 0;  ///< bad rows that were left out
  std::int64_t several = 0;  ///< rows with several labels, of which the first counts
};

/// The labelled texts of a file, or of a folder that has a folder for each label. The names of the labels are those of
/// options.labels, or those that occur: by their value if all of them are whole numbers, else by their bytes. A byte
/// order mark is dropped; UTF-16 is refused.
/// Errors name file, row (from 1, a header and no empty lines included; the line, too, if that is another number), what
/// was expected, and the option that would help as `weft train` spells it.
LabelledTexts read_labelled(const std::string& path, const LabelledOptions& options = {});
/// The same of a file's content; `where` names it in errors.
LabelledTexts parse_labelled(std::string_view content, const std::string& where, const LabelledOptions& options = {});

/// Rows of texts to be classified, one after the other, with whatever else stands in them.
class TextRows {
 public:
  /// Those of a file, in the forms of training; no label need be there. Null if its lines are texts themselves. They are unless
  /// options.format says what they are, or the first one is a JSON object or has a __label__, or the file's name ends in .csv,
  /// .tsv or .tab, or the first row names the columns, or each of the first rows, of tabs or in quotation marks, has one of
  /// options.labels.
  /// Error, naming the file and the option that would help as `weft classify` spells it, if the text's columns can't be told.
  static std::unique_ptr<TextRows> open(const std::string& path, const LabelledOptions& options = {});
  virtual ~TextRows() = default;

  virtual const std::string& form() const noexcept = 0;                ///< how they are read, for people
  virtual const std::vector<std::string>& names() const noexcept = 0;  ///< of the columns; none if they have no names
  /// The next row's text and, unless null, its fields, a name each; false at the end. Error, naming the row, if it can't be used.
  virtual bool next(std::string& text, std::vector<std::string>* fields = nullptr) = 0;
  virtual std::int64_t skipped() const noexcept = 0;  ///< bad rows that were left out so far
};

}  // namespace weft
#pragma GCC visibility pop
