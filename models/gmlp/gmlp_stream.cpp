// The token stream of a gMLP language model. It reads texts token by token, or in whole windows.
#include <algorithm>
#include <cstddef>
#include <utility>

#include "base/token_stream.h"
#include "weft/gmlp.h"

namespace weft {
using namespace detail;

namespace detail {

struct GmlpText {
  std::vector<std::int64_t> window;
  std::vector<TokenRows> past;  // v = norm(z2) of the window's tokens, (length, d_ffn/2) for each block

  std::int64_t length() const { return std::ssize(window); }
};

}  // namespace detail

// When a window is full, its newer half becomes the new window and is read again from position 0.
class Gmlp::Stream : public StreamOf<Gmlp::Stream, GmlpText> {
 public:
  explicit Stream(const Gmlp& model)
      : StreamOf(model, {{}, std::vector<TokenRows>(model.blocks_.size())}), model_(model) {}

  Tensor extend(const Tensor& tokens) {
    std::vector<Tensor> logits(texts_.size());
    std::vector<std::size_t> growing;                          // the texts whose windows have room for one token
    std::vector<std::pair<std::size_t, GmlpText>> read_again;  // the other texts
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      // Then the windows have room for the new tokens when all logits are known.
      texts_[i].window.reserve(static_cast<std::size_t>(model_.config_.seq_len));
      if (tokens.size(1) == 1 && texts_[i].length() < model_.config_.seq_len) {
        growing.push_back(i);
      } else {
        read_again.emplace_back(i, with_more(texts_[i], row_of(tokens, i)));
        logits[i] = read(read_again.back().second);
      }
    }
    for (auto first = growing.begin(); first < growing.end();) {
      const auto last = first + std::min<std::ptrdiff_t>(texts_at_once, growing.end() - first);
      step(tokens, {first, last}, logits);
      first = last;
    }
    Tensor all = concat(logits, 0);
    const std::vector<std::int64_t> ids = tokens.to_vector<std::int64_t>();
    for (std::size_t i : growing) texts_[i].window.push_back(ids[i]);
    for (auto& [i, text] : read_again) texts_[i] = std::move(text);
    return all;
  }

 private:
  using Group = std::vector<std::size_t>;  // indices of texts

  // Returns the text with more tokens in its window, which stays the same as if they were appended one by one.
  GmlpText with_more(GmlpText text, const std::vector<std::int64_t>& more) const {
    std::int64_t length = text.length();
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (length == model_.config_.seq_len) length /= 2;
      ++length;
    }
    text.window.insert(text.window.end(), more.begin(), more.end());
    text.window.erase(text.window.begin(), text.window.end() - length);
    return text;
  }

  static std::vector<std::int64_t> row_of(const Tensor& tokens, std::size_t text) {
    const auto row = static_cast<std::int64_t>(text);
    return slice(tokens, 0, row, row + 1).to_vector<std::int64_t>();
  }

  // The forward pass for the next token of each text in a group, from tokens (texts, 1). Sets the logits (1,
  // vocabulary) of these texts.
  void step(const Tensor& tokens, const Group& group, std::vector<Tensor>& logits) {
    Tensor x = embed(tokens, group);  // (1, b, d_model)
    for (std::size_t block = 0; block < model_.blocks_.size(); ++block)
      x = model_.blocks_[block].tokens_first(
          x, {}, nullptr, [&](const Tensor& z1, const Tensor& v) { return gate_last(z1, v, block, group); });
    const Tensor all = reshape(model_.head(x), {std::ssize(group), model_.outputs_});
    for (std::size_t i = 0; i < group.size(); ++i)
      logits[group[i]] = slice(all, 0, static_cast<std::int64_t>(i), static_cast<std::int64_t>(i) + 1);
  }

  // The embeddings (1, b, d_model) of the next token of each text in a group.
  Tensor embed(const Tensor& tokens, const Group& group) const {
    std::vector<std::int64_t> ids;
    bool is_same_position = true;
    for (std::size_t i : group) {
      ids.push_back(row_of(tokens, i).front());
      is_same_position &= texts_[i].length() == texts_[group.front()].length();
    }
    if (is_same_position || !model_.config_.positions)
      return model_.embed(Tensor::from(ids, {1, std::ssize(ids)}), texts_[group.front()].length());
    std::vector<Tensor> each;
    for (std::size_t i = 0; i < group.size(); ++i)
      each.push_back(model_.embed(Tensor::from<std::int64_t>({ids[i]}, {1, 1}), texts_[group[i]].length()));
    return concat(each, 1);
  }

  // The gates for token i of the b texts in a group, where i is the length of each text: z1, v (1, b, d) ->
  // z1_i ⊙ (sum_(j <= i) W[i,j] v_j + b_i), (1, b, d).
  Tensor gate_last(const Tensor& z1, const Tensor& v, std::size_t block, const Group& group) {
    std::vector<Tensor> pasts;
    pasts.reserve(group.size());
    for (std::size_t row = 0; row < group.size(); ++row) {
      GmlpText& text = texts_[group[row]];
      text.past[block].put_row(text.length(), v, static_cast<std::int64_t>(row));
      pasts.push_back(text.past[block].first(text.length() + 1));
    }
    const SpatialGatingUnit& unit = model_.blocks_[block].sgu;
    return spatial_gate_last(z1, pasts, unit.weight, unit.bias);
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
};

std::unique_ptr<TokenStream> Gmlp::stream() const {
  if (task_ != Task::causal_lm) return Model::stream();
  return guard_memory("generate", [&] { return std::make_unique<Stream>(*this); });
}

std::string Gmlp::why_stream_is_slow() const { return {}; }

}  // namespace weft
