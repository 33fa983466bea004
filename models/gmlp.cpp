// gMLP language model and classifier.
#include "weft/gmlp.h"

#include <algorithm>
#include <cmath>

#include "sequence.h"

namespace weft {
namespace {

GmlpConfig checked(GmlpConfig config) {
  check_size("gmlp", "d_model", config.d_model, 1);
  check_size("gmlp", "layers", config.layers, 0);
  check_size("gmlp", "seq_len", config.seq_len, 1);
  check_size("gmlp", "d_ffn", config.d_ffn, 0);
  if (config.d_ffn == 0) config.d_ffn = 8 * config.d_model;
  if (config.d_ffn < 2 || config.d_ffn % 2 != 0)
    throw Error("[gmlp] expected an even d_ffn of at least 2, got " + std::to_string(config.d_ffn));
  if (!(config.dropout >= 0 && config.dropout < 1))
    throw Error("[gmlp] expected 0 <= dropout < 1, got " + std::to_string(config.dropout));
  return config;
}

double embedding_deviation(std::int64_t d_model) { return 1 / std::sqrt(static_cast<double>(d_model)); }

}  // namespace

Gmlp::Gmlp(const ModelSpec& spec, const Init& init)
    : config_(checked(config_from_json<GmlpConfig>("gmlp", spec.config))),
      task_(spec.task),
      vocabulary_(spec.vocabulary),
      outputs_(spec.task == Task::classifier ? spec.classes : spec.vocabulary),
      embedding_(spec.vocabulary, config_.d_model, init.child(0), embedding_deviation(config_.d_model)),
      norm_(config_.d_model, init) {
  if (config_.tied && task_ == Task::classifier) throw Error("[gmlp] a classifier's head can't be tied to the embedding");
  for (std::int64_t i = 0; i < config_.layers; ++i)
    blocks_.emplace_back(config_.d_model, config_.d_ffn, config_.seq_len, init.child(static_cast<std::uint64_t>(2 + i)), config_.dropout);
  if (!config_.tied) head_.emplace(config_.d_model, outputs_, init.child(1));
}

std::string Gmlp::config() const { return config_to_json(config_); }

// P[first … first+n-1] (n, 1, d_model). Rows are made when they are first asked for: a config's seq_len alone takes
// no memory.
Tensor Gmlp::positions(std::int64_t first, std::int64_t n) const {
  const std::lock_guard<std::mutex> lock(positions_mutex_);
  const std::int64_t rows = positions_.defined() ? positions_.size(0) : 0, d = config_.d_model;
  if (first + n > rows) {
    const std::int64_t more = std::min(config_.seq_len, std::max(first + n, 2 * rows));
    positions_ = reshape(sinusoidal_positions(more, d, embedding_.weight.value().dtype()), {more, 1, d});
  }
  return slice(positions_, 0, first, first + n);
}

// tokens (n, b) from position `first` on: x (n, b, d_model) = √d_model · E[token] + P[position].
Tensor Gmlp::embed(const Tensor& tokens, std::int64_t first) const {
  const Tensor x = scale(embedding_(tokens), std::sqrt(static_cast<double>(config_.d_model)));
  return config_.positions ? add(x, positions(first, tokens.size(0))) : x;
}

Tensor Gmlp::head(const Tensor& x) const { return head_ ? (*head_)(norm_(x)) : linear(norm_(x), embedding_.weight); }

Tensor Gmlp::operator()(const Tensor& tokens, const Random* dropout) const {
  check_tokens("gmlp", tokens, config_.seq_len);
  const SpatialMask mask = task_ == Task::causal_lm ? SpatialMask::causal() : SpatialMask();
  Tensor x = embed(transpose(tokens, 0, 1), 0);                            // (n, b, d_model)
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Random random = dropout ? dropout->split(i) : Random(0);
    x = blocks_[i](x, mask, dropout ? &random : nullptr);
  }
  if (task_ != Task::classifier) return transpose(head(x), 0, 1);          // (b, n, vocabulary)
  return head(mean_of_tokens(transpose(x, 0, 1), tokens));                 // (b, classes)
}

void Gmlp::collect(const std::string& prefix, NamedParameters& out) const {
  embedding_.collect(prefix + "embedding.", out);
  for (std::size_t i = 0; i < blocks_.size(); ++i) blocks_[i].collect(prefix + "blocks." + std::to_string(i) + ".", out);
  norm_.collect(prefix + "norm.", out);
  if (head_) head_->collect(prefix + "head.", out);
}

// Keeps norm(z2) of every position of the window, layer by layer. A full window slides by half: its newer half is
// fed again from position 0.
class Gmlp::Stream : public TokenStream {
 public:
  explicit Stream(const Gmlp& model) : model_(model) {
    const Shape shape{model.config_.seq_len, model.config_.d_ffn / 2};
    for (std::size_t i = 0; i < model.blocks_.size(); ++i)
      gated_.push_back(Tensor::zeros(shape, model.norm_.weight.value().dtype()));
  }

  Tensor next(std::int64_t token) override {
    NoGrad suspended;
    if (static_cast<std::int64_t>(window_.size()) == model_.config_.seq_len) slide();
    return feed(token);
  }

 private:
  void slide() {
    const std::vector<std::int64_t> newer(window_.begin() + (model_.config_.seq_len + 1) / 2, window_.end());
    window_.clear();
    for (std::int64_t token : newer) (void)feed(token);
  }

  Tensor feed(std::int64_t token) {
    const auto i = static_cast<std::int64_t>(window_.size());
    Tensor x = model_.embed(Tensor::from<std::int64_t>({token}, {1, 1}), i);        // (1, 1, d_model)
    for (std::size_t layer = 0; layer < model_.blocks_.size(); ++layer) x = block(model_.blocks_[layer], gated_[layer], x, i);
    window_.push_back(token);
    return reshape(model_.head(x), {model_.outputs_});
  }

  // y_i = x_i + proj2(z1_i ⊙ (sum_(j <= i) W[i,j] norm(z2)_j + b_i))
  static Tensor block(const GmlpBlock& block, Tensor& gated, const Tensor& x, std::int64_t i) {
    const Tensor z = block.proj1(block.norm(x), {Activation::gelu, {}, {}});
    const std::vector<Tensor> halves = chunk(z, 2, -1);
    Tensor row = slice(gated, 0, i, i + 1);
    raw::copy(reshape(block.sgu.norm(halves[1]), row.shape()), row);
    const Tensor w = slice(slice(block.sgu.weight, 0, i, i + 1), 1, 0, i + 1);        // (1, i+1)
    const Tensor mixed = add(matmul(w, slice(gated, 0, 0, i + 1)), slice(block.sgu.bias, 0, i, i + 1));
    return block.proj2(mul(halves[0], reshape(mixed, halves[0].shape())), {Activation::none, {}, x});
  }

  const Gmlp& model_;
  std::vector<std::int64_t> window_;
  std::vector<Tensor> gated_;  // for each layer (seq_len, d_ffn/2), rows up to the window's end
};

std::unique_ptr<TokenStream> Gmlp::stream() const {
  if (task_ != Task::causal_lm) return Model::stream();
  return std::make_unique<Stream>(*this);
}

// The preset has the sizes of the original experiment.
Architecture Gmlp::architecture() {
  return {"gmlp",
          {Task::causal_lm, Task::masked_lm, Task::classifier},
          config_fields<GmlpConfig>(),
          make_as<Gmlp>,
          {{"gmlp-original", Task::causal_lm, 65, 0, R"({"d_model":512,"d_ffn":2048,"layers":6,"seq_len":256})"}}};
}

}  // namespace weft
