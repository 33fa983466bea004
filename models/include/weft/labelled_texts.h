/// \file
/// Labeled texts: rows of a text and a label each, in the formats in which people keep them: CSV, TSV, JSON lines,
/// fastText's lines, and one folder for each label. A row may be a picture instead of a text.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// The formats of labeled texts.
enum class DataFormat {
  automatic,  ///< detected from the first rows
  /// Fields between commas, like Python's csv (RFC 4180: quotation marks, with doubled ones and line ends inside).
  csv,
  tsv,        ///< fields between tabs; quotation marks are text unless a field begins and ends with one
  semicolon,  ///< like csv, between semicolons
  jsonl,      ///< a JSON object in each line, whose keys are the columns
  fasttext,   ///< lines of "__label__NAME" and words, in any order; if a line has several labels, the first counts
  /// A folder for each label, with a file for each text. Files beside the folders and hidden files are ignored; beside
  /// pictures or sounds also files whose names are those of texts, such as README or notes.txt.
  folders,
  /// Pictures in MNIST's format, *images-idx3*, with their labels in the file *labels-idx1* beside it.
  idx,
  /// A word in each line, with its tag in the last column, or in the column that `label` names; an empty line after
  /// each sentence. Columns are separated by tabs or blanks. A sentence is a row: its words and its tags, each joined by
  /// blanks.
  conll,
  /// NumPy's arrays: x.npy with its labels in y.npy beside it, or both in a .npz. Bytes (rows, h, w) or (rows, h, w, c)
  /// are pictures; other numbers (rows, n) or (rows, n, c) are sequences of frames.
  npy,
};

const char* data_format_name(DataFormat format) noexcept;   ///< "auto", "csv", "tsv", "semicolon", "jsonl", …
DataFormat data_format_from_name(const std::string& name);  ///< throws an Error if there is none
std::vector<std::string> data_formats();                    ///< their names

/// How to read labeled texts. Options that are not given are detected from the first rows.
struct LabelledOptions {
  DataFormat format = DataFormat::automatic;  ///< the format
  /// For CSV, TSV and semicolons: whether the first row names the columns.
  std::optional<bool> header;
  /// The columns of the text: their names, or their numbers from 1. Their contents are joined by blanks.
  std::vector<std::string> text;
  /// The columns of a second text, in the same way, if each row is a pair of texts (text_pair).
  std::vector<std::string> second = {};
  std::string label;  ///< the column of the label: its name, or its number from 1
  /// The labels that a model knows, in its order; any other label is an Error. If empty, those that occur.
  std::vector<std::string> labels;
  bool literal_quotes = false;  ///< for CSV, TSV and semicolons: quotation marks are always text
  /// The same, but other formats ignore it, where literal_quotes is an Error.
  bool literal_quotes_where_possible = false;
  /// The labels are texts (Task::retrieval): line ends and other control characters in them become blanks. Otherwise
  /// they are an Error.
  bool labels_are_texts = false;
  bool skip_bad_rows = false;  ///< skips and counts rows that would otherwise be an Error
};

/// The size of pictures.
struct PictureSize {
  std::int64_t height = 0;    ///< pixels; 0 if the rows are texts
  std::int64_t width = 0;     ///< pixels
  std::int64_t channels = 0;  ///< 1 for gray, 3 for colors
};

/// What rows hold.
enum class RowContent {
  texts,     ///< UTF-8
  pictures,  ///< the pixels, one byte for each channel, row by row (weft/pictures.h)
  sounds,    ///< a WAV file (weft/sound.h)
  frames,    ///< f32 numbers (n, channels), in the machine's byte order
};
const char* row_content_name(RowContent content) noexcept;  ///< "texts", "pictures", …

/// Rows of a text and a label each. The text may stand for a picture, a sound or a sequence of frames, see RowContent.
struct LabelledTexts {
  std::vector<std::string> texts;    ///< as content() says
  std::vector<std::int64_t> labels;  ///< for each text: the index of its name
  std::vector<std::string> names;    ///< of the labels, distinct
  std::string form;                  ///< the detected format, for people
  /// The columns of the text: their names, or their numbers from 1. Empty for formats without columns.
  std::vector<std::string> columns;
  std::vector<std::string> second_columns = {};  ///< of the second text, in the same way, if the rows are pairs
  std::int64_t skipped = 0;                      ///< bad rows that were skipped
  std::int64_t several = 0;                      ///< rows with several labels, the first of which counts
  PictureSize picture = {};                      ///< of all rows, if they are pictures
  std::int64_t rate = 0;                         ///< samples a second in all rows, if they are sounds
  std::int64_t channels = 0;                     ///< numbers of a frame, if the rows are sequences of frames
  std::int64_t ignored = 0;  ///< files in the folders of labels that are no rows: hidden ones, or texts beside pictures

  /// What the rows hold.
  RowContent content() const noexcept;
  /// The same without rows.
  LabelledTexts without_rows() const;
};

/// The labeled texts of a file, or of a folder that has one folder for each label. The label names are options.labels,
/// or those that occur, in the order of their values if all of them are whole numbers, else of their bytes. A byte
/// order mark is dropped; UTF-16 is an Error.
/// An Error names the file, the row (from 1, counting a header but no empty lines), the line if its number differs,
/// what was expected, and the option of `weft train` that would help.
LabelledTexts read_labelled(const std::string& path, const LabelledOptions& options = {});
/// The same for a file's content; `where` names it in errors.
LabelledTexts parse_labelled(std::string_view content, const std::string& where, const LabelledOptions& options = {});
/// The rows that a program has: a text and a label each, with the names and their order as above. Of the options it uses
/// `labels` and `labels_are_texts`. Throws an Error that names the row, from 1, if its label is empty, unknown, not UTF-8
/// or has a control character, or if there are no rows, or not as many labels as texts.
LabelledTexts labelled_rows(std::vector<std::string> texts, const std::vector<std::string>& labels,
                            const LabelledOptions& options = {});

/// Rows of texts to classify, one after the other, with all their fields.
class TextRows {
 public:
  /// Opens a file in one of the formats of training; it needs no labels. Returns null if each line of the file is a
  /// text. This is assumed unless one of these holds: options.format says otherwise; the first row is a JSON object or
  /// has a __label__; the file's name ends in .csv, .tsv or .tab; the first row names the columns; each of the first
  /// rows has tabs or quotation marks and one of options.labels. Throws an Error that names the file and the option of
  /// `weft classify` that would help, if the columns of the text can't be detected.
  static std::unique_ptr<TextRows> open(const std::string& path, const LabelledOptions& options = {});
  virtual ~TextRows() = default;

  virtual const std::string& form() const noexcept = 0;                ///< the detected format, for people
  virtual const std::vector<std::string>& names() const noexcept = 0;  ///< of the columns; empty if they have no names
  /// Reads the next row's text and, unless `fields` is null, its fields, one for each name. Returns false at the end.
  /// Throws an Error that names the row if it can't be used.
  virtual bool next(std::string& text, std::vector<std::string>* fields = nullptr) = 0;
  virtual RowContent content() const noexcept { return RowContent::texts; }  ///< what the rows hold
  virtual std::int64_t skipped() const noexcept = 0;                         ///< bad rows that were skipped so far
};

}  // namespace weft
#pragma GCC visibility pop
