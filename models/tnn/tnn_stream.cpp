// The token stream of a TNN language model. It reads one token of each text, or many tokens at once.
#include <algorithm>

#include "base/token_stream.h"
#include "streaming/online_toeplitz.h"
#include "tnn/kept_lags.h"
#include "weft/context.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

namespace detail {

struct TnnText {
  std::vector<OnlineToeplitz> layers;
  std::int64_t length = 0;
};

// The model keeps at most this many bytes of coefficients, so that it doesn't hold much memory after a long text.
constexpr std::int64_t most_kept_bytes = std::int64_t{512} << 20;

}  // namespace detail

// Supports only par_type 1 and 4, where the coefficients don't depend on the length.
class Tnn::Stream : public StreamOf<Tnn::Stream, TnnText> {
 public:
  explicit Stream(const Tnn& model) : StreamOf(model, empty_text(model)), model_(model) {}

  Tensor extend(const Tensor& tokens) {
    const std::int64_t n = tokens.size(1), at_once = n == 1 ? texts_at_once : 1;
    if (n > 1) take_kept_lags();
    std::vector<Tensor> logits;
    for (std::int64_t first = 0; first < texts(); first += at_once)
      logits.push_back(read(slice(tokens, 0, first, std::min(first + at_once, texts())), first));
    Tensor all = concat(logits, 0);
    if (n > 1) {  // so that the next token doesn't have to wait
      for (TnnText& text : texts_)
        for (OnlineToeplitz& layer : text.layers) layer.prepare(text.length + n);
      keep_lags();
    }
    for (TnnText& text : texts_) text.length += n;
    return all;
  }

  // Within a block of rows, taking back tokens costs nothing.
  std::int64_t most_at_once(const TnnText& text) const noexcept {
    return BlockedRows::block - text.length % BlockedRows::block;
  }

  Tensor extend_each(const Tensor& tokens) {
    const std::int64_t n = tokens.size(1);
    Tensor all = read(reshape(tokens, {n, 1}), 0);
    texts_[0].length += n;
    return all;
  }

  void shorten(TnnText& text, std::int64_t count) noexcept { text.length -= count; }

  void welcome(TnnText& text) noexcept {
    for (std::size_t i = 0; i < text.layers.size() && !texts_.empty(); ++i)
      text.layers[i].share_lags(texts_.front().layers[i]);
  }

 private:
  // The Toeplitz products of all layers for an empty text. Different layers have different phases, so they do their
  // pieces of work at different tokens.
  static TnnText empty_text(const Tnn& model) {
    TnnText text;
    const auto layers = static_cast<double>(model.layers_.size());
    for (const TnnLayer& layer : model.layers_) {
      const Tno& tno = layer.token_mixer().toep();
      const auto make = [&tno](std::int64_t first, std::int64_t last) { return tno.coefficients(first, last); };
      const auto lags = std::make_shared<ToeplitzLags>(make, [&tno] { return tno.significant_lags(); });
      text.layers.emplace_back(lags, static_cast<double>(text.layers.size()) / layers);
    }
    return text;
  }

  // Starts with the lags that earlier streams of the model have computed, if this stream has none yet. All texts share
  // their lags.
  void take_kept_lags() {
    if (texts_.empty()) return;
    std::vector<OnlineToeplitz>& layers = texts_.front().layers;
    if (layers.empty() || layers.front().lags().computed().isa) return;
    const auto kept = model_.kept_lags_->find(state());
    for (std::size_t i = 0; kept != nullptr && i < layers.size(); ++i) layers[i].lags().continue_from((*kept)[i]);
  }

