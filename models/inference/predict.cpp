#include "weft/predict.h"

#include <algorithm>
#include <cmath>

#include "data/labels.h"
#include "data/row_input.h"
#include "rows/row_reader.h"
#include "weft/confusion.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

std::int64_t most_tokens(const Checkpoint& checkpoint) {
  const std::int64_t most = checkpoint.model->max_length();
  return checkpoint.info.length > 0 ? checkpoint.info.length : most > 0 ? most : 1 << 20;
}

void check_text(const std::string& text) {
  const WrongBytes wrong = wrong_bytes(text, 0);
  if (!wrong.what.empty()) throw Error("[predict] " + wrong.what + "; expected a text in UTF-8 without zero bytes");
}

std::vector<double> finite(const Tensor& output) {
  std::vector<double> numbers = raw::convert(output, DType::f64).to_vector<double>();
  if (!std::all_of(numbers.begin(), numbers.end(), [](double x) { return std::isfinite(x); }))
    throw Error("[predict] the model's outputs are not finite");
  return numbers;
}

void check_task(const Model& model, Task task) {
  if (model.task() != task)
    throw Error(std::string("[predict] the checkpoint has the task ") + task_name(model.task()) + ", expected " +
                task_name(task));
}

// Returns one(text) for each text.
template <class One>
auto for_all(const std::vector<std::string>& texts, One one) {
  return guard_memory("predict", [&] {
    std::vector<decltype(one(texts[0]))> all(texts.size());
    Context::current().parallel_for(std::ssize(texts), 1, [&](std::int64_t begin, std::int64_t end) {
      for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) all[i] = one(texts[i]);
    });
    return all;
  });
}

}  // namespace

Predictor::Predictor(Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {
  const Model& model = *checkpoint_.model;
  const Task task = model.task();
  if (task != Task::regression && task != Task::multilabel && task != Task::tagging)
    throw Error(std::string("[predict] the checkpoint has the task ") + task_name(task) +
                ", expected regression, multilabel or tagging");
  if (model.input().defined() && !reads_numbers(model))
    throw Error("[predict] expected a model that reads either tokens or numbers, got one that reads both");
  if (checkpoint_.info.labels.empty()) checkpoint_.info.labels = numbered_labels(model.outputs());
}

Tensor Predictor::output_for(const std::vector<std::int64_t>& ids) const {
  const NoGrad suspended;
  return (*checkpoint_.model)(Tensor::from(ids, {1, std::ssize(ids)}));
}

Tensor Predictor::output_of(const std::string& text) const {
  if (reads_numbers(*checkpoint_.model)) {
    const NoGrad suspended;
    return checkpoint_.model->forward(input_of_numbers(text, checkpoint_));
  }
  check_text(text);
  return output_for(classifier_tokens(*checkpoint_.tokenizer, text, most_tokens(checkpoint_), truncated_.get()));
}

// Returns the tags of a row of numbers. Its frames are numbered from 1.
std::vector<std::pair<std::string, std::string>> Predictor::tags_of_frames(const std::string& row) const {
  const Tensor output = output_of(row);  // (1, n, tags)
  (void)finite(output);
  std::vector<std::pair<std::string, std::string>> tagged;
  for (const std::int64_t tag : predicted_labels(reshape(output, {output.size(1), output.size(2)})))
    tagged.emplace_back(std::to_string(tagged.size() + 1), outputs()[static_cast<std::size_t>(tag)]);
  return tagged;
}

std::vector<double> Predictor::numbers(const std::string& text) const {
  return guard_memory("predict", [&] {
    check_task(*checkpoint_.model, Task::regression);
    return finite(output_of(text));
  });
}

std::vector<Prediction> Predictor::labels(const std::string& text, double threshold) const {
  return guard_memory("predict", [&] {
    check_task(*checkpoint_.model, Task::multilabel);
    const auto logits = finite(output_of(text));
    std::vector<Prediction> found;
    for (std::size_t i = 0; i < logits.size(); ++i)
      if (const double p = 1 / (1 + std::exp(-logits[i])); p >= threshold) found.push_back({outputs()[i], p});
    std::stable_sort(found.begin(), found.end(),
                     [](const Prediction& a, const Prediction& b) { return a.probability > b.probability; });
    return found;
  });
}

std::vector<std::vector<double>> Predictor::numbers(const std::vector<std::string>& texts) const {
  return for_all(texts, [&](const std::string& text) { return numbers(text); });
}

std::vector<std::vector<Prediction>> Predictor::labels(const std::vector<std::string>& texts, double threshold) const {
  return for_all(texts, [&](const std::string& text) { return labels(text, threshold); });
}

std::vector<std::vector<std::pair<std::string, std::string>>> Predictor::tags(
    const std::vector<std::string>& texts) const {
  return for_all(texts, [&](const std::string& text) { return tags(text); });
}

std::vector<std::pair<std::string, std::string>> Predictor::tags(const std::string& text) const {
  return guard_memory("predict", [&] {
    check_task(*checkpoint_.model, Task::tagging);
    if (reads_numbers(*checkpoint_.model)) return tags_of_frames(text);
    check_text(text);
    const std::vector<std::int64_t> ids = checkpoint_.tokenizer->encode(text);
    const std::vector<std::string> words = words_of(text);
    if (words.size() != ids.size())
      throw Error("[predict] the tokenizer, " + std::string(checkpoint_.tokenizer->kind()) +
                  ", doesn't give one symbol for each word");
    std::vector<std::pair<std::string, std::string>> tagged;
    const auto longest = static_cast<std::size_t>(most_tokens(checkpoint_));
    for (std::size_t first = 0; first < ids.size(); first += longest) {
      const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(first);
      const auto end = begin + static_cast<std::ptrdiff_t>(std::min(longest, ids.size() - first));
      const Tensor output = output_for({begin, end});
      (void)finite(output);
      for (const std::int64_t tag : predicted_labels(reshape(output, {end - begin, output.size(2)})))
        tagged.emplace_back(words[tagged.size()], outputs()[static_cast<std::size_t>(tag)]);
    }
    return tagged;
  });
}

}  // namespace weft
