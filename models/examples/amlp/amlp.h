// aMLP: gMLP with one tiny attention head next to each spatial gate (Liu et al. 2021, arXiv 2105.08050, section 4.3 and
// figure 6), as a causal language model. This is a custom architecture that consists of weft's public layers and
// operations. Sequences have the shape (n, b, d).
#pragma once
#include <weft/architecture.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace amlp {

// The options of "amlp", under their names in the config.
struct Config {
  static constexpr const char* arch = "amlp";
  std::int64_t d_model = 128;  // channels of a token
  std::int64_t d_ffn = 512;    // width after a block's first projection, even
  std::int64_t d_attn = 64;    // width of the attention head; 0: no head, so the model is a gMLP
  std::int64_t layers = 4;     // number of blocks
  std::int64_t seq_len = 64;   // the maximum length of a sequence
  bool toeplitz = false;       // spatial weights W[i,j] = t[i-j]

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model, "width of the model", weft::at_least(1));
    visit("d_ffn", self.d_ffn, "width of the feed-forward part, even", weft::at_least(2));
    visit("d_attn", self.d_attn, "width of the attention head; 0: no head, so the model is a gMLP", weft::at_least(0));
    visit("layers", self.layers, "number of blocks", weft::at_least(0));
    visit("seq_len", self.seq_len, "the maximum length of a sequence", weft::at_least(1));
    visit("toeplitz", self.toeplitz, "spatial weights depend only on the distance between two tokens");
  }
};

// One causal head: q, k, v = x W_qkv;  a_i = Σ_(j<=i) softmax_j(q_i·k_j / √d_attn) v_j;  y = a W_out.
class TinyAttention : public weft::Layer<TinyAttention> {
 public:
  TinyAttention(const Config& config, const weft::Init& init);
  // x (n, b, d_model) -> (n, b, d_ffn/2).
  weft::Tensor operator()(const weft::Tensor& x) const;
  template <class Visit>
  void fields(Visit visit) const {
    visit("qkv", qkv_);
    visit("out", out_);
  }

 private:
  weft::Linear qkv_;  // d_model -> 3 d_attn
  weft::Linear out_;  // d_attn -> d_ffn/2
};

// The spatial gate: y_i = u_i ⊙ (Σ_(j<=i) W[i,j] norm(v)_j + b_i + a_i) for z = (u, v) and attention a.
class SpatialGate : public weft::Layer<SpatialGate> {
 public:
  SpatialGate(const Config& config, const weft::Init& init);
  // z (n, b, d_ffn), a (n, b, d_ffn/2) -> (n, b, d_ffn/2). An undefined a counts as 0.
  weft::Tensor operator()(const weft::Tensor& z, const weft::Tensor& a) const;
  template <class Visit>
  void fields(Visit visit) const {
    visit("norm", norm_);
    visit("weight", weight_);
    visit("bias", bias_);
  }

 private:
  bool toeplitz_;
  weft::LayerNorm norm_;    // normalizes v
  weft::Parameter weight_;  // W (seq_len, seq_len), or t (seq_len)
  weft::Parameter bias_;    // b (seq_len)
};

// y = x + proj2(gate(gelu(proj1(h)), attention(h))) with h = norm(x). Without attention this is a block of a gMLP.
class Block : public weft::Layer<Block> {
 public:
  Block(const Config& config, const weft::Init& init);
  // x (n, b, d_model) -> the same shape.
  weft::Tensor operator()(const weft::Tensor& x) const;
  template <class Visit>
  void fields(Visit visit) const {
    visit("norm", norm_);
    visit("proj1", proj1_);
    visit("attention", attention_);
    visit("gate", gate_);
    visit("proj2", proj2_);
  }

 private:
  weft::LayerNorm norm_;
  weft::Linear proj1_;  // d_model -> d_ffn
  std::optional<TinyAttention> attention_;
  SpatialGate gate_;
  weft::Linear proj2_;  // d_ffn/2 -> d_model
};

// The model: embedding, blocks, norm and head. No positions are added, because the spatial weights depend on the
// positions.
class Amlp : public weft::ModelOf<Amlp, Config> {
 public:
  Amlp(const weft::ModelSpec& spec, const weft::Init& init);
  static weft::Architecture architecture();

  std::int64_t max_length() const noexcept override { return config_.seq_len; }
  weft::Tensor operator()(const weft::Tensor& tokens, const weft::Random* dropout = nullptr) const override;
  // The names of the tensors in a checkpoint.
  template <class Visit>
  void fields(Visit visit) const {
    visit("embedding", embedding_);
    visit("blocks", blocks_);
    visit("norm", norm_);
    visit("head", head_);
  }

 private:
  weft::Embedding embedding_;
  std::vector<Block> blocks_;
  weft::LayerNorm norm_;
  weft::Linear head_;
};

}  // namespace amlp
