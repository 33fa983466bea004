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
    Group growing;                                             // the texts whose windows have room for one token
    std::vector<std::pair<std::size_t, GmlpText>> read_again;  // the other texts
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      // Then the windows have room for the new tokens when all logits are known.
      texts_[i].window.reserve(static_cast<std::size_t>(model_.config_.seq_len));
      const std::vector<std::int64_t> more = row_of(tokens, i);
      if (more.size() == 1 && texts_[i].length() < model_.config_.seq_len) {
        growing.push_back({i, texts_[i].length(), more.front()});
      } else {
        read_again.emplace_back(i, with_more(texts_[i], more));
        logits[i] = read(read_again.back().second);
      }
    }
    for (auto first = growing.begin(); first < growing.end();) {
      const auto last = first + std::min<std::ptrdiff_t>(texts_at_once, growing.end() - first);
      const Tensor all = step({first, last});
      for (std::int64_t row = 0; first < last; ++first, ++row) logits[first->text] = slice(all, 0, row, row + 1);
    }
    Tensor all = concat(logits, 0);
    for (const NewToken& token : growing) texts_[token.text].window.push_back(token.id);
    for (auto& [i, text] : read_again) texts_[i] = std::move(text);
    return all;
  }

  std::int64_t most_at_once(const GmlpText& text) const noexcept {
    return std::max<std::int64_t>(1, model_.config_.seq_len - text.length());
  }

  Tensor extend_each(const Tensor& tokens) {
    const std::vector<std::int64_t> ids = row_of(tokens, 0);
    std::vector<std::int64_t>& window = texts_[0].window;
    window.reserve(static_cast<std::size_t>(model_.config_.seq_len));
    Group group;
    for (std::int64_t id : ids) group.push_back({0, texts_[0].length() + std::ssize(group), id});
    Tensor all = step(group);
    window.insert(window.end(), ids.begin(), ids.end());
    return all;
  }

  void shorten(GmlpText& text, std::int64_t count) noexcept {
    text.window.erase(text.window.end() - count, text.window.end());
  }

 private:
  // A token that a text gets, and its position in the text's window.
  struct NewToken {
    std::size_t text;
    std::int64_t position, id;
  };
  // Up to texts_at_once tokens. Those of the same text have successive positions.
  using Group = std::vector<NewToken>;

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

  // The forward pass for the tokens of a group. Returns the logits (tokens, vocabulary).
  Tensor step(const Group& group) {
    Tensor x = embed(group);  // (1, b, d_model)
    for (std::size_t block = 0; block < model_.blocks_.size(); ++block)
      x = model_.blocks_[block].tokens_first(
          x, {}, nullptr, [&](const Tensor& z1, const Tensor& v) { return gate_last(z1, v, block, group); });
    return reshape(model_.head(x), {std::ssize(group), model_.outputs_});
  }

  // The embeddings (1, b, d_model) of the tokens of a group.
  Tensor embed(const Group& group) const {
    std::vector<std::int64_t> ids;
    bool is_same_position = true;
    for (const NewToken& token : group) {
      ids.push_back(token.id);
      is_same_position &= token.position == group.front().position;
    }
    if (is_same_position || !model_.config_.positions)
      return model_.embed(Tensor::from(ids, {1, std::ssize(ids)}), group.front().position);
    std::vector<Tensor> each;
    for (const NewToken& token : group)
      each.push_back(model_.embed(Tensor::from<std::int64_t>({token.id}, {1, 1}), token.position));
    return concat(each, 1);
  }

  // The gates for the b tokens of a group, where i is the position of a token: z1, v (1, b, d) ->
  // z1_i ⊙ (sum_(j <= i) W[i,j] v_j + b_i), (1, b, d).
  Tensor gate_last(const Tensor& z1, const Tensor& v, std::size_t block, const Group& group) {
    const auto past = [&](const NewToken& token) -> TokenRows& { return texts_[token.text].past[block]; };
    for (std::size_t row = 0; row < group.size(); ++row)
      past(group[row]).put_row(group[row].position, v, static_cast<std::int64_t>(row));
    std::vector<Tensor> pasts;  // views, made only now: put_row copies rows that are shared
    for (const NewToken& token : group) pasts.push_back(past(token).first(token.position + 1));
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

// TokenRows may have twice the capacity that they need, and at least 64 rows.
std::int64_t Gmlp::stream_bytes(std::int64_t tokens) const {
  const std::int64_t window = std::min(tokens, config_.seq_len), rows = std::max<std::int64_t>(64, 2 * window);
  const DType dtype = precision() == Precision::bf16 ? DType::bf16 : norm_.weight.value().dtype();
  std::int64_t numbers = 0;
  for (const GmlpBlock& block : blocks_) numbers += rows * block.sgu.norm.weight.value().size(0);
  return config_.seq_len * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         numbers * static_cast<std::int64_t>(dtype_size(dtype));
}

}  // namespace weft
