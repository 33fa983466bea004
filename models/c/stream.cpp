// The functions for streams and generation in weft/weft_c.h.
#include <cstddef>
#include <optional>
#include <utility>

#include "c/call.h"
#include "c/handles.h"

using namespace weft;
using namespace weft::detail;

namespace {

GenerateOptions options_of(const weft_generate_options* given) {
  GenerateOptions options;
  if (given == nullptr) return options;
  constexpr std::size_t smallest = offsetof(weft_generate_options, speculate);  // its size in weft 0.2
  check_struct_size(*given, "weft_generate_options", "WEFT_GENERATE_OPTIONS_INIT", smallest);
  options.tokens = given->tokens;
  options.temperature = given->temperature;
  options.top_k = given->top_k;
  options.top_p = given->top_p;
  options.seed = given->seed;
  check_list(given->stop, given->stop_count, "options->stop");
  for (std::size_t i = 0; i < given->stop_count; ++i) {
    if (given->stop[i] == nullptr) fail_argument("options->stop[" + std::to_string(i) + "] is NULL");
    options.stop.emplace_back(given->stop[i]);
  }
  options.speculate = given->struct_size >= smallest + sizeof given->speculate && given->speculate != 0;
  return options;
}

}  // namespace

weft_status weft_stream_new(const weft_model* model, weft_stream** stream) {
  return call("weft_stream_new", [&] {
    check_given(model, "model");
    check_given(stream, "stream");
    auto made = std::make_unique<weft_stream>();
    made->saved = model->saved;
    made->tokens = model->model().stream();
    *stream = made.release();
  });
}

weft_status weft_stream_copy(const weft_stream* stream, weft_stream** copy) {
  return call("weft_stream_copy", [&] {
    check_given(stream, "stream");
    check_given(copy, "copy");
    auto made = std::make_unique<weft_stream>();
    made->saved = stream->saved;
    made->tokens = stream->tokens->select({0});
    *copy = made.release();
  });
}

weft_status weft_stream_append(weft_stream* stream, const int64_t* tokens, size_t tokens_count, float* logits,
                               size_t capacity, size_t* count) {
  return call("weft_stream_append", [&] {
    check_given(stream, "stream");
    check_given(tokens, "tokens");
    check_list(tokens, tokens_count, "tokens");
    if (tokens_count == 0) fail_argument("expected at least one token");
    const auto needed = static_cast<std::size_t>(stream->saved->model->vocabulary());
    if (count != nullptr) *count = needed;
    if (logits != nullptr || capacity > 0) check_buffer(logits, capacity, needed, count, "logits");
    const std::vector<std::int64_t> ids(tokens, tokens + tokens_count);
    const Tensor given = stream->tokens->append(Tensor::from(ids, {1, std::ssize(ids)}));
    if (logits != nullptr) give_logits(given, logits, needed);
  });
}

void weft_stream_free(weft_stream* stream) { delete stream; }

weft_status weft_generate(const weft_model* model, const char* prompt, const weft_generate_options* options,
                          weft_text_callback callback, void* user, int64_t* count) {
  std::int64_t symbols = 0;
  const weft_status status = call("weft_generate", [&] {
    check_given(model, "model");
    check_given(prompt, "prompt");
    if (callback == nullptr) fail_argument("callback is NULL");
    generate(model->model(), *model->saved->tokenizer, prompt, options_of(options), [&](const std::string& text) {
      ++symbols;
      return from_callback([&] { return callback(user, text.c_str(), text.size()) == 0; });
    });
  });
  if (count != nullptr) *count = symbols;
  return status;
}

weft_status weft_generation_new(const weft_model* model, const char* prompt, const weft_generate_options* options,
                                weft_generation** generation) {
  return call("weft_generation_new", [&] {
    check_given(model, "model");
    check_given(prompt, "prompt");
    check_given(generation, "generation");
    *generation = new weft_generation{
        model->saved, Generation(model->model(), *model->saved->tokenizer, prompt, options_of(options))};
  });
}

weft_status weft_generation_next(weft_generation* generation, const char** text, size_t* size) {
  return call("weft_generation_next", [&] {
    check_given(generation, "generation");
    check_given(text, "text");
    std::optional<std::string> next = generation->symbols.next();
    const bool ended = !next;
    generation->text = std::move(next).value_or("");
    *text = ended ? nullptr : generation->text.c_str();
    if (size != nullptr) *size = generation->text.size();
  });
}

void weft_generation_free(weft_generation* generation) { delete generation; }
