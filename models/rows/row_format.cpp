#include "rows/row_format.h"

#include <algorithm>
#include <unordered_set>

#include "rows/json_row.h"
#include "rows/row_columns.h"
#include "weft/tokenizer.h"

namespace weft::detail {
namespace {

constexpr std::size_t sample_bytes = std::size_t{1} << 20, sample_rows = 1000;

const char* const expected_formats =
    "expected CSV, TSV or semicolons with a label and a text in each row, JSON lines, or fastText's __label__ lines";

// Returns the beginning of the file, up to the end of a line.
Content beginning_of(const Content& content) {
  Content sample = content;
  if (sample.text.size() <= sample_bytes) return sample;
  const std::size_t end = sample.text.find_last_of("\r\n", sample_bytes);
  if (end != std::string_view::npos) sample.text = sample.text.substr(0, end + 1);
  return sample;
}

// The readable rows at the beginning of a file, and the number of unreadable rows among them.
struct SomeRows {
  Rows rows;
  std::size_t bad = 0;
  std::size_t count() const noexcept { return rows.size() + bad; }
};

SomeRows some_rows(const Content& content, const Dialect& dialect) {
  const auto reader = delimited_rows(content, dialect);
  SomeRows some;
  std::vector<std::string> fields;
  while (some.count() < sample_rows) try {
      if (!reader->next(fields)) break;
      some.rows.push_back(fields);
    } catch (const BadRow&) {  // reading all rows reports the problem
      ++some.bad;
    }
  return some;
}

// Returns the number of rows with as many columns as the first row, or 0 if the first row has fewer than 2.
std::size_t agreeing(const Rows& rows) {
  if (rows.empty() || rows[0].size() < 2) return 0;
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [&](const auto& row) { return row.size() == rows[0].size(); }));
}

// How well a dialect fits all rows. `agreeing` is the number of valid rows with as many columns as the first row. It is
// 0 if the first row has fewer than 2 columns.
struct Agreement {
  std::size_t rows = 0, agreeing = 0;
};

Agreement agreement_of(const Content& content, const Dialect& dialect) {
  const auto reader = delimited_rows(content, dialect);
  Agreement found;
  std::vector<std::string> fields;
  for (std::size_t columns = 0;;) try {
      if (!reader->next(fields)) return found;
      ++found.rows;
      if (columns == 0) columns = fields.size();
      if (columns < 2) return found;
      found.agreeing += fields.size() == columns;
    } catch (const BadRow&) {
      ++found.rows;
    }
}

// In a table with tabs, quotation marks are either text, or they enclose fields according to the rules of CSV, so that
// fields may contain tabs and line ends. Returns the dialect that fits the larger share of all rows. Marks around a
// whole cell enclose a field in both dialects.
Dialect dialect_of(const Content& content, char delimiter, const LabeledOptions& options) {
  if (options.literal_quotes || options.literal_quotes_where_possible) return {delimiter, Quotes::literal};
  if (delimiter != '\t') return {delimiter, Quotes::csv};
  const Dialect cells{delimiter, Quotes::cells};
  if (content.text.find('"') == std::string_view::npos) return cells;
  const Agreement by_lines = agreement_of(content, cells),
                  by_marks = agreement_of(content, {delimiter, Quotes::strict});
  if (by_marks.agreeing == 0 || by_marks.agreeing * by_lines.rows < by_lines.agreeing * by_marks.rows) return cells;
  return {delimiter, Quotes::fields};
}

DataFormat format_of(char delimiter) {
  return delimiter == '\t' ? DataFormat::tsv : delimiter == ',' ? DataFormat::csv : DataFormat::semicolon;
}

char delimiter_of(DataFormat format) {
  return format == DataFormat::tsv ? '\t' : format == DataFormat::csv ? ',' : ';';
}

bool is_delimited(DataFormat format) {
  return format == DataFormat::csv || format == DataFormat::tsv || format == DataFormat::semicolon;
}

// Returns the delimiter with which most rows have as many columns as the first row. Returns none if the first row has
// only one column with each delimiter.
std::optional<char> best_delimiter(const Content& content, const Content& sample, const LabeledOptions& options) {
  std::size_t most = 0;
  std::optional<char> best;
  for (char delimiter : {'\t', ',', ';'}) {
    const std::size_t rows = agreeing(some_rows(sample, dialect_of(content, delimiter, options)).rows);
    if (rows > most) {
      most = rows;
      best = delimiter;
    }
  }
  return best;
}

