#include <weft/classifier.h>
#include <weft/error.h>

#include <iostream>

#include "answer_options.h"
#include "command.h"
#include "line_reader.h"
#include "predictions.h"

namespace {

class Answers {
 public:
  explicit Answers(const AnswerOptions& o) : o_(o), classifier_(o.checkpoint.load()) {}

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
      out += o_.json ? as_line({{"labels", as_json(predictions, "label")}}) : as_fields(predictions) + "\n";
    }
    if (!(std::cout << out << std::flush)) throw weft::Error("can't write to standard output");
    given_ += std::ssize(all);
  }

  const AnswerOptions& o_;
  weft::Classifier classifier_;
  std::int64_t given_ = 0;
};

int classify(const AnswerOptions& o) {
  Answers answers(o);
  for_each_lines(o.file,
                 [&](const std::vector<std::string>& lines, const std::string& name) { answers.give(lines, name); });
  return 0;
}

}  // namespace

Command classify_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("classify", "Say the label of each line of a text");
  const auto o = std::make_shared<AnswerOptions>(1);
  o->add_to(*command, "Texts, one in each line", "labels", "A JSON object for each line");
  command->footer(
      "Prints LABEL, tab, PROBABILITY for each line, in their order, as soon as it is there.\n"
      "Examples:\n"
      "  weft classify news texts.txt --top 3 --json\n"
      "  echo \"Oil prices soar\" | weft classify news");
  return {command, [o] { return classify(*o); }};
}
