#include "serve/completion_request.h"

#include <random>

#include "serve/texts.h"

namespace serve {
namespace {

std::uint64_t random_seed() {
  std::random_device random;
  return random();
}

// Fields of OpenAI's API that weft accepts only with the value that has no effect.
void check_unsupported(Body& body) {
  const std::pair<const char*, Json> fields[] = {{"best_of", 1},
                                                 {"frequency_penalty", 0},
                                                 {"presence_penalty", 0},
                                                 {"logit_bias", Json::object()},
                                                 {"suffix", ""}};
  for (const auto& [field, without_effect] : fields)
    if (const Json value = body.value(field); !value.is_null() && value != without_effect)
      throw HttpError(400, "unsupported_field", std::string(field) + ": weft does not support this field", field);
  body.text("user");
}

bool includes_usage(Body& body) {
  const Json options = body.value("stream_options");
  if (options.is_null()) return false;
  if (!options.is_object()) throw wrong("stream_options", "expected an object, got " + shown(options));
  const Json include = options.value("include_usage", Json(false));
  if (!include.is_boolean())
    throw wrong("stream_options", "include_usage: expected true or false, got " + shown(include));
  return include.get<bool>();
}

std::vector<std::string> stop_texts(Body& body) {
  std::vector<std::string> stop = body.texts("stop");
  constexpr std::size_t longest = 256;  // bytes
  for (const std::string& text : stop)
    if (text.empty() || text.size() > longest)
      throw wrong("stop", "expected texts of 1 to " + std::to_string(longest) + " bytes, got one of " +
                              std::to_string(text.size()));
  if (stop.size() > 16) throw wrong("stop", "expected at most 16 texts, got " + std::to_string(stop.size()));
  return stop;
}

}  // namespace

std::vector<Prompt> CompletionRequest::texts() const {
  std::vector<Prompt> texts;
  for (const std::string& prompt : prompts)
    for (std::int64_t k = 0; k < n; ++k) {
      texts.push_back({prompt, options});
      texts.back().options.seed += static_cast<std::uint64_t>(k);
    }
  return texts;
}

CompletionRequest completion_request(Call& call) {
  Body& body = call.body;
  CompletionRequest r;
  r.prompts = body.value("prompt").is_null() ? std::vector<std::string>{""} : body.texts("prompt");
  r.n = body.integer("n", 1, {1, 128});
  r.options.tokens = body.integer("max_tokens", 16, {0, call.settings.max_tokens});
  r.options.temperature = body.number("temperature", 1, {0});
  r.options.top_p = body.number("top_p", 1, {0, 1, true});
  r.options.top_k = body.integer("top_k", 0, {0});
  r.options.seed =
      body.value("seed").is_null() ? random_seed() : static_cast<std::uint64_t>(body.integer("seed", 0, {0}));
  r.options.stop = stop_texts(body);
  r.echo = body.flag("echo", false);
  r.stream = body.flag("stream", false);
  r.include_usage = includes_usage(body);
  r.has_logprobs = !body.value("logprobs").is_null();
  body.integer("logprobs", 0, {0, 1});
  r.options.log_probabilities = r.has_logprobs;
  check_unsupported(body);
  body.check_all_read();
  if (r.prompts.empty()) throw wrong("prompt", "expected at least one text, got an empty list");
  for (const std::string& prompt : r.prompts) check_text(prompt, "prompt", call.settings);
  check_count(r.prompts.size() * static_cast<std::size_t>(r.n), r.n > 1 ? "n" : "prompt", call.settings);
  return r;
}

}  // namespace serve
