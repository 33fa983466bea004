#include <weft/classifier.h>
#include <weft/error.h>
#include <weft/labeled_texts.h>
#include <weft/os.h>
#include <weft/run_folder.h>

#include <algorithm>
#include <filesystem>
#include <iostream>

#include "answer/predictions.h"
#include "answer/text_rows.h"
#include "console/command.h"
#include "console/line_reader.h"
#include "console/visible.h"
#include "options/answer_options.h"
#include "options/data_options.h"
#include "options/run_file.h"
#include "train/long_rows.h"

namespace {

using Fields = std::vector<std::string>;

struct ClassifyCommand : AnswerOptions {
  DataOptions data_options;
  bool csv = false;

  ClassifyCommand() : AnswerOptions(1) {}
};

// Returns `name`, prefixed with "predicted_" as often as needed to differ from the names of all columns.
std::string free_name(const Fields& names, std::string name) {
  while (std::find(names.begin(), names.end(), name) != names.end()) name = "predicted_" + name;
  return name;
}

class Answers {
 public:
  explicit Answers(const ClassifyCommand& o)
      : o_(o), classifier_(o.checkpoint.load()), long_rows_(classifier_.checkpoint()) {
    shown_ = std::ssize(classifier_.labels());
    if (o.top > 0) shown_ = std::min(shown_, o.top);
  }

  const Fields& labels() const noexcept { return classifier_.labels(); }
  const weft::Checkpoint& checkpoint() const { return classifier_.checkpoint(); }

  // For --csv, prints the header row if the columns have names.
  void begin(const Fields& names) const {
    if (!o_.csv || names.empty()) return;
    Fields all = names;
    for (std::int64_t i = 1; i <= shown_; ++i)
      for (const char* added : {"label", "probability"})
        all.push_back(free_name(names, i == 1 ? added : added + ("_" + std::to_string(i))));
    write(as_csv(all));
  }

  // Prints the predictions for each text. With --csv, a row has the text's fields and then its predictions. An error
  // message names the file (`name`), the unit (`what`: "line" or "text") and the number of the text. The error is
  // thrown after the predictions for the earlier texts are printed. If are_pairs is true, each text contains both texts
  // of a pair (see pair_of_line()).
  void give(const Fields& texts, const std::vector<Fields>& fields, const std::string& name, const char* what,
            bool are_pairs = false) {
    const auto row_of = [&](const std::string& text) { return are_pairs ? pair_of_line(text) : text; };
    std::vector<std::vector<double>> all;
    name_ = name;
    try {
      Fields rows;
      for (const std::string& text : texts) rows.push_back(row_of(text));
      all = classifier_.probabilities(rows);
      long_rows_.add_read(rows, classifier_.truncated());
    } catch (const weft::Error&) {
      for (std::size_t i = 0; i < texts.size(); ++i) {
        try {
          all = {classifier_.probabilities(row_of(texts[i]))};
        } catch (const weft::Error& error) {
          throw weft::Error(name + ": " + what + " " + std::to_string(given_ + 1) + ": " + error.what());
        }
        print(all, fields, i);
      }
      return;
    }
    print(all, fields, 0);
  }

  // Prints the number of truncated texts, if there are any.
  void end() const {
    if (const std::string note = long_rows_.note(name_); !note.empty()) std::cerr << note << std::endl;
  }

 private:
  static void write(const std::string& out) {
    if (!(std::cout << out << std::flush)) throw weft::Error("can't write to standard output");
  }

  std::string as_row(Fields fields, const std::vector<weft::Prediction>& predictions) const {
    for (std::int64_t i = 0; i < shown_; ++i) {
      const bool is_there = i < std::ssize(predictions);
      const auto& p = is_there ? predictions[static_cast<std::size_t>(i)] : weft::Prediction{};
      fields.push_back(p.label);
      fields.push_back(is_there ? as_text(p) : "");
    }
    return as_csv(fields);
  }