DataFormat sniffed(const Content& content, const Content& sample, const LabeledOptions& options) {
  const std::string_view text = sample.text,
                         first = text.substr(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (first.substr(0, 1) == "{") return DataFormat::jsonl;
  const std::size_t inside = first.find_first_not_of(" \t\r\n", 1);
  if (first.substr(0, 1) == "[" && inside != std::string_view::npos && first[inside] == '{')
    throw Error(sample.where +
                ": expected a JSON object in each line, got a JSON array (jq -c '.[]' FILE > NEW converts it)");
  const std::string_view line = first.substr(0, first.find_first_of("\r\n"));
  if (line.find(fasttext_prefix) != std::string_view::npos) return DataFormat::fasttext;
  const auto delimiter = best_delimiter(content, sample, options);
  if (!delimiter)
    throw Error(sample.where + ": " + expected_formats +
                "; the first rows have none of these formats (--format sets the format; weft train --text reads a "
                "text without labels)");
  return format_of(*delimiter);
}

// Whether the first row is the header of a table of texts. A single column can have any name, so its first field is a
// header only if the options say so or if it is a common name of a text column.
bool has_header_of_texts(const Rows& rows, const LabeledOptions& options) {
  if (rows[0].size() > 1) return has_header(rows, options);
  return (!options.text.empty() && trimmed(rows[0][0]) == options.text[0]) || has_header(rows, {});
}

void set_columns(RowFormat& format, const std::string& where, const Rows& rows, const LabeledOptions& options,
                 bool labeled) {
  if (!labeled) {
    format.label.reset();
    RowColumns columns = find_text_columns(where, format.names, format.columns, rows, options);
    format.text = std::move(columns.text);
    format.second = std::move(columns.second);
    return;
  }
  RowColumns columns = find_columns(where, format.names, format.columns, rows, options);
  format.label = columns.label;
  format.text = std::move(columns.text);
  format.second = std::move(columns.second);
}

// Returns the format of a table. The first row determines the columns.
RowFormat delimited_format(const Content& content, const Content& sample, DataFormat kind,
                           const LabeledOptions& options, bool labeled) {
  RowFormat format;
  format.kind = kind;
  format.dialect = dialect_of(content, delimiter_of(kind), options);
  Rows rows = some_rows(sample, format.dialect).rows;
  if (rows.empty()) {
    format.columns = 0;  // reading the rows reports the problem with the first row
    return format;
  }
  format.columns = rows[0].size();
  rows.erase(std::remove_if(rows.begin(), rows.end(), [&](const auto& row) { return row.size() != format.columns; }),
             rows.end());
  format.header = options.header.value_or(labeled ? has_header(rows, options) : has_header_of_texts(rows, options));
  if (format.header) {
    for (const std::string& name : rows[0]) format.names.push_back(trimmed(name));
    rows.erase(rows.begin());
  }
  set_columns(format, sample.where, rows, options, labeled);
  return format;
}

// Returns the values of the first two keys.
std::vector<std::string> first_two(const nlohmann::json& object, const std::vector<std::string>& keys) {
  std::vector<std::string> fields(2);
  for (std::size_t i = 0; i < std::min(keys.size(), fields.size()); ++i)
    if (const auto found = object.find(keys[i]); found != object.end()) (void)json_text(*found, fields[i]);
  return fields;
}

// The columns are the keys of the first rows, in the order in which they occur. The values are only used if there are
// two columns. With more columns, the names must identify them.
RowFormat jsonl_format(const Content& sample, const LabeledOptions& options, bool labeled) {
  std::vector<std::string> keys;
  std::unordered_set<std::string> known;
  Rows rows;
  std::size_t objects = 0;
  const auto lines = delimited_rows(sample, {'\0', Quotes::literal});  // no row contains this delimiter
  std::vector<std::string> line;
  while (objects < sample_rows) try {
      if (!lines->next(line)) break;
      std::vector<std::string> new_keys;
      const auto object = json_row(line[0], [&](const std::string& key) {
        if (known.count(key) == 0) new_keys.push_back(key);
      });
      if (!object.is_object()) continue;
      ++objects;
      for (std::string& key : new_keys)
        if (known.insert(key).second) keys.push_back(std::move(key));
      if (keys.size() > 2) rows.clear();
      else rows.push_back(first_two(object, keys));
    } catch (const BadRow&) {
    }
  if (objects == 0) throw Error(sample.where + ": row 1: expected a JSON object (--format sets the format)");
  RowFormat format;
  format.kind = DataFormat::jsonl;
  format.names = std::move(keys);
  format.columns = format.names.size();
  set_columns(format, sample.where, rows, options, labeled);
  return format;
}

// Keeps only the keys of the label and the text.
RowFormat without_other_keys(RowFormat format) {
  std::vector<std::string> keys{format.names[*format.label]};
  format.label = 0;
  for (std::vector<std::size_t>* columns : {&format.text, &format.second})
    for (std::size_t& column : *columns) {
      const auto found = std::find(keys.begin() + 1, keys.end(), format.names[column]) - keys.begin();
      if (found == std::ssize(keys)) keys.push_back(format.names[column]);
      column = static_cast<std::size_t>(found);
    }
  format.columns = keys.size();
  format.names = std::move(keys);
  return format;
}

// Returns the index of a column. CoNLL's columns have no names, so options give their numbers.
std::size_t conll_column(const std::string& where, const std::string& number) {
  const bool is_number = !number.empty() && number.size() < 4 && number != "0" &&
                         number.find_first_not_of("0123456789") == std::string::npos;
  if (!is_number)
    throw Error(where + ": expected the number of a column, from 1, got \"" + number +
                "\" (--columns; conll columns have no names)");
  return std::stoul(number) - 1;
}

RowFormat conll_format(const std::string& where, const LabeledOptions& options, bool labeled) {
  RowFormat format;
  format.kind = DataFormat::conll;
  if (!options.second.empty()) throw Error(where + ": rows in the format conll have no second text (--columns)");
  if (options.text.size() > 1)
    throw Error(where + ": rows in the format conll have only one column of words, but --columns names several");
  if (!options.text.empty()) format.conll.word = conll_column(where, options.text[0]);
  if (!options.label.empty()) format.conll.tag = conll_column(where, options.label);
  if (!labeled) format.label.reset();
  return format;
}

std::string_view first_line(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  return text.substr(0, text.find_first_of("\r\n"));
}

// Whether the rows are certainly a table. They are if the first row names the columns, or if every row has a known
// label. The second condition is used only for tabs and for rows that begin with a quotation mark, because a text with
// a comma may contain a known label by chance.
bool is_table(const Content& content, const Content& sample, char delimiter, const LabeledOptions& options) {
  const SomeRows some = some_rows(sample, dialect_of(content, delimiter, options));
  if (some.rows.empty() || some.rows[0].size() < 2) return false;
  if (options.header.value_or(true) && are_names(some.rows[0], options)) return true;
  return (delimiter == '\t' || first_line(sample.text)[0] == '"') && agreeing(some.rows) == some.count() &&
         label_column(some.rows, options.labels);
}

// Returns the format of rows to classify, or `automatic` if each line is a text.
DataFormat format_of_texts(const Content& content, const Content& sample, const std::string& ending,
                           const LabeledOptions& options) {
  const std::string_view line = first_line(sample.text);
  if (json_row(line, [](const std::string&) {}).is_object()) return DataFormat::jsonl;
  if (line.find(fasttext_prefix) != std::string_view::npos) return DataFormat::fasttext;
  if (ending == ".tsv" || ending == ".tab") return DataFormat::tsv;
  if (ending == ".csv") return format_of(best_delimiter(content, sample, options).value_or(','));
  for (const char delimiter : {'\t', ',', ';'})
    if (is_table(content, sample, delimiter, options)) return format_of(delimiter);
  return DataFormat::automatic;
}

// Throws an Error if options for tables are given, but the rows are not a table.
void check_is_table(const std::string& where, DataFormat format, const LabeledOptions& options) {
  if (is_delimited(format)) return;
  const std::string name = where + ": the format " + data_format_name(format);
  if (options.header) throw Error(name + " has no header (--header applies to csv, tsv and semicolon)");
  if (options.literal_quotes)
    throw Error(name + " has no fields in quotation marks (--literal-quotes applies to csv, tsv and semicolon)");
}

}  // namespace

