// Keeps the coefficients that the token streams of a TNN have computed.
#pragma once
#include <cstdint>
#include <mutex>
#include <vector>

#include "streaming/toeplitz_lags.h"
#include "weft/context.h"
#include "weft/precision.h"

namespace weft::detail {

// The coefficients of all layers, from the longest prompt so far. A new stream starts with them, so that it reads a
// prompt as quickly as a forward pass does, whose coefficients are kept too (base/kept_toeplitz.h). Several threads may
// use the object at the same time.
class KeptLags {
 public:
  using Layers = std::vector<ToeplitzLags::Computed>;

  // What the bits of the coefficients depend on.
  struct State {
    std::vector<std::uint64_t> versions;  // of the model's parameters
    Precision precision;
    Isa isa;
    bool operator==(const State&) const = default;
  };

  // Returns what is kept for this state, or nothing.
  Layers find(const State& state) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return state == state_ ? layers_ : Layers();
  }
  // Keeps these coefficients, unless as many are kept for this state already.
  void keep(const State& state, Layers layers) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (state == state_ && !layers_.empty() && size(layers) <= size(layers_)) return;
    layers_.swap(layers);
    state_ = state;
  }

 private:
  static std::int64_t size(const Layers& layers) {
    std::int64_t rows = 0;
    for (const ToeplitzLags::Computed& layer : layers) rows += layer.rows.size();
    return rows;
  }

  mutable std::mutex mutex_;
  State state_{};
  Layers layers_;
};

}  // namespace weft::detail
