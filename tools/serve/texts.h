// The texts of a request.
#pragma once
#include <string>
#include <vector>

#include "serve/call.h"

namespace serve {

// Throws an HttpError if a text is too long or contains a zero byte.
void check_text(const std::string& text, const std::string& field, const Settings& settings);

// Throws an HttpError if a request has more texts than may wait for a model.
void check_count(std::size_t texts, const std::string& field, const Settings& settings);

// The texts of the fields "text" or "texts".
struct GivenTexts {
  std::vector<std::string> texts;  // each is a text, or a pair (weft::text_pair)
  bool is_single;                  // whether the field is "text"
};

// Reads the texts, and checks that they are what the model reads. A text is a string, or a list of two strings if the
// model reads pairs.
GivenTexts given_texts(Call& call, const ServedModel& model);
// Returns {"model": …, "result": …} for a single text, and {"model": …, "results": […]} for several.
Reply reply_with(const ServedModel& model, const GivenTexts& given, std::vector<Json> results);

// Returns the symbols of a field that contains a list of indices in the vocabulary.
std::vector<std::int64_t> given_symbols(const Json& value, const std::string& field, const weft::Tokenizer& tokenizer);

// Returns the number of symbols of the texts.
std::int64_t count_symbols(const ServedModel& model, const std::vector<std::string>& texts);

}  // namespace serve
