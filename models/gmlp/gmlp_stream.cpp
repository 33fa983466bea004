// The token stream of a gMLP language model. It reads texts token by token, or in whole windows.
#include <algorithm>

#include "base/token_stream.h"
#include "weft/gmlp.h"

namespace weft {
using namespace detail;

namespace {

struct GmlpText {
  std::vector<std::int64_t> window;
  std::vector<TokenRows> past;  // v = norm(z2) of the window's tokens, (length, d_ffn/2) for each block
};

}  // namespace

// When a window is full, its newer half becomes the new window and is read again from position 0. All texts have the
// same length.
class Gmlp::Stream : public StreamOf<Gmlp::Stream, GmlpText> {
 public:
  explicit Stream(const Gmlp& model)
      : StreamOf(model, {{}, std::vector<TokenRows>(model.blocks_.size())}), model_(model) {}

  Tensor extend(const Tensor& tokens) {
    const std::int64_t n = tokens.size(1), length = length_after(n);
    return n == 1 && length == length_ + 1 ? step(tokens) : read_again(tokens, length);
  }

 private:
  // Returns the length of the window after n more tokens are appended one by one.
  std::int64_t length_after(std::int64_t n) const {
    std::int64_t length = length_;
    for (std::int64_t i = 0; i < n; ++i) {
      if (length == model_.config_.seq_len) length /= 2;
      ++length;
    }
    return length;
  }

  // The forward pass for one token of each text: tokens (b, 1) -> logits (b, vocabulary).
  Tensor step(const Tensor& tokens) {
    std::vector<Tensor> logits;
    for (std::int64_t first = 0; first < texts(); first += texts_at_once) {
      const std::int64_t last = std::min(first + texts_at_once, texts());
      Tensor x = model_.embed(transpose(slice(tokens, 0, first, last), 0, 1), length_);  // (1, b, d_model)
      for (std::size_t block = 0; block < model_.blocks_.size(); ++block)
        x = model_.blocks_[block].tokens_first(
            x, {}, nullptr, [&](const Tensor& z1, const Tensor& v) { return gate_last(z1, v, block, first); });
      logits.push_back(reshape(model_.head(x), {last - first, model_.outputs_}));
    }
    Tensor all = concat(logits, 0);
    const auto ids = tokens.to_vector<std::int64_t>();
    for (std::size_t i = 0; i < ids.size(); ++i) {
      texts_[i].window.resize(static_cast<std::size_t>(length_));  // a failed step may have left more tokens
      texts_[i].window.push_back(ids[i]);
    }
    ++length_;
    return all;
  }

  // The gate for token i of b texts, starting with text `first`: z1, v (1, b, d) -> z1_i ⊙ (sum_(j <= i) W[i,j] v_j +
  // b_i), (1, b, d).
  Tensor gate_last(const Tensor& z1, const Tensor& v, std::size_t block, std::int64_t first) {
    std::vector<Tensor> pasts;
    pasts.reserve(static_cast<std::size_t>(v.size(1)));
    for (std::int64_t text = 0; text < v.size(1); ++text) {
      TokenRows& past = texts_[static_cast<std::size_t>(first + text)].past[block];
      past.put_row(length_, v, text);
      pasts.push_back(past.first(length_ + 1));
    }
    const SpatialGatingUnit& unit = model_.blocks_[block].sgu;
    return spatial_gate_last(z1, pasts, unit.weight, unit.bias);
  }

  // Performs a forward pass over the new window of each text, which has `length` tokens.
  Tensor read_again(const Tensor& tokens, std::int64_t length) {
    std::vector<GmlpText> texts = texts_;
    std::vector<Tensor> logits;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i);
      const auto more = slice(tokens, 0, row, row + 1).to_vector<std::int64_t>();
      std::vector<std::int64_t>& window = texts[i].window;
      window.resize(static_cast<std::size_t>(length_));
      window.insert(window.end(), more.begin(), more.end());
      window.erase(window.begin(), window.end() - length);
      logits.push_back(read(texts[i]));
    }
    Tensor all = concat(logits, 0);
    texts_ = std::move(texts);
    length_ = length;
    return all;
  }

  // The forward pass over a text's window, which also sets the text's `past`. Returns the logits (1, vocabulary).
  Tensor read(GmlpText& text) const {
    const std::int64_t n = std::ssize(text.window);
    Tensor x = model_.embed(Tensor::from(text.window, {n, 1}), 0);  // (n, 1, d_model)
    for (std::size_t block = 0; block < model_.blocks_.size(); ++block)
      x = model_.blocks_[block].tokens_first(x, {}, nullptr, [&](const Tensor& z1, const Tensor& v) {
        const SpatialGatingUnit& unit = model_.blocks_[block].sgu;
        text.past[block].put(0, reshape(v, {n, v.size(2)}));
        return spatial_gate(z1, v, slice(slice(unit.weight, 0, 0, n), 1, 0, n), slice(unit.bias, 0, 0, n), true);
      });
    return reshape(model_.head(slice(x, 0, n - 1, n)), {1, model_.outputs_});
  }

  const Gmlp& model_;
  std::int64_t length_ = 0;  // the length of each text's window
};

std::unique_ptr<TokenStream> Gmlp::stream() const {
  if (task_ != Task::causal_lm) return Model::stream();
  return guard_memory("generate", [&] { return std::make_unique<Stream>(*this); });
}

std::string Gmlp::why_stream_is_slow() const { return {}; }

}  // namespace weft
