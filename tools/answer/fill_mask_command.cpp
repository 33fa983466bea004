#include <weft/error.h>
#include <weft/fill_mask.h>

#include <iostream>

#include "answer/predictions.h"
#include "console/command.h"
#include "console/line_reader.h"
#include "options/answer_options.h"

namespace {

std::string as_text(const weft::FilledText& filled) {
  std::string text;
  for (const auto& gap : filled.gaps) text += as_fields(gap) + "\n";
  return text;
}

// Returns {"text": …, "gaps": [[{"symbol": …, "probability": …}, …], …]}, with a list for each gap.
std::string as_json_line(const weft::FilledText& filled) {
  nlohmann::ordered_json gaps = nlohmann::ordered_json::array();
  for (const auto& gap : filled.gaps) gaps.push_back(as_json(gap, "symbol"));
  return as_line({{"text", filled.text}, {"gaps", gaps}});
}

int fill_mask(const AnswerOptions& o) {
  const weft::Checkpoint checkpoint = o.checkpoint.load();
  if (const weft::Task task = checkpoint.model->task(); task != weft::Task::masked_lm)  // checked before any input
    throw weft::Error(std::string("expected a checkpoint with the task masked-lm (weft train --task masked-lm), got ") +
                      weft::task_name(task));
  std::int64_t number = 0;
  const auto fill = [&](const std::string& line, const std::string& name) {
    ++number;
    try {
      const weft::FilledText filled = weft::fill_mask(checkpoint, line, o.top, o.threshold);
      std::cout << (o.json ? as_json_line(filled) : as_text(filled)) << std::flush;
    } catch (const weft::Error& error) {
      throw weft::Error(name + ": line " + std::to_string(number) + ": " + error.what());
    }
    if (!std::cout) throw weft::Error("can't write to standard output");
  };
  for_each_lines(o.file, [&](const std::vector<std::string>& lines, const std::string& name) {
    for (const std::string& line : lines) fill(line, name);
  });
  return 0;
}

}  // namespace

Command fill_mask_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("fill-mask", "Fill in the masked symbols of a text");
  const auto o = std::make_shared<AnswerOptions>(5);
  o->add_to(*command, "Texts, one per line, with [mask] (in upper or lower case) in place of each missing symbol",
            "symbols per gap", "Print a JSON object for each text, with the filled-in text");
  command->footer(
      "Prints one line for each gap, in the order of the gaps. The line lists the most probable symbols,\n"
      "each as SYMBOL and PROBABILITY, with tabs between all fields.\n"
      "Examples:\n"
      "  weft fill-mask book texts.txt --top 3 --json\n"
      "  echo \"To be, or not to b[mask]\" | weft fill-mask book");
  return {command, [o] { return fill_mask(*o); }};
}
