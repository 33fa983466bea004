#include "options/tokenizer_options.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <filesystem>
#include <tuple>

#include "console/command.h"
#include "console/options.h"
#include "console/report.h"
#ifdef WEFT_SENTENCEPIECE
#include <weft/sentencepiece.h>
#endif

namespace {

std::shared_ptr<const weft::Tokenizer> tokenizer_of(const std::string& content) {
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && content[first] == '{') return weft::tokenizer_from_json(content);
#ifdef WEFT_SENTENCEPIECE
  return weft::sentencepiece_tokenizer(content);
#else
  throw weft::Error(
      "expected a tokenizer file of weft; to read SentencePiece models, install SentencePiece (Debian: apt-get install "
      "libsentencepiece-dev) and build weft again");
#endif
}

// Returns (2, 4) for "2-4", and (1, 0) for "none".
std::pair<std::int64_t, std::int64_t> lengths_of(const std::string& typed) {
  if (typed == "none") return {1, 0};
  const std::size_t dash = typed.find('-');
  const Range<std::int64_t> range{.lowest = 1, .highest = 32};
  if (dash == std::string::npos) throw weft::Error("expected two lengths like 2-4, or none, got \"" + typed + "\"");
  const std::int64_t shortest = number_in(range, typed.substr(0, dash)),
                     longest = number_in(range, typed.substr(dash + 1));
  if (shortest > longest) throw weft::Error("expected the shorter length first, as in 2-4, got \"" + typed + "\"");
  return {shortest, longest};
}

// Throws an Error unless the text names a kind that can be learned, or may be the name of a file.
void check_choice(const std::string& tokenizer) {
  if (names_tokenizer_file(tokenizer)) return;
  try {
    check_learned_kind(tokenizer);
  } catch (const weft::Error& error) {
    throw weft::Error(std::string(error.what()) + "; there is no file with this name, either");
  }
}

}  // namespace

std::vector<std::string> learned_kinds() {
  std::vector<std::string> kinds;
  for (const std::string& kind : weft::tokenizer_kinds())
    if (weft::tokenizer_kind(kind).is_learned) kinds.push_back(kind);
  return kinds;
}

std::string usual_learned_kind() {
  const std::vector<std::string> kinds = learned_kinds();
  return std::find(kinds.begin(), kinds.end(), "bpe") != kinds.end() ? "bpe" : "words";
}

void check_learned_kind(const std::string& kind) {
  if (!weft::tokenizer_kind(kind).is_learned)
    throw weft::Error(kind +
                      " can only be read from an existing file; these kinds can be learned: " + list(learned_kinds()));
}

bool names_tokenizer_file(const std::string& tokenizer) {
  const std::vector<std::string> kinds = weft::tokenizer_kinds();
  if (std::find(kinds.begin(), kinds.end(), tokenizer) != kinds.end()) return false;
  std::error_code ignored;
  return tokenizer.find('/') != std::string::npos || std::filesystem::exists(tokenizer, ignored);
}

void register_optional_tokenizers() {
#ifdef WEFT_SENTENCEPIECE
  weft::register_sentencepiece();
#endif
}

std::shared_ptr<const weft::Tokenizer> read_tokenizer(const std::string& path) try {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw weft::Error(
        "expected a tokenizer file that `weft tokenizer train` or SentencePiece wrote, got a folder (`weft train "
        "--from RUN` starts with the tokenizer and the parameters of a run)");
  return tokenizer_of(weft::os::read_file(path));
} catch (const weft::Error& error) {
  const std::string message = error.what();
  throw weft::Error(message.find(path) == std::string::npos ? "\"" + path + "\": " + message : message);
}

CLI::Option* TokenizerChoice::add_to(CLI::App& command, const std::string& group) {
  add_sizes_to(command, "--vocabulary-size", group);
  return add_text(command, "--tokenizer", "KIND|FILE", tokenizer,
                  "Tokenizer: " + list(learned_kinds()) +
                      "; or a tokenizer file of weft or SentencePiece (default: characters for --text, words for "
                      "--data, whitespace for the task tagging)",
                  check_choice)
      ->group(group);
}

void TokenizerChoice::add_sizes_to(CLI::App& command, const std::string& size_name, const std::string& group) {
  std::vector<std::string> usual;
  for (const std::string& kind : weft::tokenizer_kinds())
    if (const std::int64_t limit = weft::tokenizer_kind(kind).usual_size; limit > 0)
      usual.push_back(kind + " " + std::to_string(limit));
  add_number(command, size_name, size, {1}, "Maximum number of symbols in the vocabulary", list(usual))->group(group);
  add_number(command, "--min-count", min_count, {1},
             "Word tokenizers: number of times that a word must occur in the training texts to be in the vocabulary",
             "2")
      ->group(group);
  add_text(command, "--ngrams", "A-B|none", characters,
           "For the tokenizer ngrams: minimum and maximum length of a word's character n-grams; none: only whole words "
           "(default: 2-4)",
           [](const std::string& typed) { (void)lengths_of(typed); })
      ->group(group);
  add_number(command, "--word-ngrams", max_words, {1, 8},
             "For the tokenizer ngrams: maximum number of words in a word n-gram", "1")
      ->group(group);
}

weft::TokenizerOptions TokenizerChoice::options(const std::string& name, std::optional<weft::Task> task) const {
  const weft::TokenizerKind& kind = weft::tokenizer_kind(name);
  if (size && !kind.has_size) throw UsageError("the vocabulary size of the tokenizer " + name + " can't be chosen");
  if (min_count && !kind.has_min_count) throw UsageError("--min-count applies only to word tokenizers, not to " + name);
  if (name != "ngrams" && (!characters.empty() || max_words))
    throw UsageError("--ngrams and --word-ngrams apply only to the tokenizer ngrams, not to " + name);
  weft::TokenizerOptions options;
  if (!characters.empty()) std::tie(options.min_characters, options.max_characters) = lengths_of(characters);
  options.max_words = max_words.value_or(options.max_words);
  options.task = task;
  options.size = size.value_or(kind.usual_size);
  if (kind.has_min_count) options.min_count = min_count.value_or(2);
  return options;
}

std::shared_ptr<const weft::Tokenizer> TokenizerChoice::make(const weft::Texts& texts, weft::Task task,
                                                             const std::string& usual) const {
  const std::string& name = tokenizer.empty() ? usual : tokenizer;
  if (!names_tokenizer_file(name)) return weft::learn_tokenizer(name, texts, options(name, task));
  if (size || min_count || !characters.empty() || max_words)
    throw UsageError("--vocabulary-size, --min-count, --ngrams and --word-ngrams can't be used with a tokenizer file");
  return read_tokenizer(name);
}
