// The functions for models in weft/weft_c.h: loading, description, and logits.
#include <algorithm>
#include <cstring>
#include <limits>

#include "c/call.h"
#include "c/handles.h"
#include "weft/layers.h"
#include "weft/quantize.h"

using namespace weft;
using namespace weft::detail;

namespace {

std::unique_ptr<weft_model> handle_of(Checkpoint checkpoint) {
  auto handle = std::make_unique<weft_model>();
  handle->config = checkpoint.model->config();
  handle->parameters = parameter_count(checkpoint.model->parameters());
  if (Classifier::why_not(checkpoint).empty()) {
    handle->classifier = std::make_shared<const Classifier>(std::move(checkpoint));
    handle->saved = {handle->classifier, &handle->classifier->checkpoint()};
  } else {
    handle->saved = std::make_shared<const Checkpoint>(std::move(checkpoint));
  }
  return handle;
}

// The number of logits: rows · length · outputs, or rows · outputs if there is one output for each row.
std::size_t logits_of(const weft_model& handle, std::int64_t rows, std::int64_t length) {
  const Model& model = handle.model();
  if (rows < 1 || length < 1)
    fail_argument("expected at least one row of at least one token, got " + to_string({rows, length}));
  Shape shape{rows, length, model.outputs()};
  if (task_kind(model.task()).outputs == OutputShape::per_row) shape[1] = 1;
  try {
    return static_cast<std::size_t>(numel(shape));
  } catch (const Error& too_many) {
    fail_argument(too_many.what());
  }
}

LoadOptions options_of(const weft_load_options* given) {
  LoadOptions options = Purpose::inference;
  if (given == nullptr) return options;
  check_struct_size(*given, "weft_load_options", "WEFT_LOAD_OPTIONS_INIT");
  options.copy = given->copy != 0;
  return options;
}

const char* stored_in(const Model& model) {
  const auto to = quantized_to(model.parameters());
  return to ? quantization_name(*to) : precision_name(Precision::f32);
}

}  // namespace

weft_status weft_load(const char* folder, weft_model** model) {
  return call("weft_load", [&] {
    check_given(folder, "folder");
    check_given(model, "model");
    *model = handle_of(load_checkpoint(folder, Purpose::inference)).release();
  });
}

weft_status weft_load_with(const char* folder, const weft_load_options* options, weft_model** model) {
  return call("weft_load_with", [&] {
    check_given(folder, "folder");
    check_given(model, "model");
    *model = handle_of(load_checkpoint(folder, options_of(options))).release();
  });
}

weft_status weft_load_memory(const void* bytes, size_t size, weft_model** model) {
  return call("weft_load_memory", [&] {
    check_given(bytes, "bytes");
    check_given(model, "model");
    *model = handle_of(load_checkpoint(Bytes{bytes, size, nullptr, false}, Purpose::inference)).release();
  });
}

void weft_model_free(weft_model* model) { delete model; }

weft_status weft_set_precision(weft_model* model, const char* precision) {
  return call("weft_set_precision", [&] {
    check_given(model, "model");
    check_given(precision, "precision");
    model->saved->model->set_precision(precision_from_name(precision));
  });
}

weft_status weft_model_info(const weft_model* model, weft_info* info) {
  return call("weft_model_info", [&] {
    check_given(model, "model");
    check_given(info, "info");
    if (info->struct_size < sizeof(weft_info))
      fail_argument("info->struct_size is " + std::to_string(info->struct_size) + ", expected sizeof(weft_info), " +
                    std::to_string(sizeof(weft_info)));
    const Model& m = model->model();
    const CheckpointInfo& saved = model->saved->info;
    weft_info is{};
    is.struct_size = info->struct_size;
    is.architecture = m.arch();
    is.tokenizer = model->saved->tokenizer->kind();
    is.config = model->config.c_str();
    is.task = task_name(m.task());
    is.precision = precision_name(m.precision());
    is.stored = stored_in(m);
    is.vocabulary = m.vocabulary();
    is.outputs = m.outputs();
    is.labels = static_cast<std::int64_t>(saved.labels.size());
    is.max_length = m.max_length();
    is.trained_length = saved.length;
    is.pad_to = saved.pad_to;
    is.parameters = model->parameters;
    is.steps = saved.step;
    is.validation_loss = saved.validation_loss.value_or(std::numeric_limits<double>::quiet_NaN());
    *info = is;
  });
}

weft_status weft_label(const weft_model* model, int64_t index, const char** name) {
  return call("weft_label", [&] {
    check_given(model, "model");
    check_given(name, "name");
    const std::vector<std::string>& labels = model->saved->info.labels;
    if (index < 0 || index >= std::ssize(labels))
      fail_argument("expected the index of one of " + std::to_string(labels.size()) + " labels, got " +
                    std::to_string(index));
    *name = labels[static_cast<std::size_t>(index)].c_str();
  });
}

weft_status weft_run(const weft_model* model, const int64_t* tokens, int64_t rows, int64_t length, float* logits,
                     size_t capacity, size_t* count) {
  return call("weft_run", [&] {
    check_given(model, "model");
    check_given(tokens, "tokens");
    const std::size_t needed = logits_of(*model, rows, length);
    check_buffer(logits, capacity, needed, count, "logits");
    const Tensor given = Tensor::borrow(nullptr, tokens, {rows, length}, DType::i64);
    give_logits(model->model()(given), logits, needed);
  });
}

weft_status weft_encode(const weft_model* model, const char* text, size_t size, int64_t* tokens, size_t capacity,
                        size_t* count) {
  return call("weft_encode", [&] {
    check_given(model, "model");
    check_list(text, size, "text");
    const std::vector<std::int64_t> ids = model->saved->tokenizer->encode(std::string_view(text, size));
    check_buffer(tokens, capacity, ids.size(), count, "tokens");
    std::copy(ids.begin(), ids.end(), tokens);
  });
}

weft_status weft_decode(const weft_model* model, const int64_t* tokens, size_t tokens_count, char* text,
                        size_t capacity, size_t* count) {
  return call("weft_decode", [&] {
    check_given(model, "model");
    check_list(tokens, tokens_count, "tokens");
    const std::string decoded =
        model->saved->tokenizer->decode(std::vector<std::int64_t>(tokens, tokens + tokens_count));
    check_buffer(text, capacity, decoded.size() + 1, count, "text");
    std::memcpy(text, decoded.c_str(), decoded.size() + 1);
  });
}

weft_status weft_classify(const weft_model* model, const char* const* texts, size_t texts_count, double* probabilities,
                          size_t capacity, size_t* count) {
  return call("weft_classify", [&] {
    check_given(model, "model");
    if (!model->classifier) throw Error(Classifier::why_not(*model->saved));
    check_list(texts, texts_count, "texts");
    const std::size_t outputs = model->classifier->labels().size();
    check_buffer(probabilities, capacity, texts_count * outputs, count, "probabilities");
    std::vector<std::string> given;
    given.reserve(texts_count);
    for (std::size_t i = 0; i < texts_count; ++i) {
      if (texts[i] == nullptr) fail_argument("texts[" + std::to_string(i) + "] is NULL");
      given.emplace_back(texts[i]);
    }
    for (const std::vector<double>& row : model->classifier->probabilities(given))
      probabilities = std::copy(row.begin(), row.end(), probabilities);
  });
}
