// The coefficients t_0, t_1, … of a causal Toeplitz product whose length isn't known beforehand.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <vector>

#include "streaming/blocked_rows.h"
#include "weft/spectral.h"

namespace weft::detail {

// Each is made once and is the same, bit by bit, whoever asks for it: always BlockedRows::block lags at a time. One thread's.
class ToeplitzLags {
 public:
  // `make`(first, last): t_first … t_(last-1), (last - first, d). `significant`(): how many lags count, which is asked once;
  // those from there on may be taken for 0.
  ToeplitzLags(std::function<Tensor(std::int64_t, std::int64_t)> make, std::function<std::int64_t()> significant)
      : make_(std::move(make)), find_significant_(std::move(significant)) {}

  std::int64_t significant();
  // Makes what is missing of t_0 … t_(count-1), and counts.
  void reach(std::int64_t count);
  // As far as they were made; behind that they are 0 where reach() was told of it.
  const BlockedRows& rows() const noexcept { return rows_; }

  // What takes `size` rows to those that begin `distance` · size rows later: t_(distance · size + i - j), of some channels.
  const ToeplitzCoefficients& between(std::int64_t size, std::int64_t distance, std::int64_t channel,
                                      std::int64_t channels);
  // (n, d): t_0 + … + t_i for i = at … at + n - 1.
  Tensor sums(std::int64_t at, std::int64_t n);

 private:
  using Key = std::tuple<std::int64_t, std::int64_t, std::int64_t>;  // size, distance, first channel

  std::function<Tensor(std::int64_t, std::int64_t)> make_;
  std::function<std::int64_t()> find_significant_;
  std::int64_t significant_ = -1;
  BlockedRows rows_;
  std::map<Key, ToeplitzCoefficients> small_, latest_;
  std::vector<std::vector<double>> sums_;  // [k]: of the lags below k · block
};

}  // namespace weft::detail
