// Keeps the coefficients that the token streams of a TNN have computed, and the numbers of significant lags.
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "streaming/toeplitz_lags.h"
#include "weft/precision.h"

namespace weft::detail {

// The coefficients of all layers, from the longest prompt that was not too long. A new stream starts with them, so that
// it reads a prompt as quickly as a forward pass does, whose coefficients are kept too (base/kept_toeplitz.h). Several
// threads may use the object at the same time.
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

  // Returns what is kept for this state, or null.
  std::shared_ptr<const Layers> find(const State& state) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return state == state_ ? layers_ : nullptr;
  }
  void keep(State state, std::shared_ptr<const Layers> layers) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    state_ = std::move(state);
    layers_ = std::move(layers);
  }

  // Returns the number of significant lags of each layer. Computes it again only if the model's parameters have changed.
  template <class Compute>
  std::vector<std::int64_t> significant(std::vector<std::uint64_t> versions, Compute compute) {
    const std::lock_guard<std::mutex> lock(significant_mutex_);
    if (versions != significant_versions_) {
      significant_ = compute();
      significant_versions_ = std::move(versions);
    }
    return significant_;
  }

 private:
  std::mutex significant_mutex_;
  std::vector<std::uint64_t> significant_versions_;
  std::vector<std::int64_t> significant_;
  mutable std::mutex mutex_;
  State state_{};
  std::shared_ptr<const Layers> layers_;
};

}  // namespace weft::detail
