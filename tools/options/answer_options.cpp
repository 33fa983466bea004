#include "options/answer_options.h"

#include "console/options.h"

void AnswerOptions::add_to(CLI::App& command, const std::string& texts, const std::string& answers,
                           const std::string& as_json) {
  checkpoint.add_to(command);
  add_text(command, "file", "FILE", file, texts + "; - means standard input");
  add_number(command, "--top", top, {0}, "Show at most this many " + answers + ", the most probable first; 0: all");
  add_number(command, "--threshold", threshold, {0, 1}, "Hide " + answers + " with a probability below this");
  command.add_flag("--json", json, as_json);
  checkpoint.add_pad_to(command);
  checkpoint.add_precision_to(command);
  checkpoint.add_copy_to(command);
  add_threads(command);
}
