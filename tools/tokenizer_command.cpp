#include <weft/encoded_text.h>
#include <weft/error.h>
#include <weft/os.h>
#include <weft/task.h>

#include <cstdio>
#include <iostream>

#include "command.h"
#include "report.h"
#include "tokenizer_options.h"

namespace {

struct TokenizerCommand {
  std::string text, kind = "bpe", task, out;
  std::optional<std::int64_t> size;
  std::int64_t min_count = 2;
};

int train(const TokenizerCommand& o) {
  weft::TokenizerOptions options;
  if (!o.task.empty()) options.task = weft::task_from_name(o.task);
  options.size = o.size.value_or(weft::tokenizer_kind(o.kind).usual_size);
  options.min_count = o.min_count;
  const weft::Texts texts = weft::text_file(o.text);
  weft::os::AtomicFile file(o.out);  // before what takes long
  const auto tokenizer = weft::learn_tokenizer(o.kind, texts, options);
  const std::string json = tokenizer->to_json() + "\n";
  file.write(json.data(), json.size());
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

Command tokenizer_command(CLI::App& weft) {
  CLI::App* command = weft.add_subcommand("tokenizer", "Learn how to cut texts into symbols");
  command->require_subcommand(1);
  CLI::App* learn = command->add_subcommand("train", "Learn a tokenizer from a text, for weft train --tokenizer");
  const auto o = std::make_shared<TokenizerCommand>();
  learn->add_option("text", o->text, "UTF-8 text")->required();
  learn->add_option("--kind", o->kind, "One of " + list(weft::tokenizer_kinds()))->capture_default_str();
  learn->add_option("--size", o->size, "Most symbols (default: 8000 of bpe and unigram, 20000 words)")
      ->check(CLI::PositiveNumber);
  learn->add_option("--min-count", o->min_count, "Fewest times that a word must occur")->capture_default_str();
  learn->add_option("--task", o->task, "The one that it is for (default: any): " + list(weft::tasks()));
  learn->add_option("--out", o->out, "File for the tokenizer")->required();
  learn->footer("Example:\n  weft tokenizer train book.txt --kind bpe --size 8000 --out book.bpe");
  command->footer("Example:\n  weft tokenizer train book.txt --kind bpe --size 8000 --out book.bpe");
  return {command, [o] { return train(*o); }};
}
