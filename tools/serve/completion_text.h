// The text of one choice of a completion, as it grows.
#pragma once
#include <weft/generate.h>

#include <optional>
#include <string>
#include <vector>

#include "serve/completion_request.h"
#include "serve/http_error.h"
#include "serve/utf8_pieces.h"

namespace serve {

// Joins the pieces of several symbols, with their log probabilities.
class CompletionText {
 public:
  // The request and the tokenizer must outlive the object.
  CompletionText(std::size_t index, const CompletionRequest& request, const weft::Tokenizer& tokenizer)
      : index_(index), request_(request), tokenizer_(tokenizer) {}

  // The prompt has been read. `scored` describes its symbols except the first one. It is null unless the request asks
  // for it.
  void begin(const std::vector<weft::ScoredSymbol>* scored);
  void add(const weft::GeneratedSymbol& symbol);
  // Ends a text that has no symbols.
  void end() { finish_ = "length"; }

  // The id under which the text was saved.
  void set_state(const std::string& id) { state_ = id; }
  // The symbols of the prompt and of the answer.
  std::vector<std::int64_t> all_symbols() const;

  bool has_ended() const { return !finish_.is_null(); }
  // Whether take() would return an answer without new text.
  bool is_empty() const { return text_.empty() && tokens_.empty() && !has_ended(); }
  // Returns the text since the last call, in the form of a choice of OpenAI's API.
  Json take();
  std::int64_t symbols() const { return std::ssize(symbols_); }

 private:
  void add_token(std::int64_t id, const Json& log_probability,
                 const std::vector<weft::SymbolProbability>& most_probable);
  // Returns the bytes of a symbol that follows the latest one.
  std::string bytes_of(std::int64_t id) const;

  const std::size_t index_;
  const CompletionRequest& request_;
  const weft::Tokenizer& tokenizer_;
  Utf8Pieces pieces_;
  Utf8Pieces tokens_so_far_;  // counts the complete characters
  std::string text_;
  Json tokens_ = Json::array(), logprobs_ = Json::array(), top_ = Json::array(), offsets_ = Json::array();
  Json finish_;                          // null until the text has ended
  std::optional<std::int64_t> last_id_;  // the latest symbol of the text
  std::vector<std::int64_t> symbols_;    // of the answer, without the prompt
  std::string state_;
  std::size_t offset_ = 0;  // number of complete characters before the next symbol
};

}  // namespace serve
