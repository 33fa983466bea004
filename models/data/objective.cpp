// Losses and objectives for tasks on rows.
#include "weft/objective.h"

#include <algorithm>
#include <cmath>

#include "base/sequence.h"
#include "data/meters.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

namespace {

// Returns (…, classes) with the class weight w_t at each target and 0 elsewhere. An ignored target has only zeros. Sets
// `sum` to the sum of the weights.
Tensor weighted_targets(const Tensor& target, std::int64_t classes, const std::vector<double>& weights, DType dtype,
                        double& sum) {
  const auto t = target.to_vector<std::int64_t>();
  std::vector<double> at(t.size() * static_cast<std::size_t>(classes), 0);
  sum = 0;
  for (std::size_t i = 0; i < t.size(); ++i) {
    if (t[i] == ignored_target) continue;
    if (t[i] < 0 || t[i] >= classes)
      throw Error("[focal_loss] target " + std::to_string(t[i]) + " is neither a class from 0 to " +
                  std::to_string(classes - 1) + " nor the ignored index " + std::to_string(ignored_target));
    const auto c = static_cast<std::size_t>(t[i]);
    const double weight = weights.empty() ? 1 : weights[c];
    at[i * static_cast<std::size_t>(classes) + c] = weight;
    sum += weight;
  }
  Shape shape = target.shape();
  shape.push_back(classes);
  return raw::convert(Tensor::from(at, shape), dtype);
}

void check_weights(const char* who, const std::vector<double>& weights, std::int64_t classes) {
  if (!weights.empty() && std::ssize(weights) != classes)
    throw Error(std::string("[") + who + "] expected a weight for each of " + std::to_string(classes) +
                " classes, got " + std::to_string(weights.size()));
  for (const double weight : weights)
    if (!(weight > 0) || !std::isfinite(weight))
      throw Error(std::string("[") + who + "] expected weights above 0, got " + std::to_string(weight));
}

// Returns the mean class weight of the targets that are not ignored.
double mean_weight(const Tensor& target, const std::vector<double>& weights) {
  if (weights.empty()) return 1;
  double sum = 0, count = 0;
  for (const std::int64_t t : target.to_vector<std::int64_t>()) {
    if (t == ignored_target) continue;
    sum += weights[static_cast<std::size_t>(t)];
    ++count;
  }
  return sum / count;
}

// The sum of the weighted terms is divided by the number of targets, not by the sum of their weights. The reason is
// that rows of different lengths, micro-batches and ranks are computed separately, and in a weighted mean over a single
// row the weight would cancel out.
class Classes : public Objective {
 public:
  Classes(std::vector<std::string> names, ObjectiveOptions options, bool per_token)
      : names_(std::move(names)), options_(std::move(options)), per_token_(per_token) {
    check_weights("objective", options_.class_weights, std::ssize(names_));
    if (!(options_.focal_gamma >= 0) || !std::isfinite(options_.focal_gamma))
      throw Error("[objective] expected a focal gamma of at least 0, got " + std::to_string(options_.focal_gamma));
  }
  Tensor loss(const Tensor& output, const Batch& batch) const override {
    if (options_.class_weights.empty() && options_.focal_gamma == 0) return cross_entropy(output, batch.target);
    return scale(focal_loss(output, batch.target, options_.class_weights, options_.focal_gamma),
                 mean_weight(batch.target, options_.class_weights));
  }
  std::unique_ptr<Meter> meter() const override {
    return per_token_ ? tagging_meter(names_) : confusion_meter(std::ssize(names_));
  }
  Shape target_shape() const override { return per_token_ ? Shape{-1} : Shape{}; }
  DType target_dtype() const override { return DType::i64; }
  std::int64_t classes() const override { return std::ssize(names_); }

 private:
  std::vector<std::string> names_;
  ObjectiveOptions options_;
  bool per_token_;
};

class Numbers : public Objective {
 public:
  Numbers(std::int64_t outputs, double delta) : outputs_(outputs), delta_(delta) {
    if (!(delta >= 0) || !std::isfinite(delta))
      throw Error("[objective] expected a Huber delta of at least 0, got " + std::to_string(delta));
  }
  Tensor loss(const Tensor& output, const Batch& batch) const override {
    return delta_ > 0 ? huber_loss(output, batch.target, delta_) : mse_loss(output, batch.target);
  }
  std::unique_ptr<Meter> meter() const override { return regression_meter(outputs_); }
  Shape target_shape() const override { return {outputs_}; }

 private:
  std::int64_t outputs_;
  double delta_;
};

class Multilabel : public Objective {
 public:
  explicit Multilabel(std::int64_t labels) : labels_(labels) {}
  Tensor loss(const Tensor& output, const Batch& batch) const override {
    return binary_cross_entropy(output, batch.target);
  }
  std::unique_ptr<Meter> meter() const override { return multilabel_meter(labels_); }
  Shape target_shape() const override { return {labels_}; }

 private:
  std::int64_t labels_;
};

}  // namespace

// Computes -Σ w_t (1 - e^(l_t))^γ l_t / Σ w_t, where l = log p. The power is computed as e^(γ log(1 - p + tiny)).
Tensor focal_loss(const Tensor& logits, const Tensor& target, const std::vector<double>& weights, double gamma) {
  if (!logits.defined() || logits.rank() < 1 || !target.defined() || target.dtype() != DType::i64 ||
      Shape(logits.shape().begin(), logits.shape().end() - 1) != target.shape())
    throw Error("[focal_loss] expected logits (…, classes) and an i64 target (…)");
  const std::int64_t classes = logits.size(-1);
  check_weights("focal_loss", weights, classes);
  const Tensor x = widened(logits);
  double total = 0;
  const Tensor at = weighted_targets(target, classes, weights, x.dtype(), total);
  if (total == 0) throw Error("[focal_loss] all targets are ignored");
  const Tensor l = log_softmax(x, -1);
  Tensor terms = mul(at, l);
  if (gamma > 0) {
    constexpr double tiny = 1e-12;
    const Tensor one = Tensor::full({}, 1 + tiny, x.dtype());
    const Tensor rest = activation(sub(one, exp(l)), Activation::relu);
    terms = mul(terms, exp(scale(log(add(rest, Tensor::full({}, tiny, x.dtype()))), gamma)));
  }
  return scale(sum(terms), -1 / total);
}

std::shared_ptr<const Objective> make_objective(Task task, const std::vector<std::string>& outputs,
                                                const ObjectiveOptions& options) {
  return guard_memory("objective", [&]() -> std::shared_ptr<const Objective> {
    const std::int64_t count = std::ssize(outputs);
    const bool numbers = task == Task::regression || task == Task::forecast;
    const bool classes = task == Task::classifier || task == Task::tagging;
    if (count < 1) throw Error("[objective] expected at least one output");
    if (!classes && (!options.class_weights.empty() || options.focal_gamma != 0))
      throw Error(std::string("[objective] the task ") + task_name(task) + " has no classes to weight");
    if (!numbers && options.huber_delta != 0)
      throw Error(std::string("[objective] the task ") + task_name(task) + " has no Huber loss");
    if (classes) return std::make_shared<Classes>(outputs, options, task == Task::tagging);
    if (numbers) return std::make_shared<Numbers>(count, options.huber_delta);
    if (task == Task::multilabel) return std::make_shared<Multilabel>(count);
    throw Error(std::string("[objective] expected one of weft's own tasks that learn from rows, got ") +
                task_name(task));
  });
}

}  // namespace weft
