// The functions that JavaScript calls (engine.js). They wrap weft's C interface, so that no argument is a struct. A
// function that fails returns null, and error() says why. Texts are in UTF-8 and end with a zero byte. The module owns
// the texts and numbers that it returns, which stay valid until the next call.
#include <weft/weft_c.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#define EXPORTED(name) extern "C" __attribute__((used, export_name(#name)))

namespace {

std::string json_text;
std::vector<double> probabilities;

const char* as_text(const nlohmann::json& json) {
  json_text = json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  return json_text.c_str();
}

}  // namespace

EXPORTED(allocate) void* page_allocate(std::size_t bytes) { return std::malloc(bytes); }
EXPORTED(release) void page_release(void* block) { std::free(block); }
EXPORTED(error) const char* page_error() { return weft_last_error(); }
EXPORTED(version) const char* page_version() { return weft_version(); }

// Loads the bytes of a checkpoint's model.safetensors.
EXPORTED(load) weft_model* page_load(const void* bytes, std::size_t size) {
  weft_model* model = nullptr;
  (void)weft_load_memory(bytes, size, &model);
  return model;
}
EXPORTED(free_model) void page_free_model(weft_model* model) { weft_model_free(model); }

EXPORTED(set_precision) bool page_set_precision(weft_model* model, const char* precision) {
  return weft_set_precision(model, precision) == WEFT_OK;
}

// Returns a JSON object.
EXPORTED(describe) const char* page_describe(const weft_model* model) {
  weft_info info{};
  info.struct_size = sizeof info;
  if (weft_model_info(model, &info) != WEFT_OK) return nullptr;
  nlohmann::json labels = nlohmann::json::array();
  for (std::int64_t i = 0; i < info.labels; ++i) {
    const char* name = nullptr;
    if (weft_label(model, i, &name) != WEFT_OK) return nullptr;
    labels.push_back(name);
  }
  nlohmann::json all;
  all["architecture"] = info.architecture;
  all["task"] = info.task;
  all["tokenizer"] = info.tokenizer;
  all["precision"] = info.precision;
  all["stored"] = info.stored;
  all["parameters"] = info.parameters;
  all["vocabulary"] = info.vocabulary;
  all["outputs"] = info.outputs;
  all["labels"] = labels;
  return as_text(all);
}

// Returns a JSON object with the number of the text's tokens, and the texts of the first `limit` of them.
EXPORTED(tokenize) const char* page_tokenize(const weft_model* model, const char* text, double limit) {
  const std::size_t size = std::strlen(text);
  std::size_t count = 0;
  const weft_status status = weft_encode(model, text, size, nullptr, 0, &count);
  if (status != WEFT_OK && status != WEFT_BUFFER_TOO_SMALL) return nullptr;
  std::vector<std::int64_t> tokens(count);
  if (weft_encode(model, text, size, tokens.data(), count, &count) != WEFT_OK) return nullptr;
  nlohmann::json texts = nlohmann::json::array();
  tokens.resize(std::min(count, static_cast<std::size_t>(limit)));
  for (const std::int64_t token : tokens) {
    std::size_t bytes = 0;  // with the zero byte at the end
    if (weft_decode(model, &token, 1, nullptr, 0, &bytes) != WEFT_BUFFER_TOO_SMALL) return nullptr;
    std::string symbol(bytes, '\0');
    if (weft_decode(model, &token, 1, symbol.data(), bytes, &bytes) != WEFT_OK) return nullptr;
    texts.push_back(symbol.c_str());
  }
  return as_text({{"count", count}, {"texts", texts}});
}

// Returns the probability of each of the model's outputs.
EXPORTED(classify) const double* page_classify(const weft_model* model, const char* text) {
  std::size_t count = 0;
  if (weft_classify(model, &text, 1, nullptr, 0, &count) != WEFT_BUFFER_TOO_SMALL) return nullptr;
  probabilities.resize(count);
  const bool done = weft_classify(model, &text, 1, probabilities.data(), count, nullptr) == WEFT_OK;
  return done ? probabilities.data() : nullptr;
}

EXPORTED(generate)
weft_generation* page_generate(const weft_model* model, const char* prompt, double tokens, double temperature,
                               double top_k, double top_p, double seed) {
  weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
  options.tokens = static_cast<std::int64_t>(tokens);
  options.temperature = temperature;
  options.top_k = static_cast<std::int64_t>(top_k);
  options.top_p = top_p;
  options.seed = static_cast<std::uint64_t>(seed);
  weft_generation* generation = nullptr;
  (void)weft_generation_new(model, prompt, &options, &generation);
  return generation;
}

// Returns the size of the next symbol's text, -1 at the end, or -2 if it fails.
EXPORTED(next) int page_next(weft_generation* generation, const char** text) {
  std::size_t size = 0;
  if (weft_generation_next(generation, text, &size) != WEFT_OK) return -2;
  return *text == nullptr ? -1 : static_cast<int>(size);
}
EXPORTED(free_generation) void page_free_generation(weft_generation* generation) { weft_generation_free(generation); }
