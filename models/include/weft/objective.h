/// \file
/// Objectives: the loss that a task minimizes and the metrics that it measures. A host program may define its own
/// objectives.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/data.h"
#include "weft/rows.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Returns the mean of binary_cross_entropy_with_logits(). Like that function, mse_loss() and huber_loss() are in
/// weft/rows.h.
inline Tensor binary_cross_entropy(const Tensor& logits, const Tensor& target) {
  return binary_cross_entropy_with_logits(logits, target);
}
/// Returns the weighted mean of w_t · (1 - p_t)^gamma · -log p_t over all targets t except -100, where p is
/// softmax(logits) (Lin et al. 2017, Focal Loss for Dense Object Detection, arXiv 1708.02002, section 3.2). logits (…,
/// c), target (…) i64, weights (c), or empty if all are 1. As in PyTorch's cross_entropy, the sum is divided by the sum
/// of the weights w_t.
Tensor focal_loss(const Tensor& logits, const Tensor& target, const std::vector<double>& weights, double gamma);

/// The loss and the metrics of a task. Several threads may call the functions at the same time.
class Objective {
 public:
  virtual ~Objective() = default;
  /// Returns the mean loss over everything that the batch predicts. The result is differentiable and has rank 0.
  virtual Tensor loss(const Tensor& output, const Batch& batch) const = 0;
  /// Returns a meter for metrics other than the loss; null if there are none.
  virtual std::unique_ptr<Meter> meter() const { return nullptr; }
  /// The shape and dtype of a row's target. For a class, the shape is empty and the dtype is i64. A size of -1 stands
  /// for the row's length. RowData checks each target against this shape and dtype.
  virtual Shape target_shape() const = 0;
  virtual DType target_dtype() const { return DType::f32; }  ///< see target_shape()
  /// The number of classes of an i64 target; 0 if any number is allowed.
  virtual std::int64_t classes() const { return 0; }
};

/// Options of weft's own objectives.
struct ObjectiveOptions {
  /// Classifier, tagging: one weight for each class, above 0; empty: all 1. The sum of the weighted terms is divided by
  /// the number of targets, so that a batch can be computed in parts.
  std::vector<double> class_weights;
  double focal_gamma = 0;  ///< classifier, tagging: see focal_loss()
  double huber_delta = 0;  ///< regression, forecast: see huber_loss(); 0: the mean squared error
};

/// Makes weft's own objective for a task on rows. `outputs` are the names of the outputs. The loss and the metrics are:
/// - classifier: cross entropy; accuracy and macro F1
/// - regression, forecast: mean squared error; MAE and R², averaged over the outputs
/// - multilabel: binary cross entropy; micro F1, macro F1 and mean average precision
/// - tagging: cross entropy of each token; accuracy and macro F1 of tokens. If the labels are O, B-NAME and I-NAME,
///   also span F1 as in conlleval
///
/// Throws an Error for another task, if there are no outputs, or if the task does not support an option.
std::shared_ptr<const Objective> make_objective(Task task, const std::vector<std::string>& outputs,
                                                const ObjectiveOptions& options = {});

}  // namespace weft
WEFT_PUBLIC_END
