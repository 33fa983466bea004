/// \file
/// Labeled texts: rows, each with a text and a label. This header has functions that read common file formats: CSV,
/// TSV, JSON lines, fastText's format, and one folder for each label. A row may hold a picture, a sound or a sequence
/// of frames instead of a text.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The file formats of labeled texts.
enum class DataFormat {
  automatic,  ///< the reader detects the format in the first rows
  /// Fields separated by commas, as Python's csv module reads them (RFC 4180): a field in quotation marks may contain
  /// line breaks and doubled quotation marks.
  csv,
  tsv,        ///< fields separated by tabs; quotation marks are text unless they enclose the whole field
  semicolon,  ///< like csv, but with semicolons
  jsonl,      ///< a JSON object in each line; its keys are the columns
  fasttext,   ///< lines of words and "__label__NAME", in any order; if a line has several labels, the first counts
  /// A folder for each label, with a file for each text. Files outside these folders and hidden files are ignored. If
  /// the rows are pictures or sounds, text files such as README or notes.txt are ignored, too.
  folders,
  /// Pictures in MNIST's format. The name of their file contains "images-idx3". Their labels are in the same folder, in
  /// the file whose name has "labels-idx1" instead.
  idx,
  /// A word and its tag in each line, and an empty line after each sentence. The tag is in the last column, or in the
  /// column that `label` names. Tabs or blanks separate the columns. Each sentence is a row. The row's text is the
  /// words, and its label is the tags, both joined by blanks.
  conll,
  /// NumPy arrays: the rows in x.npy and the labels in y.npy in the same folder, or both arrays in an .npz file. Arrays
  /// of bytes (rows, h, w) or (rows, h, w, c) are pictures. Arrays of other numbers (rows, n) or (rows, n, c) are
  /// sequences of frames.
  npy,
};

const char* data_format_name(DataFormat format) noexcept;   ///< "auto", "csv", "tsv", "semicolon", "jsonl", …
DataFormat data_format_from_name(const std::string& name);  ///< throws an Error for an unknown name
std::vector<std::string> data_formats();                    ///< the names of all formats

/// How to read labeled texts. Options that you don't set are detected from the first rows.
struct LabeledOptions {
  DataFormat format = DataFormat::automatic;  ///< the format of the file or folder
  /// For CSV, TSV and semicolons: whether the first row is a header.
  std::optional<bool> header;
  /// The columns of the text, given by their names or by their numbers from 1. The contents of several columns are
  /// joined by blanks.
  std::vector<std::string> text;
  /// The columns of the second text, given in the same way, if each row is a pair of texts (text_pair).
  std::vector<std::string> second = {};
  std::string label;  ///< the column of the label, given by its name or by its number from 1
  /// The labels that a model knows, in the order of its outputs. Any other label causes an Error. If the list is empty,
  /// the labels are those in the data.
  std::vector<std::string> labels;
  bool literal_quotes = false;  ///< for CSV, TSV and semicolons: quotation marks are always text
  /// Has the effect of literal_quotes, but causes no Error for formats to which literal_quotes does not apply.
  bool literal_quotes_where_possible = false;
  /// Whether the labels are texts (Task::retrieval). If so, line breaks and other control characters in them become
  /// blanks. Otherwise a control character in a label causes an Error.
  bool labels_are_texts = false;
  /// Skips bad rows and counts them. If false, a bad row causes an Error. True is an Error for NumPy and IDX files, which
  /// are read as a whole.
  bool skip_bad_rows = false;
};

/// The size of all pictures of a data set.
struct PictureSize {
  std::int64_t height = 0;    ///< pixels; 0 if the rows are texts
  std::int64_t width = 0;     ///< pixels
  std::int64_t channels = 0;  ///< 1 for gray, 3 for color
};

/// The kind of content that rows hold.
enum class RowContent {
  texts,     ///< UTF-8
  pictures,  ///< pixels, one byte for each channel, row by row (weft/pictures.h)
  sounds,    ///< the bytes of a WAV file (weft/sound.h)
  frames,    ///< f32 numbers (n, channels), in native byte order
};
const char* row_content_name(RowContent content) noexcept;  ///< "texts", "pictures", …

