// Functions that the language models and classifiers of several architectures share.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <vector>

#include "weft/layers.h"
#include "weft/recompute.h"

namespace weft::detail {

// Returns (length, d) with sin(p / 10000^(2i/d)) and cos(p / 10000^(2i/d)) in channels 2i and 2i+1 of row p (Vaswani et
// al. 2017).
Tensor sinusoidal_positions(std::int64_t length, std::int64_t d, DType dtype);

// The argument of Init::child() for the parameters of a model's FrameEmbedding.
constexpr std::uint64_t frames_child = ~std::uint64_t{0};

// Rows of sinusoidal_positions up to a maximum length. A row is computed when it is first requested, so a large seq_len
// alone takes no memory. The class is thread-safe.
class SinusoidalPositions {
 public:
  SinusoidalPositions(std::int64_t length, std::int64_t d) : length_(length), d_(d) {}
  // P[first … first+n-1] (n, d).
  Tensor operator()(std::int64_t first, std::int64_t n, DType dtype);

 private:
  std::int64_t length_, d_;
  std::mutex mutex_;
  Tensor rows_;
};

// Returns x in the dtype, cast if necessary.
inline Tensor in_dtype(const Tensor& x, DType dtype) { return x.dtype() == dtype ? x : cast(x, dtype); }
// Returns x, converted to f32 if it is bf16. Use this where an operation needs x and a parameter in the same dtype.
inline Tensor widened(const Tensor& x) { return in_dtype(x, x.dtype() == DType::bf16 ? DType::f32 : x.dtype()); }

// Computes x = run(layer, x, random) for each layer. The random generators are the children `first`, `first` + 1, … of
// dropout, if given. With `again`, backward computes each layer again. `run` is copied for this, and the layers must
// live until backward.
template <class Layer, class Run>
Tensor through_layers(const std::vector<Layer>& layers, Tensor x, const Random* dropout, std::uint64_t first,
                      bool again, const Run& run) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::optional<Random> random = dropout ? std::optional(dropout->split(first + i)) : std::nullopt;
    const auto layer = [&one = layers[i], run, random](const Inputs& in) {
      return run(one, in[0], random ? &*random : nullptr);
    };
    x = again ? recompute(layer, {x}) : layer({x});
  }
  return x;
}

// Returns the mean (b, d) of x (b, n, d) over the tokens (b, n) that are not padding (0), or over all n if `tokens` is
// undefined. For bf16 input the mean is computed in f32. The mean is zero if all tokens are padding.
Tensor mean_of_tokens(const Tensor& x, const Tensor& tokens);

// Returns x (b, n, d) at the last of each row's tokens (b, n) that is not padding (0), or at the last position if
// `tokens` is undefined: (b, d). The result is zero for a row that has only padding.
Tensor last_token(const Tensor& x, const Tensor& tokens);

// Returns the version of each parameter's value, in the order of the parameters.
std::vector<std::uint64_t> versions_of(const NamedParameters& parameters);

}  // namespace weft::detail
