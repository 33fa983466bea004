#include "weft/trainer.h"

namespace weft {
namespace {

// Rows of logits (b, c) whose highest is at the target.
std::int64_t count_right(const Tensor& logits, const Tensor& target) {
  const auto x = raw::convert(logits, DType::f64).to_vector<double>();
  const auto want = target.to_vector<std::int64_t>();
  const auto classes = static_cast<std::size_t>(logits.size(1));
  std::int64_t right = 0;
  for (std::size_t row = 0; row < want.size(); ++row) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c)
      if (x[row * classes + c] > x[row * classes + best]) best = c;
    right += best == static_cast<std::size_t>(want[row]);
  }
  return right;
}

}  // namespace

Evaluation evaluate(const Model& model, const Data& data) {
  const NoGrad suspended;
  Evaluation total;
  std::int64_t right = 0;
  for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
    const Batch batch = data.validation(k);
    const Tensor logits = model(batch.tokens);
    total.loss += cross_entropy(logits, batch.target).item() * static_cast<double>(batch.predicted);
    total.predicted += batch.predicted;
    if (data.task() == Task::classifier) right += count_right(logits, batch.target);
  }
  total.loss /= static_cast<double>(total.predicted);
  total.accuracy = static_cast<double>(right) / static_cast<double>(total.predicted);
  return total;
}

}  // namespace weft
