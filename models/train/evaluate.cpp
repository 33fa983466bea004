#include <cmath>

#include "train/labels.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/trainer.h"

namespace weft {
using namespace detail;

std::optional<Confusion> Meter::confusion() const { return {}; }

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

Evaluation evaluate(const Model& model, const Data& data) { return *evaluate(model, data, nullptr); }

std::optional<Evaluation> evaluate(const Model& model, const Data& data, const std::function<bool()>& stop) try {
  const NoGrad suspended;
  Evaluation total;
  const auto meter = data.meter();
  const bool rows = task_source(data.task()) == Source::rows;
  if (rows) check_padding(model, *data.tokenizer(), "evaluate");
  bool stopped = false;
  Context::current().parallel_region([&] {
    for (std::int64_t k = 0; k < data.validation_batches(); ++k) {
      stopped = stop && stop();
      if (stopped) return;
      const Batch batch = data.validation(k);
      const Tensor output = rows ? logits_of_rows(model, batch.tokens) : model(batch.tokens);
      total.loss += data.loss(output, batch).item() * static_cast<double>(batch.predicted);
      total.predicted += batch.predicted;
      total.bytes += batch.bytes;
      if (meter) meter->add(output, batch);
    }
  });
  if (stopped) return std::nullopt;
  total.loss /= static_cast<double>(total.predicted);
  if (meter) {
    total.metrics = meter->metrics();
    total.confusion = meter->confusion();
  }
  return total;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("evaluate");
}

}  // namespace weft