  // fields[next] has the fields of the first text.
  void print(const std::vector<std::vector<double>>& all, const std::vector<Fields>& fields, std::size_t next) {
    std::string out;
    for (const std::vector<double>& probabilities : all) {
      const auto predictions = classifier_.best(probabilities, o_.top, o_.threshold);
      if (o_.csv) out += as_row(fields[next++], predictions);
      else out += o_.json ? as_line({{"labels", as_json(predictions, "label")}}) : as_fields(predictions) + "\n";
    }
    write(out);
    given_ += std::ssize(all);
  }

  const ClassifyCommand& o_;
  weft::Classifier classifier_;
  LongRows long_rows_;
  std::string name_;                    // of the file
  std::int64_t given_ = 0, shown_ = 0;  // number of texts already answered, and of labels in a CSV row
};

void classify_lines(const ClassifyCommand& o, Answers& answers, bool are_pairs) {
  answers.begin({"text"});
  for_each_lines(o.file, [&](const Fields& lines, const std::string& name) {
    std::vector<Fields> fields;
    for (std::size_t i = 0; o.csv && i < lines.size(); ++i) fields.push_back({lines[i]});
    answers.give(lines, fields, name, "line", are_pairs);
  });
}

void classify_rows(const ClassifyCommand& o, weft::TextRows& rows, Answers& answers) {
  constexpr std::size_t enough = 1 << 20;  // approximate number of bytes of text that are classified together
  std::cerr << o.file << ": " << visible(rows.format()) << std::endl;
  answers.begin(rows.names());
  std::int64_t count = 0, empty = 0;
  Fields texts, row;
  std::vector<Fields> fields;
  std::string text;
  std::size_t bytes = 0;
  const auto give = [&] {
    answers.give(texts, fields, o.file, "text");
    texts.clear();
    fields.clear();
    bytes = 0;
  };
  const auto next = [&] {
    try {
      return rows.next(text, o.csv ? &row : nullptr);
    } catch (const weft::Error&) {
      give();  // classifies the texts before the bad row
      throw;
    }
  };
  while (next()) {
    ++count;
    empty += is_empty(text);
    bytes += text.size() + sizeof text;
    texts.push_back(text);
    if (o.csv) fields.push_back(row);
    if (bytes > enough) give();
  }
  give();
  if (empty == 0 && rows.skipped() == 0) return;
  std::cerr << o.file << ": " << describe_count(count, empty, rows.skipped()) << std::endl;
}

int classify(const ClassifyCommand& o) {
  Answers answers(o);
  weft::LabeledOptions options = o.data_options.labeled(answers.labels());
  const std::string run = run_of(o.checkpoint.path());
  const TextColumns columns = columns_of_run(run);
  set_text_columns(columns, options);
  options.literal_quotes_where_possible = run_flag(run, "data", "literal-quotes");
  const auto rows = open_texts(o.file, o.data_options, options, answers.checkpoint());
  if (rows) classify_rows(o, *rows, answers);
  else classify_lines(o, answers, answers.checkpoint().info.pairs || !columns.second.empty());
  answers.end();
  return 0;
}

}  // namespace

Command classify_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("classify", "Classify texts, pictures, sounds or arrays of numbers");
  const auto o = std::make_shared<ClassifyCommand>();
  o->add_to(*command, "Texts (one per line), or a table, pictures, sounds or an array, as for weft train --data",
            "labels", "Print a JSON object for each text");
  command->add_flag("--csv", o->csv, "Print the rows as CSV, with additional columns for labels and probabilities")
      ->excludes(command->get_option("--json"));
  o->data_options.add_to(*command, command->get_option("file"));
  command->footer(
      "For each text, prints LABEL, a tab and PROBABILITY. The results are in the order of the texts and\n"
      "are printed as soon as they are known.\n"
      "A file is read as a table if its name (.csv, .tsv) or its content shows that it is a table. By\n"
      "default, the text columns and --literal-quotes are as in training. In any other text file, each line\n"
      "is one text. Standard input is read as lines, unless --format is given.\n"
      "Examples:\n"
      "  weft classify news texts.txt --top 3 --json\n"
      "  weft classify news data.csv --csv > answers.csv\n"
      "  echo \"Oil prices soar\" | weft classify news");
  return {command, [o] { return classify(*o); }};
}
