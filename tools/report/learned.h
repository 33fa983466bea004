// What a model's layers have learned, or do, to mix tokens.
#pragma once
#include <weft/model.h>

#include <cstdint>

#include "report/json.h"

namespace report {

// gMLP: {"kind": "gating", "causal", "length", "layers": [{"matrix", "by_distance", "toeplitz_share"}], "distances"}: W of each
// spatial gating unit, the mean |W| over i - j, and the part of W's variance that depends on i - j alone.
// TNN: {"kind": "toeplitz", "causal", "length", "gamma", "channels", "lags", "layers": [{"rms", "gammas", "matrix"}]}: the
// coefficients of each Toeplitz operator over lags; channels in the order of their mean lag.
// Null of any other. `length` is that of the sequences in training.
Json learned_weights(const weft::Model& model, std::int64_t length);

// FNet, on sequences `tokens` (b, n): {"kind": "fourier", "length", "sequences", "layers": [{"mixing_share",
// "network_share", "by_frequency", "influence"}]}: the part of the squares of a sum that the mixing, and the network,
// has beside what came in; the mixing's squares by frequency 0 … n/2; and the change of a layer's output i when input j is
// replaced with the mean of all, as a part of the output. Null of any other.
Json learned_mixing(const weft::Model& model, const weft::Tensor& tokens);

}  // namespace report
