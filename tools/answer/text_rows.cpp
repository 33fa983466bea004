#include "answer/text_rows.h"

#include <weft/labelled_texts.h>

#include "console/command.h"
#include "console/line_reader.h"
#include "options/run_file.h"

std::vector<std::string> columns_of_run(const std::string& run) {
  const std::vector<std::string> found = run_texts(run, "found", "columns");
  if (!found.empty()) return found;
  DataOptions given;  // for a run that names no columns found
  given.columns = run_text(run, "data", "columns");
  return given.labelled().text;
}

void check_options(const DataOptions& form, const weft::TextRows* rows, const std::string& file) {
  if (rows == nullptr && (form.of_tables() != nullptr || form.skip_bad_rows))
    throw UsageError(file + ": each line is a text, without columns (--format says how rows are written)");
  if (rows != nullptr && rows->content() != weft::RowContent::texts && form.of_tables() != nullptr)
    throw UsageError(std::string(form.of_tables()) + " is for tables of texts, but " + file + " has " +
                     weft::row_content_name(rows->content()));
}

void for_each_text(const std::string& file, const DataOptions& form, const std::vector<std::string>& columns,
                   const weft::Checkpoint& checkpoint,
                   const std::function<void(const std::string& text, const TextPlace& place)>& use) {
  weft::LabelledOptions options = form.labelled();
  if (options.text.empty()) options.text = columns;
  const bool is_input = file == "-";
  const auto rows = is_input && options.format == weft::DataFormat::automatic
                        ? nullptr
                        : weft::TextRows::open(is_input ? "/dev/stdin" : file, options);
  check_content(rows ? rows->content() : weft::RowContent::texts, checkpoint, file);
  check_options(form, rows.get(), file);
  if (!rows) {
    TextPlace place{"", "line", 0};
    return for_each_lines(file, [&](const std::vector<std::string>& lines, const std::string& name) {
      place.file = name;
      for (const std::string& line : lines) {
        ++place.number;
        use(line, place);
      }
    });
  }
  TextPlace place{file, "text", 0};
  for (std::string text; rows->next(text);) {
    ++place.number;
    use(text, place);
  }
}
