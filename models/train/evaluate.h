// Validation by several ranks.
#pragma once
#include <functional>
#include <optional>

#include "weft/trainer.h"

namespace weft::detail {

// As weft::evaluate, to the same bits, by all ranks, each of which takes every size()-th batch; none if one of them stops.
// If the data's meter can't be divided rank 0 takes all, and has the metrics. Null: by this process alone.
std::optional<Evaluation> evaluate(const Model& model, const Data& data, const std::function<bool()>& stop,
                                   Ranks* ranks);

}  // namespace weft::detail
