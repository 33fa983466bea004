// POST /v1/embeddings.
#include <cstring>

#include "serve/texts.h"

namespace serve {
namespace {

// Returns the numbers as base64 of their bytes, the lowest first, as OpenAI's Python client expects.
std::string base64(const std::vector<float>& numbers) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::vector<std::uint32_t> bytes;
  for (const float number : numbers) {
    std::uint32_t bits;
    std::memcpy(&bits, &number, sizeof bits);
    for (int shift = 0; shift < 32; shift += 8) bytes.push_back(bits >> shift & 0xFF);
  }
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t k) { return k < bytes.size() ? bytes[k] : 0; };
    const std::uint32_t group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    for (int k = 0; k < 4; ++k)
      text += i + static_cast<std::size_t>(k) <= bytes.size() ? digits[group >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

// An input is a text, or the symbols of a text.
std::string input_of(const Json& given, const Settings& settings, const weft::Tokenizer& tokenizer) {
  if (!given.is_string() && !given.is_array())
    throw wrong("input", "expected texts or lists of integers, got " + shown(given));
  if (given.is_array() && given.empty()) throw wrong("input", "expected at least one symbol, got an empty list");
  const std::string text =
      given.is_string() ? given.get<std::string>() : tokenizer.decode(given_symbols(given, "input", tokenizer));
  check_text(text, "input", settings);
  return text;
}

// A request has one input or a list of inputs.
std::vector<std::string> inputs_of(const Json& given, const Settings& settings, const weft::Tokenizer& tokenizer) {
  if (given.is_null() || (given.is_array() && given.empty()))
    throw wrong("input", "expected a text or a list of texts, got nothing");
  if (!given.is_array() || given.front().is_number()) return {input_of(given, settings, tokenizer)};
  check_count(given.size(), "input", settings);
  std::vector<std::string> texts;
  for (const Json& input : given) texts.push_back(input_of(input, settings, tokenizer));
  return texts;
}

}  // namespace

Reply embeddings(Call& call) {
  const auto model = model_of(call);
  auto& embedder = model->embedder();
  const std::vector<std::string> texts =
      inputs_of(call.body.value("input"), call.settings, *model->checkpoint().tokenizer);
  const std::string format = call.body.text("encoding_format").value_or("float");
  const std::int64_t dimensions = call.body.integer("dimensions", 0, {1});
  call.body.text("user");
  call.body.check_all_read();
  if (format != "float" && format != "base64")
    throw wrong("encoding_format", "expected float or base64, got \"" + format + "\"");
  const std::int64_t symbols = count_symbols(*model, texts);
  const std::vector<std::vector<float>> vectors = embedder(texts, call.until, call.check);
  if (const auto found = std::ssize(vectors.front()); dimensions > 0 && dimensions != found)
    throw wrong("dimensions",
                "the model's vectors have " + std::to_string(found) + " dimensions, got " + std::to_string(dimensions));
  call.metrics.add(model->name(), Metrics::prompt_tokens, symbols);
  Json data = Json::array();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const Json vector = format == "float" ? Json(vectors[i]) : Json(base64(vectors[i]));
    data.push_back({{"object", "embedding"}, {"index", i}, {"embedding", vector}});
  }
  return {{{"object", "list"},
           {"data", data},
           {"model", model->name()},
           {"usage", {{"prompt_tokens", symbols}, {"total_tokens", symbols}}}}};
}

}  // namespace serve
