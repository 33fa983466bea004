// A transformer with attention (Vaswani et al. 2017, arXiv 1706.03762) and norms before its sublayers (Xiong et al.
// 2020, arXiv 2002.04745), as a language model or classifier. It is the baseline for architectures without attention.
// It consists of weft's public layers and operations, and the tape computes its backward pass. Sequences have the shape
// (b, n, d).
#pragma once
#include <weft/architecture.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attention {

// The options of "attention", under their names in the config.
struct Config {
  static constexpr const char* arch = "attention";
  std::int64_t d_model = 128;    // channels of a token
  std::int64_t heads = 4;        // number of heads, which must divide d_model
  std::int64_t d_ffn = 0;        // channels inside the feed-forward network; 0: 4 d_model
  std::int64_t layers = 4;       // number of blocks
  std::int64_t seq_len = 64;     // length of training sequences; the model takes any length
  std::int64_t query_block = 0;  // number of queries that are computed together; 0: all
  double dropout = 0;            // probability, on the output of each sublayer

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model, "channels of a token", weft::at_least(1));
    visit("heads", self.heads, "number of attention heads, which must divide d_model", weft::at_least(1));
    visit("d_ffn", self.d_ffn, "channels inside the feed-forward network; 0: 4 d_model", weft::at_least(0));
    visit("layers", self.layers, "number of blocks", weft::at_least(0));
    visit("seq_len", self.seq_len, "length of training sequences, in tokens; the model takes any length",
          weft::at_least(1));
    visit("query_block", self.query_block,
          "number of queries that are computed together, and again in backward: memory O(n) instead of O(n^2); 0: all",
          weft::at_least(0));
    visit("dropout", self.dropout, "probability, in training, that an element of a sublayer's output is dropped",
          weft::probability());
  }
};

// The options of a SelfAttention.
struct AttentionOptions {
  std::int64_t heads = 1;
  bool causal = true;
  std::int64_t query_block = 0;
};

// q, k, v = x W_in + b_in, divided into heads of d/h channels; a_i = Σ_j softmax_j(q_i·k_j / √(d/h)) v_j, with j <= i
// if causal; y = a W_out + b_out. The parameters have the same names as in PyTorch's MultiheadAttention.
class SelfAttention : public weft::Layer<SelfAttention> {
 public:
  SelfAttention(std::int64_t d, const AttentionOptions& options, const weft::Init& init);
  // x (b, n, d) -> y, or y + residual if a residual is given.
  weft::Tensor operator()(const weft::Tensor& x, const weft::Tensor& residual = {}) const;
  template <class Visit>
  void fields(Visit visit) const {
    visit("in_proj_weight", in_.weight);
    visit("in_proj_bias", in_.bias);
    visit("out_proj", out_);
  }

 private:
  AttentionOptions options_;
  weft::Linear in_;   // d -> 3 d
  weft::Linear out_;  // d -> d
};

// x = x + attention(norm1(x)); x = x + linear2(gelu(linear1(norm2(x)))). The parameters have the same names as in
// PyTorch's TransformerEncoderLayer(norm_first=True, activation="gelu").
class Block : public weft::Layer<Block> {
 public:
  Block(std::int64_t d, std::int64_t d_ffn, const AttentionOptions& options, const weft::Init& init,
        double dropout = 0);
  // x (b, n, d) -> the same shape. Dropout is active if `random` is given.
  weft::Tensor operator()(const weft::Tensor& x, const weft::Random* random = nullptr) const;
  template <class Visit>
  void fields(Visit visit) const {
    visit("norm1", norm1_);
    visit("self_attn", attention_);
    visit("norm2", norm2_);
    visit("linear1", linear1_);
    visit("linear2", linear2_);
  }

 private:
  weft::LayerNorm norm1_;
  SelfAttention attention_;
  weft::LayerNorm norm2_;
  weft::Linear linear1_;  // d -> d_ffn
  weft::Linear linear2_;  // d_ffn -> d
  weft::Dropout dropout_;
};

// The model: embedding · √d_model plus sinusoidal positions, blocks, a norm, and a head. The blocks are causal for a
// causal language model, and bidirectional otherwise. The head of a language model is the embedding's weight. That of a
// classifier is a linear layer on the first token, [CLS]. Padded rows of a classifier cause an Error, because
// attention does not ignore padding.
class Transformer : public weft::ModelOf<Transformer, Config> {
 public:
  Transformer(const weft::ModelSpec& spec, const weft::Init& init);
  static weft::Architecture architecture();

  std::int64_t max_length() const noexcept override { return 0; }
  weft::Tensor operator()(const weft::Tensor& tokens, const weft::Random* dropout = nullptr) const override;
  template <class Visit>
  void fields(Visit visit) const {
    visit("embedding", embedding_);
    visit("layers", blocks_);
    visit("norm", norm_);
    visit("head", head_);
  }

 private:
  weft::Embedding embedding_;
  std::vector<Block> blocks_;
  weft::LayerNorm norm_;
  std::optional<weft::Linear> head_;  // of a classifier
};

}  // namespace attention
