#include "train/evaluate.h"

#include <cmath>

#include "data/equal_lengths.h"
#include "data/labels.h"
#include "train/gather.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/trainer.h"

namespace weft {
using namespace detail;

std::optional<Confusion> Meter::confusion() const { return {}; }

double Evaluation::metric(const std::string& name) const {
  for (const Metric& measured : metrics)
    if (measured.name == name) return measured.value;
  throw Error("[evaluate] the metric \"" + name + "\" was not measured");
}

double Evaluation::perplexity() const { return std::exp(loss); }

std::optional<double> Evaluation::bits_per_byte() const {
  if (bytes == 0) return std::nullopt;
  return loss * static_cast<double>(predicted) / std::log(2) / static_cast<double>(bytes);
}

namespace {

// A validation batch's contribution to an Evaluation.
struct Measured {
  double loss;  // the sum over all predictions
  std::int64_t predicted, bytes;
};

// Measures a rank's batches, which are every `stride`-th batch, starting with `first`. Stops early if stop() returns
// true.
struct Measuring {
  const Model& model;
  const Data& data;
  const std::function<bool()>& stop;
  std::int64_t first, stride;
  Meter* meter;
  bool stopped = false;
  std::vector<Measured> batches = {};

  void run() {
    for (std::int64_t k = first; k < data.validation_batches(); k += stride) {
      stopped = stop && stop();
      if (stopped) return;
      const Batch batch = data.validation(k);
      double loss = 0;
      for (const Batch& piece : equal_lengths(batch)) {
        const Tensor output = output_of(piece);
        loss += data.loss(output, piece).item() * static_cast<double>(piece.predicted);
        if (meter != nullptr) meter->add(output, piece);
      }
      batches.push_back({loss, batch.predicted, batch.bytes});
    }
  }

  // A classifier's result for a text doesn't depend on the other texts of the batch; see logits_of_rows.
  Tensor output_of(const Batch& batch) const {
    return data.task() == Task::classifier && !batch.frames.defined() ? logits_of_rows(model, batch.tokens)
                                                                      : model.forward({batch.tokens, batch.frames});
  }
};

// Replaces the meter's counts by the sums over all ranks.
void share_counts(Meter& meter, Ranks& ranks) {
  const std::vector<std::string> counts = ranks.gather(*meter.counts());
  for (std::size_t rank = 0; rank < counts.size(); ++rank)
    if (rank != static_cast<std::size_t>(ranks.rank())) meter.add_counts(counts[rank]);
}

}  // namespace

Evaluation evaluate(const Model& model, const Data& data) { return *evaluate(model, data, nullptr); }

std::optional<Evaluation> evaluate(const Model& model, const Data& data, const std::function<bool()>& stop) {
  return detail::evaluate(model, data, stop, nullptr);
}

std::optional<Evaluation> detail::evaluate(const Model& model, const Data& data, const std::function<bool()>& stop,
                                           Ranks* ranks) try {
  const NoGrad suspended;
  const auto meter = data.meter();
  if (task_source(data.task()) == Source::rows) check_padding(model, *data.tokenizer(), "evaluate");
  const std::int64_t all = data.validation_batches();
  const bool alone = ranks != nullptr && meter && !meter->counts();  // this meter's counts can't be combined
  const int rank = ranks == nullptr ? 0 : ranks->rank(), size = ranks == nullptr ? 1 : ranks->size();
  Measuring own{model, data, stop, alone && rank > 0 ? all : rank, alone ? 1 : size, meter.get()};
  Context::current().parallel_region([&] { own.run(); });
  if (on_any(ranks, own.stopped)) return std::nullopt;
  Evaluation total;
  if (alone) {
    own.batches = values_of<Measured>(ranks->gather(bytes_of(own.batches))[0], static_cast<std::size_t>(all));
  } else {
    own.batches = gathered(ranks, own.batches, all);
    if (ranks != nullptr && meter) share_counts(*meter, *ranks);
  }
  for (const Measured& batch : own.batches) {
    total.loss += batch.loss;
    total.predicted += batch.predicted;
    total.bytes += batch.bytes;
  }
  total.loss /= static_cast<double>(total.predicted);
  if (meter && !(alone && rank > 0)) {
    total.metrics = meter->metrics();
    total.confusion = meter->confusion();
  }
  return total;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("evaluate");
}

}  // namespace weft
