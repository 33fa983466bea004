#include "serve/completion_text.h"

#include <utility>

#include "console/visible.h"

namespace serve {
namespace {

// Returns the name of a symbol in an answer. Like OpenAI's API, it shows the bytes of a part of a character.
std::string name_of(const std::string& bytes) {
  if (valid_utf8(bytes) == bytes) return bytes;
  constexpr char digits[] = "0123456789abcdef";
  std::string name = "bytes:";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    name += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
  }
  return name;
}

}  // namespace

void CompletionText::begin(const std::vector<weft::ScoredSymbol>* scored) {
  const GivenPrompt& prompt = request_.prompt_of(index_);
  if (prompt.hidden > 0) last_id_ = prompt.symbols[prompt.hidden - 1];
  if (request_.echo) text_ += prompt.text;
  for (std::size_t i = prompt.hidden; scored != nullptr && i < prompt.symbols.size(); ++i)
    if (i == 0) add_token(prompt.symbols[i], nullptr, {});
    else add_token(prompt.symbols[i], scored->at(i - 1).symbol.log_probability, scored->at(i - 1).most_probable);
  offset_ = request_.echo ? code_points(prompt.text) : 0;
  last_id_ = prompt.symbols.back();
}

void CompletionText::add(const weft::GeneratedSymbol& symbol) {
  text_ += pieces_.add(symbol.text);
  if (request_.has_logprobs) add_token(symbol.id, symbol.log_probability, symbol.most_probable);
  last_id_ = symbol.id;
  symbols_.push_back(symbol.id);
  if (!symbol.is_last) return;
  text_ += pieces_.finish();
  finish_ = symbol.is_stopped ? "stop" : "length";
}

std::vector<std::int64_t> CompletionText::all_symbols() const {
  std::vector<std::int64_t> all = request_.prompt_of(index_).symbols;
  all.insert(all.end(), symbols_.begin(), symbols_.end());
  return all;
}

std::string CompletionText::bytes_of(std::int64_t id) const {
  return (last_id_ ? tokenizer_.separator(*last_id_, id) : "") + tokenizer_.decode(id);
}

void CompletionText::add_token(std::int64_t id, const Json& log_probability,
                               const std::vector<weft::SymbolProbability>& most_probable) {
  Json top = Json::object();
  for (const weft::SymbolProbability& p : most_probable) top.emplace(name_of(bytes_of(p.id)), p.log_probability);
  tokens_.push_back(name_of(bytes_of(id)));
  logprobs_.push_back(log_probability);
  top_.push_back(most_probable.empty() ? Json() : top);
  offsets_.push_back(offset_);
  offset_ += code_points(tokens_so_far_.add(bytes_of(id)));
  last_id_ = id;
}

Json CompletionText::take() {
  Json choice = {
      {"text", std::exchange(text_, {})}, {"index", index_}, {"logprobs", nullptr}, {"finish_reason", finish_}};
  if (request_.has_logprobs)
    choice["logprobs"] = {
        {"tokens", std::exchange(tokens_, Json::array())},
        {"token_logprobs", std::exchange(logprobs_, Json::array())},
        {"top_logprobs", request_.options.alternatives > 0 ? std::exchange(top_, Json::array()) : Json()},
        {"text_offset", std::exchange(offsets_, Json::array())}};
  if (!state_.empty()) choice["state"] = std::exchange(state_, {});
  return choice;
}

}  // namespace serve