/// Rows, each with a text and a label. A text may hold the bytes of a picture, a sound or a sequence of frames, see
/// RowContent.
struct LabeledTexts {
  std::vector<std::string> texts;    ///< one for each row; content() says what they hold
  std::vector<std::int64_t> labels;  ///< for each text, the index of its label in `names`
  std::vector<std::string> names;    ///< the distinct names of the labels
  std::string format;                ///< a description of the detected format, for messages
  /// The columns of the text, given by their names or by their numbers from 1. Empty for formats without columns.
  std::vector<std::string> columns;
  /// The columns of the second text, given in the same way, if rows are pairs.
  std::vector<std::string> second_columns = {};
  std::int64_t skipped = 0;   ///< the number of bad rows that were skipped
  std::int64_t several = 0;   ///< the number of rows with several labels; only the first label of such a row counts
  PictureSize picture = {};   ///< the size of every picture, if rows are pictures
  std::int64_t rate = 0;      ///< samples per second in every row, if rows are sounds
  std::int64_t channels = 0;  ///< numbers in a frame, if rows are sequences of frames
  /// The number of ignored files in the folders of labels: hidden files, and text files among pictures or sounds.
  std::int64_t ignored = 0;

  /// What the rows hold.
  RowContent content() const noexcept;
  /// Returns a copy without rows.
  LabeledTexts without_rows() const;
};

/// Reads the labeled texts of a file, or of a folder that has one folder for each label. The label names are
/// options.labels. If that list is empty, they are the labels in the data: in numeric order if all of them are whole
/// numbers, otherwise in byte order. A byte order mark is dropped. A file in UTF-16 causes an Error. An Error about a
/// row names the file, the row (from 1, counting a header but no empty lines), the line if its number differs from that
/// of the row, what was expected, and the option of `weft train` that solves the problem.
LabeledTexts read_labeled(const std::string& path, const LabeledOptions& options = {});
/// Does the same for the contents of a file. Error messages name the file as `where`.
LabeledTexts parse_labeled(std::string_view content, const std::string& where, const LabeledOptions& options = {});
/// Makes labeled texts from texts and labels in memory. The label names and their order are determined as in
/// read_labeled(). Only the options `labels` and `labels_are_texts` have an effect. Throws an Error if there are no
/// rows, or if the numbers of texts and labels differ. It also throws an Error, which names the row from 1, if a label
/// is empty, unknown, not UTF-8, or has a control character.
LabeledTexts labeled_rows(std::vector<std::string> texts, const std::vector<std::string>& labels,
                          const LabeledOptions& options = {});

/// Reads texts to classify, row by row, with all their fields.
class TextRows {
 public:
  /// Opens a file in one of the formats of labeled texts, or a folder of pictures or sounds. Labels may be missing.
  /// Returns null if each line of the file is a text. The function assumes that each line is a text unless
  /// options.format is another format, the first row is a JSON object or has a __label__, the file's name ends in .csv,
  /// .tsv or .tab, the first row names the columns, or each of the first rows has tabs or quotation marks and one of
  /// options.labels. If the function can't detect the columns of the text, it throws an Error that names the file and
  /// the option of `weft classify` that solves the problem.
  static std::unique_ptr<TextRows> open(const std::string& path, const LabeledOptions& options = {});
  virtual ~TextRows() = default;

  virtual const std::string& format() const noexcept = 0;  ///< a description of the detected format, for messages
  /// The names of the columns; empty if the columns have no names.
  virtual const std::vector<std::string>& names() const noexcept = 0;
  /// Reads the text of the next row. Unless `fields` is null, it also reads the row's fields, one for each name.
  /// Returns false at the end. Throws an Error that names the row if the row is bad.
  virtual bool next(std::string& text, std::vector<std::string>* fields = nullptr) = 0;
  virtual RowContent content() const noexcept { return RowContent::texts; }  ///< what the rows hold
  virtual std::int64_t skipped() const noexcept = 0;                         ///< the number of bad rows skipped so far
  virtual PictureSize picture() const noexcept { return {}; }  ///< the size of every picture, if rows are pictures
};

}  // namespace weft
WEFT_PUBLIC_END
