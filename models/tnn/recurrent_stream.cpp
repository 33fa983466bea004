// The token stream of a TNN language model whose coefficients are sums of exponentials. Each layer is a recurrence with
// the same time and memory for each token.
#include <algorithm>

#include "base/token_stream.h"
#include "weft/detail/recurrence.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

namespace detail {

// The states (K, 2, d1) of all layers.
using LayerStates = std::vector<Tensor>;

struct RecurrentText {
  LayerStates states;                // after the last token
  std::vector<LayerStates> earlier;  // before each of the last tokens that can be taken back, the earliest first
};

}  // namespace detail

class Tnn::RecurrentStream : public StreamOf<Tnn::RecurrentStream, RecurrentText> {
 public:
  explicit RecurrentStream(const Tnn& model) : StreamOf(model, empty_text(model)), model_(model) {}

  // The texts change only at the end, so that an Error leaves them unchanged.
  Tensor extend(const Tensor& tokens) {
    const std::int64_t at_once = tokens.size(1) == 1 ? texts_at_once : 1;
    std::vector<LayerStates> after;
    for (const RecurrentText& text : texts_) after.push_back(text.states);
    std::vector<Tensor> logits;
    for (std::int64_t first = 0; first < texts(); first += at_once)
      logits.push_back(model_.last_logits(
          slice(tokens, 0, first, std::min(first + at_once, texts())), [&](const Tensor& v, std::size_t layer) {
            return mix(v, layer, [&](std::int64_t i) { return &after[static_cast<std::size_t>(first + i)][layer]; });
          }));
    Tensor all = concat(logits, 0);
    for (std::size_t i = 0; i < after.size(); ++i) texts_[i] = {std::move(after[i]), {}};
    return all;
  }

  std::int64_t most_at_once(const RecurrentText&) const noexcept { return texts_at_once; }

  Tensor extend_each(const Tensor& tokens) {
    const std::int64_t n = tokens.size(1);
    RecurrentText& text = texts_[0];
    LayerStates now = text.states;
    std::vector<LayerStates> earlier(static_cast<std::size_t>(n), now);
    Tensor all = model_.last_logits(reshape(tokens, {n, 1}), [&](const Tensor& v, std::size_t layer) {
      return mix(v, layer, [&](std::int64_t i) {
        earlier[static_cast<std::size_t>(i)][layer] = now[layer];
        return &now[layer];
      });
    });
    text = {std::move(now), std::move(earlier)};
    return all;
  }

  void shorten(RecurrentText& text, std::int64_t count) noexcept {
    if (count == 0) return;
    text.states = std::move(text.earlier[text.earlier.size() - static_cast<std::size_t>(count)]);
    text.earlier.resize(text.earlier.size() - static_cast<std::size_t>(count));
  }

 private:
  static RecurrentText empty_text(const Tnn& model) {
    RecurrentText text;
    for (const TnnLayer& layer : model.layers_) {
      const Gtu& gtu = layer.token_mixer();
      const DType dtype = model.embedding_.weight.value().dtype() == DType::f64 ? DType::f64 : DType::f32;
      text.states.push_back(Tensor::zeros({model.config_.exponentials, 2, gtu.d1()}, dtype));
    }
    return text;
  }

  // Mixes the new tokens v (b, n, d1). Row i continues the state *state(i), and replaces it by the state after its last
  // token.
  template <class State>
  Tensor mix(const Tensor& v, std::size_t layer, State state) {
    std::vector<Tensor> sums;
    for (std::int64_t i = 0; i < v.size(0); ++i) {
      const Tensor row = raw::contiguous(widened(reshape(slice(v, 0, i, i + 1), {v.size(1), v.size(2)})));
      sums.push_back(run_recurrence(row, factors(layer), *state(i)));
    }
    return in_dtype(reshape(concat(sums, 0), v.shape()), v.dtype());
  }

  // A stream's parameters may change until its first token.
  const Tensor& factors(std::size_t layer) {
    if (layer == factors_.size())
      factors_.push_back(model_.layers_[layer].token_mixer().toep().exponentials()->factors());
    return factors_[layer];
  }

  const Tnn& model_;
  std::vector<Tensor> factors_;  // (K, 4, d1) for each layer
};

std::unique_ptr<TokenStream> Tnn::recurrent_stream() const {
  return guard_memory("generate", [&] { return std::make_unique<RecurrentStream>(*this); });
}

// The factors, and the states before and after a token.
std::int64_t Tnn::recurrent_stream_bytes() const noexcept {
  std::int64_t channels = 0;
  for (const TnnLayer& layer : layers_) channels += layer.token_mixer().d1();
  const auto element = dtype_size(embedding_.weight.value().dtype() == DType::f64 ? DType::f64 : DType::f32);
  return (4 + 2 * 2) * config_.exponentials * channels * static_cast<std::int64_t>(element);
}

}  // namespace weft
