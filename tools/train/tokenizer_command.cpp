#include <weft/error.h>
#include <weft/os.h>
#include <weft/task.h>

#include <cstdio>
#include <filesystem>
#include <iostream>

#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#include "options/text_input.h"
#include "options/tokenizer_options.h"

namespace {

struct TokenizerCommand {
  std::string text, kind = usual_learned_kind(), task, out;
  TokenizerChoice sizes;
};

int train(const TokenizerCommand& o) {
  if (o.text.empty()) throw UsageError("give the text to learn from");
  if (o.out.empty()) throw UsageError("give --out, the file that the tokenizer is written to");
  std::error_code ignored;  // reading or writing reports the error
  if (std::filesystem::equivalent(o.text, o.out, ignored))
    throw weft::Error("--out names the text \"" + o.text + "\", which the tokenizer would replace");
  std::optional<weft::Task> task;
  if (!o.task.empty()) task = weft::task_from_name(o.task);
  const weft::TokenizerOptions options = o.sizes.options(o.kind, task);
  const weft::Texts texts = TextInput(o.text).texts();
  weft::os::AtomicFile file(o.out);  // so that an error is reported before the long training
  const auto tokenizer = weft::learn_tokenizer(o.kind, texts, options);
  const std::string content = tokenizer->to_json() + "\n";
  file.write(content.data(), content.size());
  file.commit();
  double bytes = 0, tokens = 0;
  texts([&](std::string_view text) {
    bytes += static_cast<double>(text.size());
    tokens += static_cast<double>(tokenizer->encode(text).size());
  });
  char line[64];
  std::snprintf(line, sizeof line, "bytes/token %.3f\n", bytes / tokens);
  std::cout << "tokenizer " << o.out << "\nkind " << tokenizer->kind() << "\nsymbols " << tokenizer->size() << "\n"
            << line;
  return 0;
}

}  // namespace

Command tokenizer_command(CLI::App& weft, weft::Ranks*) {
  CLI::App* command = weft.add_subcommand("tokenizer", "Learn how to split texts into symbols");
  command->require_subcommand(1);
  CLI::App* learn = command->add_subcommand("train", "Learn a tokenizer from a text, for weft train --tokenizer");
  const auto o = std::make_shared<TokenizerCommand>();
  add_text(*learn, "text", "FILE", o->text, "UTF-8 text to learn the tokenizer from");
  add_text(*learn, "--kind", "NAME", o->kind, "Kind of tokenizer: " + list(learned_kinds()), check_learned_kind);
  o->sizes.add_sizes_to(*learn, "--size", "Options");
  add_text(*learn, "--task", "NAME", o->task, "Task that the tokenizer is for (default: any): " + list(weft::tasks()),
           [](const std::string& name) { (void)weft::task_from_name(name); });
  add_text(*learn, "--out", "FILE", o->out, "File that the tokenizer is written to");
  const std::string example =
      "Example:\n  weft tokenizer train book.txt --kind " + o->kind + " --size 8000 --out book." + o->kind;
  learn->footer(example);
  command->footer(example);
  return {command, [o] { return train(*o); }};
}
