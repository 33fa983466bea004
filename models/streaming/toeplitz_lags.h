// The coefficients t_0, t_1, … of a causal Toeplitz product whose length isn't known in advance.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "streaming/blocked_rows.h"
#include "weft/cpu.h"
#include "weft/spectral.h"

namespace weft::detail {

// Each coefficient is computed once, always in groups of BlockedRows::block lags, so it has the same bits for every
// caller. The class is not thread-safe.
class ToeplitzLags {
 public:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // size, distance, first channel

  // Everything that has been computed, except for large spectra. Copies share the memory of the coefficients and the
  // spectra.
  struct Computed {
    std::optional<Isa> isa;  // the instruction set with which everything was computed; empty: nothing was
    bool is_mixed = false;   // whether other instruction sets were used, too
    std::int64_t significant = -1;
    BlockedRows rows;
    std::map<Key, ToeplitzCoefficients> small;
    std::vector<std::vector<double>> sums;  // [k]: the sum of the lags below k · block
  };

  // `make`(first, last) returns t_first … t_(last-1), (last - first, d). `significant`() returns the number of
  // significant lags. It is called once. All lags from this number on are treated as 0.
  ToeplitzLags(std::function<Tensor(std::int64_t, std::int64_t)> make, std::function<std::int64_t()> significant)
      : make_(std::move(make)), find_significant_(std::move(significant)) {}

  std::int64_t significant();
  // Computes the significant coefficients among t_0 … t_(count-1) that don't exist yet.
  void reach(std::int64_t count);
  // The coefficients that were computed. Rows after the last one are read as 0. This is correct for the rows below the
  // count passed to reach().
  const BlockedRows& rows() const noexcept { return computed_.rows; }

  // The coefficients t_(distance · size + i - j) of `channels` channels from `channel` on. They give the contribution
  // of `size` rows j to the `size` rows i that come distance · size rows later.
  const ToeplitzCoefficients& between(std::int64_t size, std::int64_t distance, std::int64_t channel,
                                      std::int64_t channels);
  // The sums t_0 + … + t_i for i from `at` to `at` + n - 1, (n, d).
  Tensor sums(std::int64_t at, std::int64_t n);

  const Computed& computed() const noexcept { return computed_; }
  // Continues from what an object with the same coefficients has computed.
  void continue_from(Computed computed) noexcept { computed_ = std::move(computed); }

 private:
  // Records the instruction set of the current context. It is called before a computation.
  void record_isa();

  std::function<Tensor(std::int64_t, std::int64_t)> make_;
  std::function<std::int64_t()> find_significant_;
  Computed computed_;
  std::map<Key, ToeplitzCoefficients> latest_;
};

}  // namespace weft::detail
