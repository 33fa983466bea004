// A loaded checkpoint and the threads that compute with it.
#pragma once
#include <weft/classifier.h>
#include <weft/embed.h>
#include <weft/fill_mask.h>
#include <weft/predict.h>

#include <ctime>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "serve/continuations.h"
#include "serve/gatherer.h"

namespace serve {

struct MaskedText {
  std::string text;
  std::int64_t top;
  double threshold;
};

using Tags = std::vector<std::pair<std::string, std::string>>;

class ServedModel {
 public:
  // Loads the checkpoint. The weights are in memory, so that the files may change. Throws an Error if the folder has no
  // valid checkpoint, or if its model doesn't read texts. The other arguments must outlive the object.
  ServedModel(std::string name, const std::string& folder, const Settings& settings, Metrics& metrics,
              StreamMemory& memory);

  const std::string& name() const noexcept { return name_; }
  const weft::Checkpoint& checkpoint() const noexcept { return *checkpoint_; }
  std::time_t loaded() const noexcept { return loaded_; }
  // Returns the paths of the requests that the model answers.
  std::vector<std::string> paths() const;

  // Each of these functions throws an HttpError, which names the paths of the model, if the model can't do this.
  Continuations& continuations() const { return given(continuations_, "/v1/completions"); }
  Gatherer<std::string, std::vector<float>>& embedder() const { return given(embedder_, "/v1/embeddings"); }
  Gatherer<std::string, std::vector<double>>& classifier() const { return given(classifier_, "/classify"); }
  // Returns the most probable labels of a classifier.
  std::vector<weft::Prediction> best(const std::vector<double>& probabilities, std::int64_t top,
                                     double threshold) const;
  Gatherer<MaskedText, weft::FilledText>& mask_filler() const { return given(mask_filler_, "/fill-mask"); }

  // One of these is not null if the model has the path /predict.
  Gatherer<std::string, std::vector<double>>* numbers() const noexcept { return numbers_.get(); }
  Gatherer<std::string, std::vector<weft::Prediction>>* labels() const noexcept { return labels_.get(); }
  Gatherer<std::string, Tags>* tags() const noexcept { return tags_.get(); }
  [[noreturn]] void refuse(const std::string& path) const;

 private:
  template <class T>
  T& given(const std::unique_ptr<T>& worker, const char* path) const {
    if (worker == nullptr) refuse(path);
    return *worker;
  }
  template <class Input, class Result>
  void start(std::unique_ptr<Gatherer<Input, Result>>& worker, typename Gatherer<Input, Result>::Compute compute) {
    worker = std::make_unique<Gatherer<Input, Result>>(name_, std::move(compute), settings_, metrics_);
  }
  void start_classifier(weft::Checkpoint checkpoint);
  void start_predictor(weft::Checkpoint checkpoint);
  void start_embedder();

  const std::string name_;
  const Settings& settings_;
  Metrics& metrics_;
  std::shared_ptr<const weft::Checkpoint> checkpoint_;
  std::shared_ptr<const weft::Classifier> classifying_;  // null for other tasks
  std::time_t loaded_ = 0;
  std::unique_ptr<Continuations> continuations_;
  std::unique_ptr<Gatherer<std::string, std::vector<float>>> embedder_;
  std::unique_ptr<Gatherer<std::string, std::vector<double>>> classifier_, numbers_;
  std::unique_ptr<Gatherer<MaskedText, weft::FilledText>> mask_filler_;
  std::unique_ptr<Gatherer<std::string, std::vector<weft::Prediction>>> labels_;
  std::unique_ptr<Gatherer<std::string, Tags>> tags_;
};

}  // namespace serve
