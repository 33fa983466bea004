#include "weft/labeled_texts.h"

#include <algorithm>
#include <filesystem>

#include "rows/idx.h"
#include "rows/label_numbers.h"
#include "rows/npy.h"
#include "rows/picture_files.h"
#include "rows/row_file.h"
#include "rows/row_folders.h"
#include "rows/row_format.h"
#include "weft/detail/enum_names.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/utf8_path.h"

namespace weft {
using namespace detail;

namespace detail {

template <>
struct EnumNames<DataFormat> {
  static constexpr const char* what = "format";
  static constexpr EnumName<DataFormat> all[] = {{DataFormat::automatic, "auto"},  {DataFormat::csv, "csv"},
                                                 {DataFormat::tsv, "tsv"},         {DataFormat::semicolon, "semicolon"},
                                                 {DataFormat::jsonl, "jsonl"},     {DataFormat::fasttext, "fasttext"},
                                                 {DataFormat::folders, "folders"}, {DataFormat::idx, "idx"},
                                                 {DataFormat::conll, "conll"},     {DataFormat::npy, "npy"}};
};

std::string trimmed(const std::string& text) {
  const std::size_t begin = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace detail

namespace {

namespace fs = std::filesystem;

// Returns the text with blanks instead of control characters.
std::string on_one_line(std::string text) {
  std::replace_if(text.begin(), text.end(), is_control, ' ');
  return text;
}

// Adds a label to `all`. Returns why it can't be a label, or an empty text if it was added.
std::string add_label(const std::string& label, bool labels_are_texts, LabelNumbers& labels, LabeledTexts& all) {
  const std::string name = trimmed(labels_are_texts ? on_one_line(label) : label);
  std::string refusal = labels.refusal(name);
  if (refusal.empty()) all.labels.push_back(labels.of(name));
  return refusal;
}

// Adds the next row to `all`. Returns false at the end.
bool add_row(RowReader& rows, const RowFormat& format, std::vector<std::string>& fields, LabelNumbers& labels,
             bool labels_are_texts, LabeledTexts& all) {
  if (!rows.next(fields)) return false;
  check_fields(rows, fields, format);
  std::string text = text_of_row(fields, format);
  const std::string refusal = add_label(fields[*format.label], labels_are_texts, labels, all);
  if (!refusal.empty()) rows.fail(refusal);
  all.texts.push_back(std::move(text));
  return true;
}

// Skips a bad row if the options say so.
template <class Add>
bool add_or_skip(const LabeledOptions& options, LabeledTexts& all, Add add) {
  try {
    return add();
  } catch (const BadRow&) {
    if (!options.skip_bad_rows) throw;
    ++all.skipped;
    return true;
  }
}

LabeledTexts finished(LabeledTexts all, const std::string& where, const LabelNumbers& labels) {
  if (all.texts.empty())
    throw Error(where + (all.skipped > 0 ? " has only bad rows; " + std::to_string(all.skipped) + " were skipped"
                                         : " has no rows"));
  all.names = labels.sort(all.labels);
  return all;
}

std::vector<fs::path> sorted_entries(const fs::path& folder) {
  std::vector<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) entries.push_back(entry.path());
  std::sort(entries.begin(), entries.end());
  return entries;
}

// Returns the folders in a folder, without hidden ones.
std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  std::error_code is_none;  // a dangling link
  for (const fs::path& entry : sorted_entries(folder))
    if (!is_hidden(entry) && fs::is_directory(entry, is_none)) folders.push_back(entry);
  return folders;
}

// Returns the files in the given folders, without the files that are not rows.
std::vector<fs::path> files_in(const std::vector<fs::path>& folders, LabeledTexts& all) {
  std::vector<fs::path> files;
  for (const fs::path& folder : folders)
    for (const fs::path& file : sorted_entries(folder)) files.push_back(file);
  all.ignored = remove_other_files(files);
  return files;
}

// Returns the bytes of a file that is one row.
FileBytes row_bytes(const std::string& path, const std::string& where) {
  std::error_code error;
  const fs::file_type type = fs::status(path_of(path), error).type();
  if (error) throw BadRow(where + ": " + error.message() + " (--skip-bad-rows skips such files)");
  if (type == fs::file_type::directory)
    throw BadRow(where + ": expected a file for each row, got a folder (--skip-bad-rows skips such folders)");
  if (type != fs::file_type::regular)  // reading a pipe would block
    throw BadRow(where + ": expected a regular file (--skip-bad-rows skips all other files)");
  return bytes_of(path);
}

// Returns the text of a whole file.
std::string whole_text(std::string_view bytes, const std::string& where) {
  if (bytes.empty()) return "";
  const Content content = text_of(bytes, where);
  const WrongBytes wrong = wrong_bytes(content.text, content.before);
  if (!wrong.what.empty())
    throw BadRow(where + ": " + wrong.what + " (" + wrong.hint + "; --skip-bad-rows skips such files)");
  return std::string(content.text);
}

// Adds a file as a row. The row is a picture or a sound if the first file is one, otherwise a text.
void add_file(const std::string& path, LabeledTexts& all) {
  const std::string where = "\"" + path + "\"";
  const FileBytes bytes = row_bytes(path, where);
  if (!add_numbers(bytes.view(), where, all)) all.texts.push_back(whole_text(bytes.view(), where));
}

LabeledTexts read_folders(const std::string& path, const LabeledOptions& options) try {
  const std::string where = "\"" + path + "\"";
  if (options.header || !options.text.empty() || !options.second.empty() || !options.label.empty())
    throw Error(where + ": folders have no header and no columns (--header and --columns apply to files with rows)");
  if (options.literal_quotes)
    throw Error(where + ": folders have no fields (--literal-quotes applies to files with rows)");
  LabelNumbers labels(options.labels);
  LabeledTexts all;
  all.format = "a folder for each label";
  const std::vector<fs::path> folders = folders_in(path_of(path));
  if (folders.empty()) throw Error(where + ": expected a folder for each label, with a file for each text");
  for (const fs::path& file : files_in(folders, all))
    (void)add_or_skip(options, all, [&] {
      const std::string name = name_of(file.parent_path().filename()), refusal = labels.refusal(name);
      if (!refusal.empty())
        throw BadRow("\"" + name_of(file) + "\": " + refusal + " (--skip-bad-rows skips such files)");
      add_file(name_of(file), all);
      all.labels.push_back(labels.of(name));
      return true;
    });
  if (all.content() != RowContent::texts) all.format += ", " + finish_numbers(all);
  return finished(std::move(all), where, labels);
} catch (const fs::filesystem_error& error) {
  throw Error("\"" + name_of(error.path1()) + "\": " + error.code().message());
}

}  // namespace

const char* row_content_name(RowContent content) noexcept {
  switch (content) {
    case RowContent::pictures: return "pictures";
    case RowContent::sounds: return "sounds";
    case RowContent::frames: return "frames of numbers";
    default: return "texts";
  }
}

RowContent LabeledTexts::content() const noexcept {
  return picture.height > 0 ? RowContent::pictures
         : rate > 0         ? RowContent::sounds
         : channels > 0     ? RowContent::frames
                            : RowContent::texts;
}

LabeledTexts LabeledTexts::without_rows() const {
  LabeledTexts same;
  same.names = names;
  same.format = format;
  same.columns = columns;
  same.second_columns = second_columns;
  same.picture = picture;
  same.rate = rate;
  same.channels = channels;
  return same;
}

const char* data_format_name(DataFormat format) noexcept { return enum_name(format); }

DataFormat data_format_from_name(const std::string& name) { return enum_from_name<DataFormat>(name); }

std::vector<std::string> data_formats() { return enum_names<DataFormat>(); }

LabeledTexts parse_labeled(std::string_view bytes, const std::string& where, const LabeledOptions& options) try {
  if (options.format == DataFormat::folders) throw Error(where + ": expected a folder, got a file (--format folders)");
  if (options.format == DataFormat::idx || options.format == DataFormat::npy)
    throw Error(where + ": rows of numbers can only be read from a file, because their labels may be in a second file");
  const Content content = text_of(bytes, where);
  if (content.text.find_first_not_of("\r\n \t") == std::string_view::npos) throw Error(where + " has no rows");
  const RowFormat format = find_format(content, options);
  const auto rows = rows_of(content, format);
  LabelNumbers labels(options.labels);
  LabeledTexts all;
  all.format = describe(format);
  all.columns = names_of(format, format.text);
  all.second_columns = names_of(format, format.second);
  std::vector<std::string> fields;
  for (bool header = format.header; header;)
    (void)add_or_skip(options, all, [&] {
      (void)rows->next(fields);
      return header = false;
    });
  while (add_or_skip(options, all,
                     [&] { return add_row(*rows, format, fields, labels, options.labels_are_texts, all); })) {
  }
  all.several = rows->several();
  return finished(std::move(all), where, labels);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("rows");
}

LabeledTexts labeled_rows(std::vector<std::string> texts, const std::vector<std::string>& labels,
                          const LabeledOptions& options) try {
  if (labels.size() != texts.size())
    throw Error("[rows] expected a label for each of " + std::to_string(texts.size()) + " rows, got " +
                std::to_string(labels.size()));
  LabelNumbers numbers(options.labels);
  LabeledTexts all;
  for (std::size_t i = 0; i < labels.size(); ++i)
    if (const std::string refusal = add_label(labels[i], options.labels_are_texts, numbers, all); !refusal.empty())
      throw Error("[rows] row " + std::to_string(i + 1) + ": " + refusal);
  all.texts = std::move(texts);
  return finished(std::move(all), "[rows] the data", numbers);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("rows");
}

LabeledTexts read_labeled(const std::string& path, const LabeledOptions& options) try {
  std::error_code ignored;  // reading reports the problem
  const bool is_folder = fs::is_directory(path_of(path), ignored);
  if (is_folder && options.format != DataFormat::automatic && options.format != DataFormat::folders)
    throw Error("\"" + path + "\": expected a file, got a folder (--format " + data_format_name(options.format) + ")");
  if (is_folder) return read_folders(path, options);
  const FileBytes bytes = bytes_of(path);
  const bool is_idx = is_idx_of_pictures(bytes.view());
  if (options.format == DataFormat::idx && !is_idx)
    throw Error("\"" + path + "\": expected pictures in the IDX format, bytes (n, height, width)");
  const bool is_numpy = is_npy(bytes.view());
  if (options.format == DataFormat::npy && !is_numpy)
    throw Error("\"" + path + "\": expected a NumPy file (.npy or .npz)");
  if (is_numpy && (options.format == DataFormat::automatic || options.format == DataFormat::npy))
    return read_npy(path, bytes.view(), options);
  if (is_idx && (options.format == DataFormat::automatic || options.format == DataFormat::idx))
    return read_idx(path, bytes.view(), options);
  return parse_labeled(bytes.view(), "\"" + path + "\"", options);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("rows");
}

}  // namespace weft
