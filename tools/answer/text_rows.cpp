#include "answer/text_rows.h"

#include <weft/labeled_texts.h>
#include <weft/tokenizer.h>

#include <algorithm>

#include "console/command.h"
#include "console/line_reader.h"

std::string pair_of_line(const std::string& line) {
  const std::size_t tab = line.find('\t');
  if (tab == std::string::npos || line.find('\t', tab + 1) != std::string::npos)
    throw weft::Error("the model reads pairs of texts: expected two texts with one tab between them, got " +
                      std::to_string(std::count(line.begin(), line.end(), '\t')) + " tabs");
  return weft::text_pair(line.substr(0, tab), line.substr(tab + 1));
}

namespace {

std::string pair_of(const std::string& line, const TextPlace& place) try {
  return pair_of_line(line);
} catch (const weft::Error& error) {
  throw weft::Error(place.name() + ": " + error.what());
}

// Throws a UsageError if options for tables are given, but the file has no table rows.
void check_options(const DataOptions& data_options, const weft::TextRows* rows, const std::string& file) {
  if (rows == nullptr && (data_options.of_tables() != nullptr || data_options.skip_bad_rows))
    throw UsageError(file +
                     ": the given options apply only to tables, but each line of this file is read as a text (--format "
                     "FORMAT reads the file as a table)");
  if (rows != nullptr && rows->content() != weft::RowContent::texts && data_options.of_tables() != nullptr)
    throw UsageError(std::string(data_options.of_tables()) + " applies only to tables of texts, but " + file + " has " +
                     weft::row_content_name(rows->content()));
}

}  // namespace

std::unique_ptr<weft::TextRows> open_texts(const std::string& file, const DataOptions& given,
                                           const weft::LabeledOptions& options, const weft::Checkpoint& checkpoint) {
  const bool is_input = file == "-";
  auto rows = is_input && options.format == weft::DataFormat::automatic
                  ? nullptr
                  : weft::TextRows::open(is_input ? "/dev/stdin" : file, options);
  check_content(rows ? rows->content() : weft::RowContent::texts, checkpoint, file);
  const weft::InputSpec& input = checkpoint.model->input();
  if (rows) check_picture_size(rows->picture(), input.height, input.width, file);
  check_options(given, rows.get(), file);
  if (rows) check_second_columns(options, checkpoint, file);
  return rows;
}

void for_each_text(const std::string& file, const DataOptions& data_options, const TextColumns& columns,
                   const weft::Checkpoint& checkpoint,
                   const std::function<void(const std::string& text, const TextPlace& place)>& use) {
  weft::LabeledOptions options = data_options.labeled();
  set_text_columns(columns, options);
  const bool are_pairs = checkpoint.info.pairs || !columns.second.empty();
  const auto rows = open_texts(file, data_options, options, checkpoint);
  if (!rows) {
    TextPlace place{"", "line", 0};
    return for_each_lines(file, [&](const std::vector<std::string>& lines, const std::string& name) {
      place.file = name;
      for (const std::string& line : lines) {
        ++place.number;
        use(are_pairs ? pair_of(line, place) : line, place);
      }
    });
  }
  TextPlace place{file, "text", 0};
  for (std::string text; rows->next(text);) {
    ++place.number;
    use(text, place);
  }
}
