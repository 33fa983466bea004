// The parts of Trainer for several ranks.
#include "weft/trainer.h"

#include <algorithm>
#include <exception>

#include "base/hash.h"
#include "train/gather.h"
#include "train/gradient_exchange.h"

namespace weft {
using namespace detail;

void Trainer::check_same_parameters() {
  const Tensor& values = optimizer_.parameters().values();
  BytesHash hash;
  hash.add(values.raw(), static_cast<std::size_t>(values.numel()) * dtype_size(values.dtype()));
  check_alike(*options_.ranks,
              {{"step", std::to_string(step_)}, {"parameters", "hash " + std::to_string(hash.value())}});
}

std::unique_ptr<GradientExchange> Trainer::make_exchange() {
  ParameterSet& set = optimizer_.parameters();
  return std::make_unique<GradientExchange>(*options_.ranks, set,
                                            options_.exchange == Precision::bf16 ? DType::bf16 : set.values().dtype(),
                                            (options_.micro_batches + ranks() - 1) / ranks());
}

// A state has no place for what rounding has taken away from the gradients of all ranks. Without it, a run that goes on
// after a save gives the same bits as a run that resumes from this save. A step that fails leaves nothing behind,
// either.
void Trainer::forget_rounding() {
  if (exchange_) exchange_->forget_rounding();
}

// In round i, rank r computes micro-batch i · ranks + r. A rank that fails keeps exchanging until the end of the step,
// because the others wait for it, and then reports its error. Returns the losses of all micro-batches.
std::vector<double> Trainer::exchange_gradients(const std::vector<Batch>& batches, const std::vector<double>& shares) {
  const std::int64_t count = options_.micro_batches, rounds = (count + ranks() - 1) / ranks();
  std::vector<double> losses;
  std::exception_ptr failure;  // may be an exception of any type
  try {
    for (std::int64_t i = 0; i < rounds; ++i) {
      const std::int64_t first = i * ranks(), own = first + rank();
      exchange_->next_round(
          {static_cast<int>(std::min<std::int64_t>(ranks(), count - first)), i == 0, i + 1 == rounds});
      try {
        if (own < count && !failure)
          losses.push_back(add_gradient(batches[static_cast<std::size_t>(i)], own,
                                        shares[static_cast<std::size_t>(own)], *exchange_));
      } catch (...) {
        failure = std::current_exception();
      }
      exchange_->end_round();
    }
    exchange_->finish();
  } catch (const RankError&) {
    throw;
  } catch (const std::exception& error) {  // the others wait for data that never arrives
    options_.ranks->abort(std::string("[train] the exchange of gradients failed: ") + error.what());
  } catch (...) {
    options_.ranks->abort("[train] the exchange of gradients failed");
  }
  if (failure) std::rethrow_exception(failure);
  return gathered(options_.ranks, losses, count);
}

}  // namespace weft