  // Keeps this stream's lags for later streams, if they are more than those that are kept.
  void keep_lags() {
    const KeptLags::State now = state();
    const auto kept = model_.kept_lags_->find(now);
    std::vector<OnlineToeplitz>& layers = texts_.front().layers;
    std::int64_t bytes = 0, new_rows = 0;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const ToeplitzLags::Computed& lags = layers[i].lags().computed();
      if (lags.is_mixed || lags.isa != now.isa) return;
      bytes += lags.rows.size() * lags.rows.channels() * static_cast<std::int64_t>(dtype_size(lags.rows.dtype()));
      new_rows += lags.rows.size() - (kept == nullptr ? 0 : (*kept)[i].rows.size());
    }
    if (new_rows <= 0 || bytes > most_kept_bytes) return;
    auto copies = std::make_shared<KeptLags::Layers>();
    for (OnlineToeplitz& layer : layers) copies->push_back(layer.lags().computed());
    model_.kept_lags_->keep(now, std::move(copies));
  }

  KeptLags::State state() const { return {steady().versions(), model_.precision(), Context::current().isa()}; }

  // The forward pass over tokens (b, n). If there are several texts, or if b = 1, row i continues text `first` + i.
  // Otherwise the b rows, of one token each, continue the only text one after the other. Returns the logits (b,
  // vocabulary).
  Tensor read(const Tensor& tokens, std::int64_t first) {
    return model_.last_logits(tokens, [&](const Tensor& v, std::size_t layer) { return mix(v, layer, first); });
  }

  // Mixes the new tokens of read(): v (b, n, d1) -> y_i = Σ_(j <= i) t_(i-j) v_j, (b, n, d1), where i is the position of
  // a token in its text. If the coefficients are normalized, divides y_i by t_0 + … + t_i.
  Tensor mix(const Tensor& v, std::size_t layer, std::int64_t first) {
    const std::int64_t n = v.size(1), d1 = v.size(2);
    const bool normalize = model_.layers_[layer].token_mixer().toep().options().normalize;
    std::vector<Tensor> sums;
    for (std::int64_t i = 0; i < v.size(0); ++i) {
      const bool is_only = texts() == 1;
      TnnText& text = texts_[is_only ? 0 : static_cast<std::size_t>(first + i)];
      const std::int64_t at = text.length + (is_only ? i : 0);
      OnlineToeplitz& past = text.layers[layer];
      const Tensor y = past.append(at, widened(reshape(slice(v, 0, i, i + 1), {n, d1})));
      sums.push_back(normalize ? div(y, past.lags().sums(at, n)) : y);
    }
    return in_dtype(reshape(concat(sums, 0), v.shape()), v.dtype());
  }

  const Tnn& model_;
};

std::unique_ptr<TokenStream> Tnn::stream() const {
  if (task_ != Task::causal_lm || config_.depends_on_length()) return Model::stream();
  if (config_.exponentials > 0) return recurrent_stream();
  return guard_memory("generate", [&] { return std::make_unique<Stream>(*this); });
}

std::int64_t Tnn::stream_bytes(std::int64_t tokens) const {
  if (config_.depends_on_length()) return Model::stream_bytes(tokens);
  if (config_.exponentials > 0) return recurrent_stream_bytes();
  return guard_memory("generate", [&] {
    const auto element = dtype_size(embedding_.weight.value().dtype() == DType::f64 ? DType::f64 : DType::f32);
    const std::vector<std::int64_t> lags = kept_lags_->significant(versions_of(parameters()), [&] {
      std::vector<std::int64_t> all;
      for (const TnnLayer& layer : layers_) all.push_back(layer.token_mixer().toep().significant_lags());
      return all;
    });
    double bytes = 0;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      bytes += OnlineToeplitz::bytes(tokens, lags[i], layers_[i].token_mixer().d1(), element);
    return static_cast<std::int64_t>(std::min(bytes, 0x1p62));
  });
}

std::string Tnn::why_stream_is_slow() const {
  if (!config_.depends_on_length()) return {};
  return "with par_type " + std::to_string(config_.par_type) +
         " all coefficients change with the length of the text, and so do the results of all earlier tokens; with "
         "par_type 1 and 4 they don't";
}

}  // namespace weft
