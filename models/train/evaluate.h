// Evaluation by several ranks.
#pragma once
#include <functional>
#include <optional>

#include "weft/trainer.h"

namespace weft::detail {

// Does the same as weft::evaluate, with bit-identical results. Each rank measures every size()-th batch. Returns
// nullopt if stop() returns true on one of the ranks. If the counts of the data's meter can't be combined, rank 0
// measures all batches, and only rank 0 has the metrics. If `ranks` is null, only this process measures.
std::optional<Evaluation> evaluate(const Model& model, const Data& data, const std::function<bool()>& stop,
                                   Ranks* ranks);

}  // namespace weft::detail
