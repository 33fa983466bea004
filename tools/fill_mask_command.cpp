#include <weft/error.h>
#include <weft/fill_mask.h>

#include <iostream>

#include "checkpoint_option.h"
#include "command.h"
#include "line_reader.h"
#include "options.h"
#include "predictions.h"

namespace {

struct FillMaskCommand {
  CheckpointOption checkpoint;
  std::string file = "-";
  std::int64_t top = 5;
  double threshold = 0;
  bool json = false;
};

std::string as_text(const weft::FilledText& filled) {
  std::string text;
  for (const auto& gap : filled.gaps) text += as_fields(gap) + "\n";
  return text;
}

// {"text": …, "gaps": [[{"symbol": …, "probability": …}, …], …]}
std::string as_json_line(const weft::FilledText& filled) {
  nlohmann::ordered_json gaps = nlohmann::ordered_json::array();
  for (const auto& gap : filled.gaps) gaps.push_back(as_json(gap, "symbol"));
  return as_line({{"text", filled.text}, {"gaps", gaps}});
}

int fill_mask(const FillMaskCommand& o) {
  const weft::Checkpoint checkpoint = weft::load_checkpoint(o.checkpoint.path(), weft::Purpose::inference);
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

Command fill_mask_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("fill-mask", "Say what stands in the gaps of a text");
  const auto o = std::make_shared<FillMaskCommand>();
  o->checkpoint.add_to(*command);
  add_text(*command, "file", "FILE", o->file, "Texts with [mask] for each symbol to fill in; - for standard input");
  add_number(*command, "--top", o->top, {0}, "Symbols to show for a gap, the most probable first; 0: all");
  add_number(*command, "--threshold", o->threshold, {0, 1}, "Show no symbol that is less probable");
  command->add_flag("--json", o->json, "A JSON object for each text, with the text as it is filled in");
  add_threads(*command);
  command->footer(
      "Prints SYMBOL, tab, PROBABILITY for each symbol, a line for each gap, in their order.\n"
      "Examples:\n"
      "  weft fill-mask book texts.txt --top 3 --json\n"
      "  echo \"To be, or not to b[mask]\" | weft fill-mask book");
  return {command, [o] { return fill_mask(*o); }};
}
