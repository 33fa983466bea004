#include <weft/classifier.h>
#include <weft/error.h>

#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>

#include "checkpoint_option.h"
#include "command.h"
#include "line_reader.h"
#include "options.h"

namespace {

struct ClassifyCommand {
  CheckpointOption checkpoint;
  std::string file = "-";
  std::int64_t top = 1;
  double threshold = 0;
  bool json = false;
};

// "LABEL TAB PROBABILITY" for each label, with tabs between them.
std::string as_fields(const std::vector<weft::Prediction>& predictions) {
  std::string line;
  for (const weft::Prediction& p : predictions) {
    char probability[32];
    std::snprintf(probability, sizeof probability, "\t%.4f", p.probability);
    line += (line.empty() ? "" : "\t") + p.label + probability;
  }
  return line;
}

// {"labels": [{"label": …, "probability": …}, …]}
std::string as_json(const std::vector<weft::Prediction>& predictions) {
  nlohmann::ordered_json labels = nlohmann::ordered_json::array();
  for (const weft::Prediction& p : predictions) labels.push_back({{"label", p.label}, {"probability", p.probability}});
  return nlohmann::ordered_json{{"labels", labels}}.dump();
}

class Answers {
 public:
  explicit Answers(const ClassifyCommand& o)
      : o_(o), classifier_(weft::load_checkpoint(o.checkpoint.path(), weft::Purpose::inference)) {}

  // A line of output for each line of `name`. Error, naming the line, after the answers of those before it.
  void give(const std::vector<std::string>& lines, const std::string& name) {
    std::vector<std::vector<double>> all;
    try {
      all = classifier_.probabilities(lines);
    } catch (const weft::Error&) {
      for (const std::string& line : lines) {
        try {
          all = {classifier_.probabilities(line)};
        } catch (const weft::Error& error) {
          throw weft::Error(name + ": line " + std::to_string(given_ + 1) + ": " + error.what());
        }
        print(all);
      }
      return;
    }
    print(all);
  }

 private:
  void print(const std::vector<std::vector<double>>& all) {
    std::string out;
    for (const std::vector<double>& probabilities : all) {
      const auto predictions = classifier_.best(probabilities, o_.top, o_.threshold);
      out += (o_.json ? as_json(predictions) : as_fields(predictions)) + "\n";
    }
    if (!(std::cout << out << std::flush)) throw weft::Error("can't write to standard output");
    given_ += std::ssize(all);
  }

  const ClassifyCommand& o_;
  weft::Classifier classifier_;
  std::int64_t given_ = 0;
};

// Takes a byte order mark off. Error for that of UTF-16.
void check_beginning(std::string& line, const std::string& name) {
  const std::string mark = line.substr(0, 2);
  if (mark == "\xFF\xFE" || mark == "\xFE\xFF")
    throw weft::Error(name + ": UTF-16; expected UTF-8 (iconv -f UTF-16 -t UTF-8 FILE > NEW converts it)");
  if (line.substr(0, 3) == "\xEF\xBB\xBF") line.erase(0, 3);
}

int classify(const ClassifyCommand& o) {
  Answers answers(o);
  LineReader reader(o.file);
  if (reader.is_terminal()) std::cerr << "a text in each line; Ctrl-D ends" << std::endl;
  bool first = true;
  for (std::vector<std::string> lines; !(lines = reader.next()).empty(); first = false) {
    if (first) check_beginning(lines[0], reader.name());
    answers.give(lines, reader.name());
  }
  return 0;
}

}  // namespace

Command classify_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("classify", "Say the label of each line of a text");
  const auto o = std::make_shared<ClassifyCommand>();
  o->checkpoint.add_to(*command);
  add_text(*command, "file", "FILE", o->file, "Texts, one in each line; - for standard input");
  add_number(*command, "--top", o->top, {0}, "Labels to show, the most probable first; 0: all");
  add_number(*command, "--threshold", o->threshold, {0, 1}, "Show no label that is less probable");
  command->add_flag("--json", o->json, "A JSON object for each line");
  add_threads(*command);
  command->footer(
      "Prints LABEL, tab, PROBABILITY for each line, in their order, as soon as it is there.\n"
      "Examples:\n"
      "  weft classify news texts.txt --top 3 --json\n"
      "  echo \"Oil prices soar\" | weft classify news");
  return {command, [o] { return classify(*o); }};
}
