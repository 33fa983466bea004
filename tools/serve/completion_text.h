// The text of one choice of a completion, as it grows.
#pragma once
#include <weft/generate.h>

#include <string>

#include "serve/http_error.h"
#include "serve/utf8_pieces.h"

namespace serve {

// Joins the pieces of several symbols, with their log probabilities.
class CompletionText {
 public:
  CompletionText(std::size_t index, const weft::Tokenizer& tokenizer, bool has_logprobs)
      : index_(index), tokenizer_(tokenizer), has_logprobs_(has_logprobs) {}

  // Begins the answer with the prompt.
  void echo(const std::string& prompt);
  void add(const weft::GeneratedSymbol& symbol);
  // Ends a text that has no symbols.
  void end() { finish_ = "length"; }

  bool has_ended() const { return !finish_.is_null(); }
  // Whether take() would return an answer without new text.
  bool is_empty() const { return text_.empty() && tokens_.empty() && !has_ended(); }
  // Returns the text since the last call, in the form of a choice of OpenAI's API.
  Json take();
  std::int64_t symbols() const { return symbols_; }

 private:
  void add_logprob(const weft::GeneratedSymbol& symbol);

  const std::size_t index_;
  const weft::Tokenizer& tokenizer_;
  const bool has_logprobs_;
  Utf8Pieces pieces_;
  std::string text_;
  Json tokens_ = Json::array(), logprobs_ = Json::array(), offsets_ = Json::array();
  Json finish_;  // null until the text has ended
  std::int64_t last_id_ = 0, symbols_ = 0;
  std::size_t offset_ = 0;  // number of characters before the next symbol
};

}  // namespace serve
