// A TNN language model's texts, token by token and many tokens at once.
#include <algorithm>

#include "base/token_stream.h"
#include "weft/tnn.h"

namespace weft {
using namespace detail;

namespace {

using Past = std::vector<TokenRows>;  // v of a text's tokens, widened, (length, d1) for each layer

}  // namespace

// par_type 1: coefficients don't depend on the length. All texts are of one length.
class Tnn::Stream : public StreamOf<Tnn::Stream, Past> {
 public:
  explicit Stream(const Tnn& model)
      : StreamOf(model, Past(model.layers_.size())), model_(model), reversed_(model.layers_.size()) {}

  Tensor extend(const Tensor& tokens) {
    const std::int64_t n = tokens.size(1), at_once = n == 1 ? texts_at_once : 1;
    std::vector<Tensor> logits;
    for (std::int64_t first = 0; first < texts(); first += at_once)
      logits.push_back(read(slice(tokens, 0, first, std::min(first + at_once, texts())), first));
    Tensor all = concat(logits, 0);
    length_ += n;
    return all;
  }

 private:
  // The forward pass of tokens (b, n) that come next in the texts from `first` on: (b, vocabulary).
  Tensor read(const Tensor& tokens, std::int64_t first) {
    const std::int64_t n = tokens.size(1);
    Tensor x = model_.embed(tokens);  // (b, n, d_model)
    for (std::size_t layer = 0; layer < model_.layers_.size(); ++layer)
      x = model_.layers_[layer](x, nullptr, [&](const Tensor& v) {
        return n == 1 ? mix_last(v, layer, first) : mix_many(v, texts_[static_cast<std::size_t>(first)][layer], layer);
      });
    return reshape(model_.logits(slice(x, 1, n - 1, n)), {tokens.size(0), model_.outputs_});
  }

  // v (b, 1, d1) of token i of the texts from `first` on: y_i = sum_(j <= i) t_(i-j) v_j, (b, 1, d1).
  Tensor mix_last(const Tensor& v, std::size_t layer, std::int64_t first) {
    const std::int64_t i = length_, d1 = v.size(2);
    const Tensor t = latest_lags(layer, i + 1);  // t_i … t_0, beside v_0 … v_i
    std::vector<Tensor> sums;
    for (std::int64_t text = 0; text < v.size(0); ++text) {
      TokenRows& past = texts_[static_cast<std::size_t>(first + text)][layer];
      past.put(i, widened(reshape(slice(v, 0, text, text + 1), {1, d1})));
      sums.push_back(reshape(sum(mul(t, past.first(i + 1)), {0}), {1, d1}));
    }
    Tensor y = concat(sums, 0);
    if (gtu(layer).toep().options().normalize) y = div(y, sum(t, {0}));
    return in_dtype(reshape(y, v.shape()), v.dtype());
  }

  // v (1, n, d1) of one text's next tokens: the Tno over all its tokens, of which the last n are given.
  Tensor mix_many(const Tensor& v, TokenRows& past, std::size_t layer) const {
    const std::int64_t n = v.size(1), d1 = v.size(2), all = length_ + n;
    past.put(length_, widened(reshape(v, {n, d1})));
    const Tensor y = gtu(layer).mix(length_ == 0 ? v : reshape(past.first(all), {1, all, d1}));
    return in_dtype(slice(y, 1, length_, all), v.dtype());
  }

  // t_(n-1) … t_0 (n, d1). Of a quarter more lags than that, so that the next tokens have theirs.
  Tensor latest_lags(std::size_t layer, std::int64_t n) {
    Tensor& reversed = reversed_[layer];
    if (!reversed.defined() || reversed.size(0) < n)
      reversed = flip(gtu(layer).toep().coefficients(n + std::max<std::int64_t>(64, n / 4)), 0);
    return slice(reversed, 0, reversed.size(0) - n, reversed.size(0));
  }

  const Gtu& gtu(std::size_t layer) const { return model_.layers_[layer].token_mixer(); }

  const Tnn& model_;
  std::vector<Tensor> reversed_;  // of each layer the coefficients, the latest lag first (lags, d1)
  std::int64_t length_ = 0;       // of each text
};

std::unique_ptr<TokenStream> Tnn::stream() const {
  if (task_ != Task::causal_lm || config_.par_type != 1) return Model::stream();
  return guard_memory("generate", [&] { return std::make_unique<Stream>(*this); });
}

std::string Tnn::why_stream_is_slow() const {
  if (config_.par_type == 1) return {};
  return "with par_type " + std::to_string(config_.par_type) +
         " all coefficients change with the length of the text, and with them all that was computed of earlier tokens; "
         "with par_type 1 they don't";
}

}  // namespace weft
