#include "answer/text_rows.h"

#include <weft/error.h>
#include <weft/labelled_texts.h>

#include "console/line_reader.h"
#include "options/run_file.h"

std::vector<std::string> columns_of_run(const std::string& run) {
  const std::vector<std::string> found = run_texts(run, "found", "columns");
  if (!found.empty()) return found;
  DataOptions given;  // for a run that names no columns found
  given.columns = run_text(run, "data", "columns");
  return given.labelled().text;
}

void for_each_text(const std::string& file, const DataOptions& form, const std::vector<std::string>& columns,
                   const weft::Checkpoint& checkpoint, const std::function<void(const std::string&)>& use) {
  weft::LabelledOptions options = form.labelled();
  if (options.text.empty()) options.text = columns;
  const bool is_input = file == "-";
  const auto rows = is_input && options.format == weft::DataFormat::automatic
                        ? nullptr
                        : weft::TextRows::open(is_input ? "/dev/stdin" : file, options);
  check_content(rows ? rows->content() : weft::RowContent::texts, checkpoint, file);
  std::int64_t number = 0;
  const auto use_next = [&](const std::string& text) {
    ++number;
    try {
      use(text);
    } catch (const weft::Error& error) {
      throw weft::Error(file + ": text " + std::to_string(number) + ": " + error.what());
    }
  };
  if (!rows)
    return for_each_lines(file, [&](const std::vector<std::string>& lines, const std::string&) {
      for (const std::string& line : lines) use_next(line);
    });
  for (std::string text; rows->next(text);) use_next(text);
}
