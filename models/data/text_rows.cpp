// Rows of texts to classify.
#include <algorithm>
#include <cctype>
#include <filesystem>

#include "data/idx.h"
#include "data/row_file.h"
#include "data/row_form.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

namespace fs = std::filesystem;

class FileRows : public TextRows {
 public:
  FileRows(std::shared_ptr<const FileBytes> bytes, const Content& content, RowForm form, bool skip)
      : bytes_(std::move(bytes)),
        form_(std::move(form)),
        said_(describe(form_)),
        rows_(rows_of(content, form_)),
        skip_(skip),
        header_(form_.header) {}

  const std::string& form() const noexcept override { return said_; }
  const std::vector<std::string>& names() const noexcept override { return form_.names; }
  std::int64_t skipped() const noexcept override { return skipped_; }

  bool next(std::string& text, std::vector<std::string>* fields) override try {
    for (;;) try {
        if (!rows_->next(fields_)) return false;
        if (header_) {
          header_ = false;
          continue;
        }
        check_fields(*rows_, fields_, form_);
        break;
      } catch (const BadRow&) {
        if (!skip_) throw;
        ++skipped_;
      }
    text = text_of_row(fields_, form_);
    if (fields != nullptr) *fields = fields_;
    return true;
  } catch (const std::bad_alloc&) {
    fail_out_of_memory("rows");
  }

 private:
  std::shared_ptr<const FileBytes> bytes_;  // the source of the rows
  RowForm form_;
  std::string said_;
  std::unique_ptr<RowReader> rows_;
  std::vector<std::string> fields_;
  std::int64_t skipped_ = 0;
  bool skip_, header_;  // header_: the header has not been read yet
};

// Pictures, which have no fields.
class PictureRows : public TextRows {
 public:
  explicit PictureRows(LabelledTexts pictures) : all_(std::move(pictures)) {}
  const std::string& form() const noexcept override { return all_.form; }
  const std::vector<std::string>& names() const noexcept override { return all_.names; }
  std::int64_t skipped() const noexcept override { return 0; }
  PictureSize picture() const noexcept override { return all_.picture; }
  bool next(std::string& text, std::vector<std::string>* fields) override {
    if (next_ == all_.texts.size()) return false;
    text = all_.texts[next_++];
    if (fields != nullptr) *fields = {std::to_string(next_)};
    return true;
  }

 private:
  LabelledTexts all_;
  std::size_t next_ = 0;
};

std::string ending_of(const std::string& path) {
  std::string ending = fs::path(path).extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return ending;
}

}  // namespace

std::unique_ptr<TextRows> TextRows::open(const std::string& path, const LabelledOptions& options) try {
  const bool automatic = options.format == DataFormat::automatic;
  std::error_code ignored;  // reading the lines reports the problem
  if (automatic && !fs::is_regular_file(path, ignored)) return nullptr;
  const std::string where = "\"" + path + "\"", ending = ending_of(path);
  if (options.format == DataFormat::folders)
    throw Error(where + ": folders are only for training; expected the format of a file");
  const auto bytes = std::make_shared<const FileBytes>(bytes_of(path));
  if (is_idx_of_pictures(bytes->view()) && (automatic || options.format == DataFormat::idx)) {
    LabelledTexts pictures = idx_pictures(bytes->view(), where);
    pictures.names = {"picture"};
    return std::make_unique<PictureRows>(std::move(pictures));
  }
  if (options.format == DataFormat::idx)
    throw Error(where + ": expected pictures in the IDX format, bytes (n, height, width)");
  if (bytes->view().find_first_not_of("\r\n \t") == std::string_view::npos) return nullptr;
  const Content content = text_of(bytes->view(), where);
  std::optional<RowForm> form = find_text_form(content, ending, options);
  if (!form) return nullptr;
  return std::make_unique<FileRows>(bytes, content, *std::move(form), options.skip_bad_rows);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("rows");
}

}  // namespace weft
