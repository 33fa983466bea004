#include "options/data_options.h"

#include <weft/error.h>
#include <weft/frame_rows.h>

#include <algorithm>

#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#include "console/visible.h"
#include "options/run_file.h"

namespace {

[[noreturn]] void refuse(const std::string& columns) {
  throw weft::Error(
      "expected one or more of text=NAME, second=NAME and label=NAME, where NAME is the name or the number of a column "
      "(the first column is 1), and text=NAME+NAME joins the texts of several columns; got \"" +
      columns + "\"");
}

// Returns at least one part. Parts may be empty.
std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) parts.emplace_back();
    else parts.back() += c;
  }
  return parts;
}

bool any_empty(const std::vector<std::string>& parts) {
  return std::any_of(parts.begin(), parts.end(), [](const std::string& part) { return part.empty(); });
}

void set_columns(const std::string& columns, weft::LabeledOptions& options) {
  for (const std::string& part : split(columns, ',')) {
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals), value = equals == std::string::npos ? "" : part.substr(equals + 1);
    const std::vector<std::string> texts = split(value, '+');
    if (any_empty(texts)) refuse(columns);
    if (key == "label" && options.label.empty()) options.label = value;
    else if (key == "text" && options.text.empty()) options.text = texts;
    else if (key == "second" && options.second.empty()) options.second = texts;
    else refuse(columns);
  }
}

std::string count(std::int64_t n, const char* what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

}  // namespace

void DataOptions::add_to(CLI::App& command, CLI::Option* data) {
  const std::string group = data->get_group();
  const auto read_header = [this](const std::string& typed) {
    if (typed != "yes" && typed != "no" && typed != "auto")
      throw weft::Error("expected yes, no or auto, got \"" + typed + "\"");
    header = typed;
  };
  const auto check_format = [](const std::string& name) { (void)weft::data_format_from_name(name); };
  const auto check_columns = [](const std::string& typed) {
    weft::LabeledOptions ignored;
    set_columns(typed, ignored);
  };
  add_text(command, "--format", "NAME", format, "Format of labeled texts: " + list(weft::data_formats()), check_format)
      ->group(group)
      ->needs(data);
  add_text(
      command, "--columns", "NAMES", columns,
      "Columns of a table, each given by its name or its number (the first column is 1): text=NAME+NAME,label=NAME, "
      "and second=NAME for pairs of texts",
      check_columns)
      ->group(group)
      ->needs(data);
  add_option(command, "--header", "yes|no|auto", read_header,
             help_text("Whether the first row names the columns", "", header))
      ->default_str(header)
      ->group(group)
      ->needs(data);
  command
      .add_flag("--literal-quotes", literal_quotes,
                "Treat quotation marks in CSV, TSV and semicolon-separated files as ordinary characters")
      ->group(group)
      ->needs(data);
  command.add_flag("--skip-bad-rows", skip_bad_rows, "Skip rows that can't be used, and print how many were skipped")
      ->group(group)
      ->needs(data);
}

const char* DataOptions::of_tables() const {
  return !columns.empty() ? "--columns" : header != "auto" ? "--header" : literal_quotes ? "--literal-quotes" : nullptr;
}

const char* DataOptions::given() const {
  if (const char* option = of_tables()) return option;
  return format != "auto" ? "--format" : skip_bad_rows ? "--skip-bad-rows" : nullptr;
}

weft::LabeledOptions DataOptions::labeled(const std::vector<std::string>& labels) const {
  weft::LabeledOptions options;
  options.format = weft::data_format_from_name(format);
  if (header != "auto") options.header = header == "yes";
  if (!columns.empty()) set_columns(columns, options);
  options.labels = labels;
  options.literal_quotes = literal_quotes;
  options.skip_bad_rows = skip_bad_rows;
  return options;
}