RowFormat find_format(const Content& content, const LabeledOptions& options) {
  const Content sample = beginning_of(content);
  const DataFormat kind = options.format == DataFormat::automatic ? sniffed(content, sample, options) : options.format;
  check_is_table(content.where, kind, options);
  if (is_delimited(kind)) return delimited_format(content, sample, kind, options, true);
  if (kind == DataFormat::jsonl) return without_other_keys(jsonl_format(sample, options, true));
  if (kind == DataFormat::conll) return conll_format(content.where, options, true);
  if (!options.text.empty() || !options.second.empty() || !options.label.empty())
    throw Error(content.where + ": the format " + data_format_name(kind) +
                " has no columns to choose from (--columns applies to csv, tsv, semicolon and jsonl)");
  RowFormat format;
  format.kind = kind;
  return format;
}

std::optional<RowFormat> find_text_format(const Content& content, const std::string& ending,
                                          const LabeledOptions& options) {
  const Content sample = beginning_of(content);
  const DataFormat kind =
      options.format == DataFormat::automatic ? format_of_texts(content, sample, ending, options) : options.format;
  if (kind == DataFormat::automatic) return {};
  check_is_table(content.where, kind, options);
  if (is_delimited(kind)) return delimited_format(content, sample, kind, options, false);
  if (kind == DataFormat::jsonl) return jsonl_format(sample, options, false);
  if (kind == DataFormat::conll) return conll_format(content.where, options, false);
  RowFormat format;
  format.kind = kind;
  return format;
}

