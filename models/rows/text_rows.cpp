// Rows of texts to classify.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "rows/idx.h"
#include "rows/label_numbers.h"
#include "rows/npy.h"
#include "rows/picture_files.h"
#include "rows/row_file.h"
#include "rows/row_folders.h"
#include "rows/row_format.h"
#include "weft/detail/out_of_memory.h"
#include "weft/detail/utf8_path.h"

namespace weft {
using namespace detail;

namespace {

namespace fs = std::filesystem;

class FileRows : public TextRows {
 public:
  FileRows(std::shared_ptr<const FileBytes> bytes, const Content& content, RowFormat format, bool skip)
      : bytes_(std::move(bytes)),
        format_(std::move(format)),
        said_(describe(format_)),
        rows_(rows_of(content, format_)),
        skip_(skip),
        header_(format_.header) {}

  const std::string& format() const noexcept override { return said_; }
  const std::vector<std::string>& names() const noexcept override { return format_.names; }
  std::int64_t skipped() const noexcept override { return skipped_; }

  bool next(std::string& text, std::vector<std::string>* fields) override try {
    for (;;) try {
        if (!rows_->next(fields_)) return false;
        if (header_) {
          header_ = false;
          continue;
        }
        check_fields(*rows_, fields_, format_);
        break;
      } catch (const BadRow&) {
        if (!skip_) throw;
        ++skipped_;
      }
    text = text_of_row(fields_, format_);
    if (fields != nullptr) *fields = fields_;
    return true;
  } catch (const std::bad_alloc&) {
    fail_out_of_memory("rows");
  }

 private:
  std::shared_ptr<const FileBytes> bytes_;  // the source of the rows
  RowFormat format_;
  std::string said_;
  std::unique_ptr<RowReader> rows_;
  std::vector<std::string> fields_;
  std::int64_t skipped_ = 0;
  bool skip_, header_;  // header_: whether the header must still be skipped
};

// Rows of pictures, sounds or frames. The only field of a row is the path of its file or, if one file contains all
// rows, the row's number.
class NumberRows : public TextRows {
 public:
  NumberRows(LabeledTexts rows, std::vector<std::string> files) : all_(std::move(rows)), files_(std::move(files)) {
    all_.names = {all_.picture.height > 0 ? "picture" : files_.empty() ? "row" : "file"};
  }
  const std::string& format() const noexcept override { return all_.format; }
  const std::vector<std::string>& names() const noexcept override { return all_.names; }
  std::int64_t skipped() const noexcept override { return all_.skipped; }
  RowContent content() const noexcept override { return all_.content(); }
  PictureSize picture() const noexcept override { return all_.picture; }
  bool next(std::string& text, std::vector<std::string>* fields) override {
    if (next_ == all_.texts.size()) return false;
    text = all_.texts[next_];
    if (fields != nullptr) *fields = {files_.empty() ? std::to_string(next_ + 1) : files_[next_]};
    ++next_;
    return true;
  }

 private:
  LabeledTexts all_;
  std::vector<std::string> files_;
  std::size_t next_ = 0;
};

// Reads pictures or sounds, one in each file.
std::unique_ptr<TextRows> open_files(const std::vector<fs::path>& files, const std::string& format, bool skip,
                                     std::int64_t others) {
  LabeledTexts all;
  std::vector<std::string> used;
  for (const fs::path& file : files) try {
      const std::string where = "\"" + name_of(file) + "\"";
      const FileBytes bytes = bytes_of(name_of(file));
      (void)add_numbers(bytes.view(), where, all);
      used.push_back(name_of(file));
    } catch (const BadRow&) {
      if (!skip) throw;
      ++all.skipped;
    }
  all.format = format + finish_numbers(all);
  if (others > 0)
    all.format += "; " + std::to_string(others) + (others == 1 ? " other file" : " other files") + " ignored";
  return std::make_unique<NumberRows>(std::move(all), std::move(used));
}

// Returns the files in a folder and its subfolders, without files in hidden folders.
std::vector<fs::path> files_below(const std::string& folder) try {
  std::vector<fs::path> files;
  fs::recursive_directory_iterator entry(path_of(folder));
  for (; entry != fs::recursive_directory_iterator(); ++entry) {
    if (entry->is_regular_file()) files.push_back(entry->path());
    else if (is_hidden(entry->path())) entry.disable_recursion_pending();
  }
  std::sort(files.begin(), files.end());
  return files;
} catch (const fs::filesystem_error& error) {
  throw Error("\"" + name_of(error.path1()) + "\": " + error.code().message());
}

// Returns the pictures or sounds of a folder, or null if its first file is a text.
std::unique_ptr<TextRows> open_folder(const std::string& folder, bool skip) {
  std::vector<fs::path> files = files_below(folder);
  const std::int64_t others = remove_other_files(files);
  if (files.empty() || !is_file_of_numbers(bytes_of(name_of(files.front())).view())) return nullptr;
  return open_files(files, "a folder, ", skip, others);
}

std::string ending_of(const std::string& path) {
  std::string ending = name_of(path_of(path).extension());
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

}  // namespace

std::unique_ptr<TextRows> TextRows::open(const std::string& path, const LabeledOptions& options) try {
  const bool automatic = options.format == DataFormat::automatic;
  std::error_code ignored;  // reading the lines reports the problem
  if ((automatic || options.format == DataFormat::folders) && fs::is_directory(path_of(path), ignored))
    if (auto rows = open_folder(path, options.skip_bad_rows)) return rows;
  if (automatic && !fs::is_regular_file(path_of(path), ignored)) return nullptr;
  const std::string where = "\"" + path + "\"", ending = ending_of(path);
  if (options.format == DataFormat::folders)
    throw Error(where + ": the format \"folders\" is only for training; expected the format of a file");
  const auto bytes = std::make_shared<const FileBytes>(bytes_of(path));
  if (is_idx_of_pictures(bytes->view()) && (automatic || options.format == DataFormat::idx)) {
    check_skipping(options, where);
    return std::make_unique<NumberRows>(idx_pictures(bytes->view(), where), std::vector<std::string>());
  }
  if (is_npy(bytes->view()) && (automatic || options.format == DataFormat::npy)) {
    check_skipping(options, where);
    return std::make_unique<NumberRows>(npy_rows(bytes->view(), where), std::vector<std::string>());
  }
  if (options.format == DataFormat::npy) throw Error(where + ": expected a NumPy file (.npy or .npz)");
  if (automatic && is_file_of_numbers(bytes->view())) return open_files({path}, "", false, 0);
  if (options.format == DataFormat::idx)
    throw Error(where + ": expected pictures in the IDX format, bytes (n, height, width)");
  if (bytes->view().find_first_not_of("\r\n \t") == std::string_view::npos) return nullptr;
  const Content content = text_of(bytes->view(), where);
  std::optional<RowFormat> format = find_text_format(content, ending, options);
  if (!format) return nullptr;
  return std::make_unique<FileRows>(bytes, content, *std::move(format), options.skip_bad_rows);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("rows");
}

}  // namespace weft
