// What the architectures' language models and classifiers share.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "weft/layers.h"

namespace weft::detail {

// (length, d): sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)) in channels 2i and 2i+1. Vaswani et al. 2017.
Tensor sinusoidal_positions(std::int64_t length, std::int64_t d, DType dtype);

// The mean of x (b, n, d) over the tokens (b, n) that are not padding, 0: (b, d). Zeros where all are.
Tensor mean_of_tokens(const Tensor& x, const Tensor& tokens);

// Of each parameter's value, in their order.
std::vector<std::uint64_t> versions_of(const NamedParameters& parameters);

// A token stream's parameters: what it keeps of earlier tokens is what they made of them.
class SteadyParameters {
 public:
  explicit SteadyParameters(NamedParameters parameters) : parameters_(std::move(parameters)) {}
  // Error if one was written since the first call.
  void check();

 private:
  NamedParameters parameters_;
  std::vector<std::uint64_t> versions_;  // at the first call
};

// What one text's tokens left in a layer, a row (d) each. Copies share their memory until one of them is written.
class TokenRows {
 public:
  // rows (n, d) of tokens at … at + n - 1; what was there from `at` on is lost.
  void put(std::int64_t at, const Tensor& rows);
  // (count, d), a view.
  Tensor first(std::int64_t count) const { return slice(rows_, 0, 0, count); }

 private:
  Tensor rows_;  // (capacity, d)
};

// Texts that a stream's step takes at once. Products of so few rows read the weights once for all of them, and each row is
// computed as if it were alone (`dot` of the kernels of gemm); with more rows sums are combined otherwise.
constexpr std::int64_t texts_at_once = 8;

// What a stream is asked for: Error unless tokens are i64 (texts, n >= 1).
void check_appended(const Tensor& tokens, std::int64_t texts);
// Error unless there are indices, each one of a text.
void check_selected(const std::vector<std::int64_t>& indices, std::int64_t texts);

// What select() goes on with.
template <class Text>
std::vector<Text> selected(const std::vector<Text>& texts, const std::vector<std::int64_t>& indices) {
  check_selected(indices, std::ssize(texts));
  std::vector<Text> chosen;
  for (std::int64_t i : indices) chosen.push_back(texts[static_cast<std::size_t>(i)]);
  return chosen;
}

}  // namespace weft::detail