std::unique_ptr<RowReader> rows_of(const Content& content, const RowFormat& format) {
  if (format.kind == DataFormat::fasttext) return fasttext_rows(content);
  if (format.kind == DataFormat::conll) return conll_rows(content, format.conll, format.label.has_value());
  if (format.kind == DataFormat::jsonl)
    return jsonl_rows(content, format.names, format.label, format.text, format.second);
  return delimited_rows(content, format.dialect);
}

std::string describe(const RowFormat& format) {
  if (format.kind == DataFormat::fasttext) return "fastText's lines";
  if (format.kind == DataFormat::conll)
    return "CoNLL, word in column " + std::to_string(format.conll.word + 1) +
           (!format.label      ? ""
            : format.conll.tag ? ", tag in column " + std::to_string(*format.conll.tag + 1)
                               : ", tag in the last column");
  const auto column = [&](std::size_t i) {
    return format.names.empty() ? std::to_string(i + 1) : "\"" + format.names[i] + "\"";
  };
  const auto columns = [&](const std::vector<std::size_t>& of) {
    std::string all = of.size() > 1 ? "columns " : "column ";
    for (std::size_t i = 0; i < of.size(); ++i)
      all += (i == 0 ? "" : i + 1 == of.size() ? " and " : ", ") + column(of[i]);
    return all;
  };
  const std::string name = format.kind == DataFormat::jsonl       ? "JSON lines"
                           : format.kind == DataFormat::semicolon ? "semicolons"
                           : format.kind == DataFormat::csv       ? "CSV"
                                                                  : "TSV";
  const std::string header = !is_delimited(format.kind) ? "" : format.header ? " with a header" : " without a header";
  return name + header + (format.label ? ", label in column " + column(*format.label) : "") + ", text in " +
         columns(format.text) + (format.second.empty() ? "" : ", second text in " + columns(format.second));
}

std::vector<std::string> names_of(const RowFormat& format, const std::vector<std::size_t>& some) {
  std::vector<std::string> columns;
  for (const std::size_t i : some) {
    const bool by_name =
        !format.names.empty() && std::count(format.names.begin(), format.names.end(), format.names[i]) == 1;
    if (format.kind != DataFormat::fasttext && format.kind != DataFormat::conll)
      columns.push_back(by_name ? format.names[i] : std::to_string(i + 1));
  }
  return columns;
}

std::string text_of_row(const std::vector<std::string>& fields, const RowFormat& format) {
  const auto joined = [&](const std::vector<std::size_t>& columns) {
    std::string text;
    for (const std::size_t column : columns) {
      if (fields[column].empty()) continue;
      if (!text.empty()) text += ' ';
      text += fields[column];
    }
    return text;
  };
  if (!format.second.empty()) return text_pair(joined(format.text), joined(format.second));
  std::string text = joined(format.text);
  std::replace(text.begin(), text.end(), pair_separator, ' ');  // this row is not a pair
  return text;
}

void check_fields(RowReader& rows, const std::vector<std::string>& fields, const RowFormat& format) {
  if (fields.size() != format.columns)
    rows.fail(
        "expected " + std::to_string(format.columns) + " columns as in row 1, got " + std::to_string(fields.size()),
        "--format and --columns set how rows are read");
}

}  // namespace weft::detail
