#include "serve/completion_text.h"

#include <utility>

#include "console/visible.h"

namespace serve {

void CompletionText::echo(const std::string& prompt) {
  text_ += prompt;
  offset_ += code_points(prompt);
}

void CompletionText::add(const weft::GeneratedSymbol& symbol) {
  text_ += pieces_.add(symbol.text);
  if (has_logprobs_) add_logprob(symbol);
  last_id_ = symbol.id;
  ++symbols_;
  if (!symbol.is_last) return;
  text_ += pieces_.finish();
  finish_ = symbol.is_stopped ? "stop" : "length";
}

void CompletionText::add_logprob(const weft::GeneratedSymbol& symbol) {
  std::string token = tokenizer_.decode(symbol.id);
  if (symbols_ > 0) token = tokenizer_.separator(last_id_, symbol.id) + token;
  token = valid_utf8(token);
  tokens_.push_back(token);
  logprobs_.push_back(symbol.log_probability);
  offsets_.push_back(offset_);
  offset_ += code_points(token);
}

Json CompletionText::take() {
  Json choice = {
      {"text", std::exchange(text_, {})}, {"index", index_}, {"logprobs", nullptr}, {"finish_reason", finish_}};
  if (has_logprobs_)
    choice["logprobs"] = {{"tokens", std::exchange(tokens_, Json::array())},
                          {"token_logprobs", std::exchange(logprobs_, Json::array())},
                          {"top_logprobs", nullptr},
                          {"text_offset", std::exchange(offsets_, Json::array())}};
  return choice;
}

}  // namespace serve
