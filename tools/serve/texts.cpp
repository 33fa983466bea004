#include "serve/texts.h"

namespace serve {
namespace {

// Returns the text of one item.
std::string text_of(const Json& item, const std::string& field, Call& call, const ServedModel& model) {
  const bool reads_pairs = model.checkpoint().info.pairs;
  if (!reads_pairs && item.is_string()) {
    check_text(item.get<std::string>(), field, call.settings);
    return item.get<std::string>();
  }
  if (reads_pairs && item.is_array() && item.size() == 2 && item[0].is_string() && item[1].is_string()) {
    for (const Json& text : item) check_text(text.get<std::string>(), field, call.settings);
    return weft::text_pair(item[0].get<std::string>(), item[1].get<std::string>());
  }
  throw wrong(field, std::string("expected ") +
                         (reads_pairs ? "a pair of texts, such as [\"first\", \"second\"]" : "a text") + ", got " +
                         shown(item));
}

}  // namespace

void check_text(const std::string& text, const std::string& field, const Settings& settings) {
  if (std::ssize(text) > settings.max_prompt)
    throw wrong(field, "expected a text of at most " + std::to_string(settings.max_prompt) + " bytes, got " +
                           std::to_string(text.size()));
  if (text.find('\0') != std::string::npos) throw wrong(field, "expected a text without zero bytes, got one with them");
}

void check_count(std::size_t texts, const std::string& field, const Settings& settings) {
  if (static_cast<std::int64_t>(texts) > settings.max_queue)
    throw wrong(field, "the number of texts is " + std::to_string(texts) + ", but at most " +
                           std::to_string(settings.max_queue) + " may wait for a model");
}

GivenTexts given_texts(Call& call, const ServedModel& model) {
  const Json text = call.body.value("text"), texts = call.body.value("texts");
  if (text.is_null() == texts.is_null())
    throw HttpError(400, "invalid_value", "expected either the field \"text\" or the field \"texts\"", "text");
  GivenTexts given{{}, texts.is_null()};
  if (given.is_single) {
    given.texts.push_back(text_of(text, "text", call, model));
    return given;
  }
  if (!texts.is_array() || texts.empty()) throw wrong("texts", "expected a list of texts, got " + shown(texts));
  check_count(texts.size(), "texts", call.settings);
  for (const Json& item : texts) given.texts.push_back(text_of(item, "texts", call, model));
  return given;
}

Reply reply_with(const ServedModel& model, const GivenTexts& given, std::vector<Json> results) {
  Json json = {{"model", model.name()}};
  if (given.is_single) json["result"] = std::move(results.front());
  else json["results"] = std::move(results);
  return {json};
}

std::vector<std::int64_t> given_symbols(const Json& value, const std::string& field, const weft::Tokenizer& tokenizer) {
  const std::string expected =
      "expected a list of integers from 0 to " + std::to_string(tokenizer.size() - 1) + ", got ";
  if (!value.is_array()) throw wrong(field, expected + shown(value));
  std::vector<std::int64_t> symbols;
  for (const Json& symbol : value) {
    const auto id = integer_of(symbol);
    if (!id || *id < 0 || *id >= tokenizer.size()) throw wrong(field, expected + shown(symbol));
    symbols.push_back(*id);
  }
  return symbols;
}

std::int64_t count_symbols(const ServedModel& model, const std::vector<std::string>& texts) {
  std::int64_t count = 0;
  for (const std::string& text : texts) count += std::ssize(model.checkpoint().tokenizer->encode(text));
  return count;
}

}  // namespace serve
