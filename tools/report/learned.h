// Figures that show how the layers of a model mix tokens.
#pragma once
#include <weft/model.h>

#include <cstdint>

#include "report/json.h"

namespace report {

// For a gMLP, returns {"kind": "gating", "causal", "length", "layers": [{"matrix", "by_distance", "toeplitz_share"}],
// "distances"}. "matrix" is W of a spatial gating unit, "by_distance" has the mean of |W| for each i - j, and
// "toeplitz_share" is the fraction of W's variance that depends only on i - j.
// For a TNN, returns {"kind": "toeplitz", "causal", "length", "gamma", "channels", "lags", "layers": [{"rms", "gammas",
// "matrix"}]}. "matrix" has the coefficients of a Toeplitz operator over lags, with channels sorted by their mean lag.
// Returns null for other architectures. `length` is the length of the training sequences.
Json learned_weights(const weft::Model& model, std::int64_t length);

// For an FNet, returns {"kind": "fourier", "length", "sequences", "layers": [{"mixing_share", "network_share",
// "by_frequency", "influence"}]}, measured on the sequences of `input`. "mixing_share" and "network_share" are
// s / (s + r), where s is the squared norm of the output of the mixing or of the network, and r is the squared norm of
// the tensor to which the output is added. "by_frequency" has the share of each frequency 0 … n/2 in the sum of squares
// of the mixing's output. "influence" has the relative change of a layer's output i if the layer's input j is replaced
// with the mean of all inputs. Returns null for other architectures.
Json learned_mixing(const weft::Model& model, const weft::ModelInput& input);

}  // namespace report
