#include "tokenizer_options.h"

#include <weft/error.h>
#include <weft/os.h>

#include <algorithm>
#include <filesystem>

#include "report.h"
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
  throw weft::Error("not a tokenizer of weft, and a model of SentencePiece can't be read by this weft: " +
                    std::string("install SentencePiece (Debian: libsentencepiece-dev) and build weft again"));
#endif
}

bool is_kind(const std::string& name) {
  const std::vector<std::string> kinds = weft::tokenizer_kinds();
  return std::find(kinds.begin(), kinds.end(), name) != kinds.end();
}

}  // namespace

void register_optional_tokenizers() {
#ifdef WEFT_SENTENCEPIECE
  weft::register_sentencepiece();
#endif
}

std::shared_ptr<const weft::Tokenizer> read_tokenizer(const std::string& path) try {
  return tokenizer_of(weft::os::read_file(path));
} catch (const weft::Error& error) {
  const std::string message = error.what();
  throw weft::Error(message.find(path) == std::string::npos ? "\"" + path + "\": " + message : message);
}

void TokenizerChoice::add_to(CLI::App& command, const std::string& group) {
  command
      .add_option("--tokenizer", tokenizer,
                  "How texts are cut: " + list(weft::tokenizer_kinds()) +
                      "; or a file of weft tokenizer (default: characters of a text, words of rows)")
      ->group(group);
  command.add_option("--vocabulary-size", size, "Most symbols (default: any number of characters, 20000 words)")
      ->group(group)
      ->check(CLI::PositiveNumber);
  command.add_option("--min-count", min_count, "Fewest times that a word must occur")
      ->group(group)
      ->capture_default_str();
}

std::shared_ptr<const weft::Tokenizer> TokenizerChoice::make(const weft::Texts& texts, weft::Task task,
                                                             const std::string& usual) const {
  const std::string& name = tokenizer.empty() ? usual : tokenizer;
  std::error_code ignored;
  const bool is_file = name.find('/') != std::string::npos || std::filesystem::exists(name, ignored);
  if (!is_kind(name) && is_file) return read_tokenizer(name);
  weft::TokenizerOptions options;
  options.task = task;
  options.size = size.value_or(weft::tokenizer_kind(name).usual_size);
  options.min_count = min_count;
  return weft::learn_tokenizer(name, texts, options);
}
