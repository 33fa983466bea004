#include <cmath>

#include "weft/context.h"
#include "weft/trainer.h"

namespace weft {

double Evaluation::metric(const std::string& name) const {
  for (const Metric& measured : metrics)
    if (measured.name == name) return measured.value;
  throw Error("[evaluate] no " + name + " was measured");
}

double Evaluation::perplexity() const { return std::exp(loss); }

std::optional<double> Evaluation::bits_per_byte() const {
  if (bytes == 0) return std::nullopt;
  return loss * static_cast<double>(predicted) / std::log(2) / static_cast<double>(bytes);
}

Evaluation evaluate(const Model& model, const Data& data) {
  const NoGrad suspended;
  Evaluation total;
  const auto meter = data.meter();
  Context::current().parallel_region([&] {
    for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
      const Batch batch = data.validation(k);
      const Tensor output = model(batch.tokens);
      total.loss += data.loss(output, batch).item() * static_cast<double>(batch.predicted);
      total.predicted += batch.predicted;
      total.bytes += batch.bytes;
      if (meter) meter->add(output, batch);
    }
  });
  total.loss /= static_cast<double>(total.predicted);
  if (meter) total.metrics = meter->metrics();
  return total;
}

}  // namespace weft