TextColumns columns_of_run(const std::string& run) {
  DataOptions given;  // used if the run doesn't record the columns that it found
  given.columns = run_text(run, "data", "columns");
  const weft::LabeledOptions options = given.labeled();
  const std::vector<std::string> found = run_texts(run, "found", "columns"),
                                 second = run_texts(run, "found", "second-columns");
  return {found.empty() ? options.text : found, second.empty() ? options.second : second};
}

void check_second_columns(const weft::LabeledOptions& options, const weft::Checkpoint& checkpoint,
                          const std::string& file) {
  if (checkpoint.info.pairs && options.second.empty())
    throw UsageError(file +
                     ": the model reads pairs of texts, so name the columns of both texts (--columns text=A,second=B)");
}

void set_text_columns(const TextColumns& columns, weft::LabeledOptions& options) {
  if (options.text.empty()) options.text = columns.text;
  if (options.second.empty()) options.second = columns.second;
}

weft::LabeledOptions DataOptions::labeled(weft::Task task, const std::vector<std::string>& labels) const {
  weft::LabeledOptions options = labeled(task == weft::Task::classifier ? labels : std::vector<std::string>());
  options.labels_are_texts = task == weft::Task::retrieval;
  return options;
}

bool is_empty(const std::string& text) { return text.find_first_not_of(" \t\r\n\x1f") == std::string::npos; }

std::string describe_count(std::int64_t rows, std::int64_t empty, std::int64_t skipped) {
  std::string text = count(rows, "row");
  if (empty > 0) text += "; " + std::to_string(empty) + " with an empty text";
  if (skipped > 0) text += "; " + count(skipped, "bad row") + " skipped";
  return text;
}

std::string describe(const std::string& path, const weft::LabeledTexts& texts) {
  constexpr std::size_t most = 6;
  std::vector<std::string> some(texts.names.begin(),
                                texts.names.begin() + static_cast<std::ptrdiff_t>(std::min(texts.names.size(), most)));
  for (std::string& name : some) name = visible(name);
  if (texts.names.size() > most) some.emplace_back("…");
  std::string text = path + ": " + visible(texts.format) + "; " + count(std::ssize(texts.texts), "row") + ", " +
                     count(std::ssize(texts.names), "label") + ": " + list(some);
  if (texts.several > 0)
    text += "; " + count(texts.several, "row") + " with several labels, of which only the first is used";
  const auto empty = std::count_if(texts.texts.begin(), texts.texts.end(), is_empty);
  if (empty > 0) text += "; " + count(empty, "row") + " with an empty text";
  if (texts.skipped > 0) text += "; " + count(texts.skipped, "bad row") + " skipped";
  if (texts.ignored > 0) text += "; " + count(texts.ignored, "other file") + " ignored";
  return text;
}

void check_content(weft::RowContent content, const weft::Checkpoint& checkpoint, const std::string& path) {
  const weft::RowContent expected = weft::row_content(*checkpoint.model);
  if (content != expected)
    throw weft::Error(std::string("the model reads ") + weft::row_content_name(expected) + ", but " + path + " has " +
                      weft::row_content_name(content));
}

void check_picture_size(const weft::PictureSize& size, std::int64_t height, std::int64_t width,
                        const std::string& path) {
  const auto sides = [](std::int64_t h, std::int64_t w) { return std::to_string(h) + " x " + std::to_string(w); };
  if (size.height != height || size.width != width)
    throw weft::Error("\"" + path + "\": expected pictures of " + sides(height, width) + " pixels, got " +
                      sides(size.height, size.width));
}

weft::RowTask row_task(const weft::Checkpoint& checkpoint) {
  const weft::Model& model = *checkpoint.model;
  weft::RowTask task{{model.task(), checkpoint.info.labels, model.output()}, model.input()};
  if (!task.input.defined()) task.tokenizer = checkpoint.tokenizer;
  return task;
}

weft::Padding padding_of(const weft::Checkpoint& checkpoint) {
  return checkpoint.info.pad_to > 0 ? weft::Padding::full : weft::Padding::exact;
}
