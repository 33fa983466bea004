#include "train/labels.h"
#include "weft/trainer.h"

namespace weft {

double Evaluation::metric(const std::string& name) const {
  for (const Metric& measured : metrics)
    if (measured.name == name) return measured.value;
  throw Error("[evaluate] no " + name + " was measured");
}

Evaluation evaluate(const Model& model, const Data& data) {
  const NoGrad suspended;
  Evaluation total;
  const auto meter = data.meter();
  const bool rows = task_source(data.task()) == Source::rows;
  for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
    const Batch batch = data.validation(k);
    const Tensor output = rows ? detail::logits_of_rows(model, batch.tokens) : model(batch.tokens);
    total.loss += data.loss(output, batch).item() * static_cast<double>(batch.predicted);
    total.predicted += batch.predicted;
    if (meter) meter->add(output, batch);
  }
  total.loss /= static_cast<double>(total.predicted);
  if (meter) total.metrics = meter->metrics();
  return total;
}

}  // namespace weft
