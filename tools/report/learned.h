// How the layers of a model mix tokens.
#pragma once
#include <weft/model.h>

#include <cstdint>

#include "report/json.h"

namespace report {

// gMLP: {"kind": "gating", "causal", "length", "layers": [{"matrix", "by_distance", "toeplitz_share"}], "distances"}: W
// of each spatial gating unit, the mean |W| over i - j, and the part of W's variance that depends only on i - j.
// TNN: {"kind": "toeplitz", "causal", "length", "gamma", "channels", "lags", "layers": [{"rms", "gammas", "matrix"}]}:
// the coefficients of each Toeplitz operator over lags, with channels sorted by their mean lag.
// Null for other architectures. `length` is the length of the training sequences.
Json learned_weights(const weft::Model& model, std::int64_t length);

// FNet, on sequences `tokens` (b, n): {"kind": "fourier", "length", "sequences", "layers": [{"mixing_share",
// "network_share", "by_frequency", "influence"}]}. mixing_share and network_share compare squared norms: s / (s + r),
// where s is the output of the mixing, or of the network, and r is what it is added to. by_frequency has the mixing's
// squares by frequency 0 … n/2. influence has the relative change of a layer's output i when input j is replaced with
// the mean of all inputs. Null for other architectures.
Json learned_mixing(const weft::Model& model, const weft::ModelInput& input);

}  // namespace report
