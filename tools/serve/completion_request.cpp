#include "serve/completion_request.h"

#include <algorithm>
#include <cstdint>
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
  const Json include = options.value("include_usage", Json());
  if (!include.is_null() && !include.is_boolean())
    throw wrong("stream_options", "include_usage: expected true or false, got " + shown(include));
  return include == true;
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

GivenPrompt prompt_of(const Json& given, const Settings& settings, const weft::Tokenizer& tokenizer) {
  if (given.is_string()) {
    const std::string text = given.get<std::string>();
    check_text(text, "prompt", settings);
    return {text, tokenizer.encode(text)};
  }
  if (!given.is_array()) throw wrong("prompt", "expected a text or a list of integers, got " + shown(given));
  const std::vector<std::int64_t> symbols = given_symbols(given, "prompt", tokenizer);
  if (symbols.empty()) throw wrong("prompt", "expected at least one symbol, got an empty list");
  if (std::ssize(symbols) > settings.max_prompt)
    throw wrong("prompt", "expected at most " + std::to_string(settings.max_prompt) + " symbols, got " +
                              std::to_string(symbols.size()));
  return {tokenizer.decode(symbols), symbols};
}

// A prompt is a text or a list of integers. A request has one prompt or a list of prompts.
std::vector<GivenPrompt> prompts_of(Call& call, const weft::Tokenizer& tokenizer) {
  Json given = call.body.value("prompt");
  if (given.is_null()) given = "";
  const bool is_list = given.is_array() && !(!given.empty() && given.front().is_number());
  if (!is_list) return {prompt_of(given, call.settings, tokenizer)};
  if (given.empty()) throw wrong("prompt", "expected at least one text, got an empty list");
  check_count(given.size(), "prompt", call.settings);
  std::vector<GivenPrompt> prompts;
  for (const Json& prompt : given) prompts.push_back(prompt_of(prompt, call.settings, tokenizer));
  return prompts;
}

void add_hidden(GivenPrompt& prompt, const std::vector<std::int64_t>& symbols) {
  prompt.symbols.insert(prompt.symbols.begin(), symbols.begin(), symbols.end());
  prompt.hidden = symbols.size();
}

// Adds the symbols of the state, or of an empty prompt.
void complete(std::vector<GivenPrompt>& prompts, const std::optional<std::string>& state, Call& call,
              const ServedModel& model) {
  if (state) {
    if (prompts.size() > 1)
      throw wrong("state", "expected one prompt to go on with, got " + std::to_string(prompts.size()));
    add_hidden(prompts.front(), call.states.load(*state, model.name(), *model.checkpoint().tokenizer));
  }
  for (GivenPrompt& prompt : prompts)
    if (prompt.symbols.empty()) add_hidden(prompt, {weft::empty_prompt_symbol(*model.checkpoint().tokenizer)});
}

// Bounds the memory for the log probabilities in an answer.
void check_logprobs(const CompletionRequest& r) {
  constexpr std::int64_t most = std::int64_t{1} << 18;
  std::int64_t symbols = 0;
  for (const GivenPrompt& prompt : r.prompts)
    symbols += r.n * (r.options.tokens + (r.echo ? std::ssize(prompt.symbols) : 0));
  const std::int64_t numbers = symbols * (1 + r.options.alternatives);
  if (r.has_logprobs && numbers > most)
    throw wrong("logprobs",
                "expected a request for at most " + std::to_string(most) +
                    " log probabilities, which is the number of symbols times (1 + logprobs), got one for " +
                    std::to_string(numbers));
}

// Scoring a prompt takes one forward pass, which computes the logits of all its symbols.
void check_scored(const GivenPrompt& prompt, const weft::Model& model) {
  constexpr std::int64_t most_logits = std::int64_t{1} << 26;
  std::int64_t longest = most_logits / model.vocabulary();
  if (model.max_length() > 0) longest = std::min(longest, model.max_length());
  if (std::ssize(prompt.symbols) > longest)
    throw wrong("prompt", "with echo and logprobs, expected at most " + std::to_string(longest) + " symbols, got " +
                              std::to_string(prompt.symbols.size()));
}

}  // namespace

std::vector<Prompt> CompletionRequest::texts() const {
  std::vector<Prompt> texts;
  for (const GivenPrompt& prompt : prompts) {
    const auto shared = std::make_shared<SharedPrompt>(SharedPrompt{prompt.symbols, options, n, echo && has_logprobs});
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) texts.push_back({shared, k});
  }
  return texts;
}

CompletionRequest completion_request(Call& call, const ServedModel& model) {
  const weft::Checkpoint& checkpoint = model.checkpoint();
  Body& body = call.body;
  CompletionRequest r;
  r.prompts = prompts_of(call, *checkpoint.tokenizer);
  complete(r.prompts, body.text("state"), call, model);
  r.is_saved = body.flag("save", false);
  if (r.is_saved) call.states.check_enabled();
  r.n = body.integer("n", 1, {1, 128});
  r.options.tokens = body.integer("max_tokens", 16, {0, call.settings.max_tokens});
  r.options.temperature = body.number("temperature", 1, {0});
  r.options.top_p = body.number("top_p", 1, {0, 1, true});
  r.options.top_k = body.integer("top_k", 0, {0});
  r.options.seed =
      body.value("seed").is_null() ? random_seed() : static_cast<std::uint64_t>(body.integer("seed", 0, {INT64_MIN}));
  r.options.stop = stop_texts(body);
  r.echo = body.flag("echo", false);
  r.stream = body.flag("stream", false);
  r.include_usage = includes_usage(body);
  r.has_logprobs = !body.value("logprobs").is_null();
  r.options.alternatives = body.integer("logprobs", 0, {0, 20});
  r.options.log_probabilities = r.has_logprobs;
  check_unsupported(body);
  body.check_all_read();
  check_count(r.prompts.size() * static_cast<std::size_t>(r.n), r.n > 1 ? "n" : "prompt", call.settings);
  check_logprobs(r);
  if (r.echo && r.has_logprobs)
    for (const GivenPrompt& prompt : r.prompts) check_scored(prompt, *checkpoint.model);
  return r;
}

}  // namespace serve
