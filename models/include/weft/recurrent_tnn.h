/// \file
/// TNN language models with constant time per generated token. Their coefficients are sums of exponentials, which a
/// recurrence computes (TnnConfig::exponentials). This header makes such a model from any other TNN language model.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "weft/model.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The result of recurrent_tnn.
struct RecurrentTnn {
  std::unique_ptr<Model> model;  ///< the model with TnnConfig::exponentials
  /// For each layer, ‖t' - t‖₂ / ‖t‖₂ over all channels and the fitted lags, where t are the coefficients of the
  /// original and t' those of the new model.
  std::vector<double> errors;
};

/// Returns a TNN language model that approximates `model`. Its coefficients are sums of `exponentials` exponentials,
/// which are fitted to the first `lags` coefficients of each channel. All other parameters are those of `model`. Throws
/// an Error unless `model` is a causal TNN language model without normalize and exponentials, whose coefficients don't
/// depend on the length (par_type 1 or 4), and that is not quantized. Throws an Error unless exponentials >= 1 and
/// 4 · exponentials <= lags <= 8192, or if coefficients are not finite. The fit needs 4 · lags² bytes for each thread.
RecurrentTnn recurrent_tnn(const Model& model, std::int64_t exponentials, std::int64_t lags);

}  // namespace weft
WEFT_PUBLIC_END
