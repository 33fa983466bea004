#include "serve/served_model.h"

#include <weft/error.h>
#include <weft/run_folder.h>

namespace serve {
namespace {

weft::Checkpoint load(const std::string& folder, const Settings& settings) {
  weft::LoadOptions options = weft::Purpose::inference;
  options.copy = true;
  weft::Checkpoint checkpoint = weft::load_checkpoint(weft::checkpoint_folder(folder), options);
  if (settings.precision) checkpoint.model->set_precision(*settings.precision);
  if (checkpoint.model->input().defined())
    throw weft::Error("\"" + folder + "\": expected a model that reads texts, got a model that reads numbers");
  return checkpoint;
}

std::vector<std::vector<float>> rows_of(const weft::Tensor& vectors) {
  const std::vector<float> numbers = vectors.to_vector<float>();
  const std::int64_t rows = vectors.shape()[0], columns = vectors.shape()[1];
  std::vector<std::vector<float>> all;
  for (std::int64_t i = 0; i < rows; ++i)
    all.emplace_back(numbers.begin() + i * columns, numbers.begin() + (i + 1) * columns);
  return all;
}

}  // namespace

ServedModel::ServedModel(std::string name, const std::string& folder, const Settings& settings, Metrics& metrics,
                         StreamMemory& memory)
    : name_(std::move(name)), settings_(settings), metrics_(metrics) {
  weft::Checkpoint checkpoint = load(folder, settings);
  const weft::Task task = checkpoint.model->task();
  if (weft::Classifier::why_not(checkpoint).empty()) {
    start_classifier(std::move(checkpoint));
  } else if (task == weft::Task::regression || task == weft::Task::multilabel || task == weft::Task::tagging) {
    start_predictor(std::move(checkpoint));
  } else {
    checkpoint_ = std::make_shared<const weft::Checkpoint>(std::move(checkpoint));
    if (task == weft::Task::causal_lm && !checkpoint_->model->gives_features())
      continuations_ = std::make_unique<Continuations>(name_, *checkpoint_->model, *checkpoint_->tokenizer, settings,
                                                       metrics, memory);
    if (task == weft::Task::masked_lm && !checkpoint_->model->gives_features())
      start(mask_filler_, [c = checkpoint_](const std::vector<MaskedText>& texts) {
        std::vector<weft::FilledText> filled;
        for (const MaskedText& t : texts) filled.push_back(weft::fill_mask(*c, t.text, t.top, t.threshold));
        return filled;
      });
  }
  start_embedder();
  loaded_ = std::time(nullptr);
}

void ServedModel::start_classifier(weft::Checkpoint checkpoint) {
  classifying_ = std::make_shared<const weft::Classifier>(std::move(checkpoint));
  checkpoint_ = {classifying_, &classifying_->checkpoint()};
  start(classifier_, [c = classifying_](const std::vector<std::string>& texts) { return c->probabilities(texts); });
}

std::vector<weft::Prediction> ServedModel::best(const std::vector<double>& probabilities, std::int64_t top,
                                                double threshold) const {
  return classifying_->best(probabilities, top, threshold);
}

void ServedModel::start_predictor(weft::Checkpoint checkpoint) {
  const auto predictor = std::make_shared<const weft::Predictor>(std::move(checkpoint));
  checkpoint_ = {predictor, &predictor->checkpoint()};
  using Texts = std::vector<std::string>;
  switch (checkpoint_->model->task()) {
    case weft::Task::regression:
      return start(numbers_, [predictor](const Texts& texts) { return predictor->numbers(texts); });
    case weft::Task::multilabel:
      return start(labels_, [predictor](const Texts& texts) { return predictor->labels(texts, 0); });
    default: return start(tags_, [predictor](const Texts& texts) { return predictor->tags(texts); });
  }
}

// A custom architecture may have no features, and then gives no vectors.
void ServedModel::start_embedder() try {
  const auto embedder = std::make_shared<const weft::Embedder>(checkpoint_);
  start(embedder_, [embedder](const std::vector<std::string>& texts) { return rows_of((*embedder)(texts)); });
} catch (const weft::OutOfMemory&) {
  throw;
} catch (const weft::Error&) {
}

std::vector<std::string> ServedModel::paths() const {
  std::vector<std::string> paths;
  if (continuations_) paths.push_back("/v1/completions");
  if (embedder_) paths.push_back("/v1/embeddings");
  if (classifier_) paths.push_back("/classify");
  if (mask_filler_) paths.push_back("/fill-mask");
  if (numbers_ || labels_ || tags_) paths.push_back("/predict");
  paths.insert(paths.end(), {"/tokenize", "/detokenize"});
  return paths;
}

void ServedModel::refuse(const std::string& path) const {
  std::string others;
  for (const std::string& other : paths()) others += (others.empty() ? "" : ", ") + other;
  throw HttpError(404, "wrong_model",
                  "the model \"" + name_ + "\" has the task " + weft::task_name(checkpoint().model->task()) +
                      " and does not answer " + path + "; it answers " + others,
                  "model");
}

}  // namespace serve
