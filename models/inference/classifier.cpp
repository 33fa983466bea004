#include "weft/classifier.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>

#include "data/labels.h"
#include "data/row_input.h"
#include "rows/row_reader.h"
#include "weft/context.h"
#include "weft/data.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

// Returns the reason why the tokenizer has no symbol that begins each row.
std::string why_no_cls(const Checkpoint& checkpoint) {
  const Tokenizer& tokenizer = *checkpoint.tokenizer;
  const std::string kind = tokenizer.kind();
  if (kind == "ids" && checkpoint.info.format == "huggingface-fnet")
    return "the model's folder has neither a spiece.model nor a tokenizer.json, so texts can't be tokenized: copy the "
           "original files into it";
  if (kind == "fnet")
    return "the tokenizer of the checkpoint has no piece " +
           nlohmann::json::parse(tokenizer.to_json()).at("cls_token").dump() + " (cls_token), which begins each row";
  return "the tokenizer of the checkpoint, " + kind + ", was not made for a classifier";
}

}  // namespace

std::string Classifier::why_not(const Checkpoint& checkpoint) {
  const Model& model = *checkpoint.model;
  if (model.task() != Task::classifier)
    return std::string("expected a classifier, got a model for the task ") + task_name(model.task());
  if (model.gives_features())
    return "the checkpoint is an encoder whose outputs are features, not labels: train a classifier from it "
           "(weft train --from)";
  if (reads_numbers(model)) return "";
  if (model.input().defined()) return "expected a model that reads either tokens or numbers, got one that reads both";
  if (!checkpoint.tokenizer->special().cls) return why_no_cls(checkpoint);
  return "";
}

Classifier::Classifier(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {
  const Model& model = *checkpoint_.model;
  if (const std::string why = why_not(checkpoint_); !why.empty()) throw Error("[classifier] " + why);
  check_padding(model, *checkpoint_.tokenizer, "classifier");
  CheckpointInfo& info = checkpoint_.info;
  if (info.labels.empty()) info.labels = numbered_labels(model.outputs());
  if (std::ssize(info.labels) != model.outputs())
    throw Error("[classifier] expected " + std::to_string(model.outputs()) + " labels, got " +
                std::to_string(info.labels.size()));
  if (model.max_length() > 0 && info.pad_to > model.max_length())
    throw Error("[classifier] rows are padded to " + std::to_string(info.pad_to) +
                " tokens, but the model takes at most " + std::to_string(model.max_length()));
  if (info.pad_to > 0) check_batch("classifier", info.pad_to, 1, 1);
}

std::vector<std::int64_t> Classifier::row_of(const std::string& text) const {
  const CheckpointInfo& info = checkpoint_.info;
  const std::int64_t most = checkpoint_.model->max_length();
  const std::int64_t length = info.pad_to > 0   ? info.pad_to
                              : info.length > 0 ? info.length
                              : most > 0        ? most
                                                : std::numeric_limits<std::int64_t>::max();
  const WrongBytes wrong = wrong_bytes(text, 0);
  if (!wrong.what.empty()) throw Error("[classifier] " + wrong.what + "; expected a text in UTF-8 without zero bytes");
  std::vector<std::int64_t> row = classifier_tokens(*checkpoint_.tokenizer, text, length, truncated_.get());
  if (info.pad_to > 0)
    row.resize(static_cast<std::size_t>(info.pad_to), checkpoint_.tokenizer->special().pad.value_or(pad_id));
  return row;
}

ModelInput Classifier::input_of(const std::string& text) const {
  if (reads_numbers(*checkpoint_.model)) return input_of_numbers(text, checkpoint_);
  const std::vector<std::int64_t> row = row_of(text);
  return {Tensor::from(row, {1, std::ssize(row)}), {}};
}

std::vector<double> Classifier::probabilities(const std::string& text) const try {
  const NoGrad suspended;
  return softmax_of(checkpoint_.model->forward(input_of(text)), "classifier");
} catch (const std::bad_alloc&) {
  fail_out_of_memory("classifier");
}

// Runs one forward pass for each text (see logits_of_rows). Texts of the same length follow each other, so that they
// share the data that layers cache for this length.
std::vector<std::vector<double>> Classifier::probabilities(const std::vector<std::string>& texts) const try {
  std::vector<std::size_t> order(texts.size());
  std::iota(order.begin(), order.end(), 0);
  std::vector<ModelInput> rows(texts.size());
  std::vector<std::vector<double>> all(texts.size());
  Context& context = Context::current();
  const auto each = [&](auto use) {
    context.parallel_for(std::ssize(texts), 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) use(order[static_cast<std::size_t>(i)]);
    });
  };
  each([&](std::size_t i) { rows[i] = input_of(texts[i]); });
  const auto length = [&](std::size_t i) {
    return (rows[i].tokens.defined() ? rows[i].tokens : rows[i].frames).size(1);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return length(a) < length(b); });
  each([&](std::size_t i) {
    const NoGrad suspended;
    all[i] = softmax_of(checkpoint_.model->forward(rows[i]), "classifier");
  });
  return all;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("classifier");
}

std::vector<Prediction> Classifier::best(const std::vector<double>& probabilities, std::int64_t top,
                                         double threshold) const {
  if (probabilities.size() != labels().size())
    throw Error("[classifier] expected " + std::to_string(labels().size()) + " probabilities, got " +
                std::to_string(probabilities.size()));
  std::vector<std::size_t> order(labels().size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  std::vector<Prediction> predictions;
  for (std::size_t i : order) {
    if ((top > 0 && std::ssize(predictions) == top) || probabilities[i] < threshold) break;
    predictions.push_back({labels()[i], probabilities[i]});
  }
  return predictions;
}

Prediction Classifier::operator()(const std::string& text) const { return best(probabilities(text)).at(0); }

}  // namespace weft
