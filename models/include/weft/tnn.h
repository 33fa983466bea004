// TNN: Toeplitz Neural Network for Sequence Modeling, Qin et al. 2023, arXiv 2305.04749; with the options of the
// authors' tnn-pytorch, under their names there. Sequences lie as (b, n, d).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

enum class NormType { layer_norm, simple_rms_norm };  // "layernorm", "simplermsnorm"
NormType norm_type_from_name(const std::string& name);  // Error if it is none of those

// One of the two norms over the last axis (d). SimpleRMSNorm has no parameters.
class Norm {
 public:
  Norm(NormType type, std::int64_t d, const Init& init);
  Tensor operator()(const Tensor& x) const { return layer_norm_ ? (*layer_norm_)(x) : SimpleRmsNorm()(x); }
  void collect(const std::string& prefix, NamedParameters& out) const;

 private:
  std::optional<LayerNorm> layer_norm_;
};

struct RpeOptions {
  std::int64_t dim = 32;
  std::int64_t layers = 3;
  bool residual = false;
  Activation act = Activation::relu;
  NormType norm_type = NormType::layer_norm;
  bool bias = true;  // of its linear layers
};

// Relative position encoder, positions (k, 1) -> (k, outdim):
//   x = pos_proj(p);  x = L(x), or L(x) + x, for each layer;  y = out(x);  L and out are linear(act(norm(x))).
class Rpe {
 public:
  Rpe(std::int64_t outdim, const RpeOptions& options, const Init& init);
  Tensor operator()(const Tensor& positions) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

 private:
  struct Layer {
    Norm norm;
    Linear linear;
  };
  Tensor apply(const Layer& layer, const Tensor& x, const Tensor& residual) const;
  Layer make_layer(std::int64_t out, const Init& init) const;

  RpeOptions options_;
  Linear pos_proj_;
  std::vector<Layer> layers_;
  Layer out_;
};

struct TnoOptions {
  RpeOptions rpe;
  bool causal = true;
  bool use_decay = true;         // coefficient of lag ±k times gamma^k
  bool use_multi_decay = false;  // the same, learned for each channel: gamma + (1 - gamma) · sigmoid(g), g ~ N(0, 1)
  double gamma = 0.99;           // 0 … 1
  std::int64_t par_type = 1;     // what rpe sees of lag k: k (1), k/(n-1) (2), exp(k/(n-1)) (3, causal alone)
  Activation act_type = Activation::none;  // of the decayed coefficients
  bool normalize = false;                  // y / (T·1)
};

// Toeplitz neural operator, x (b, h, n, dim): y_i = sum_j t_(i-j) x_j, causal over j <= i, with
// t_k = act_type(gamma^|k| · rpe(p_k)). n may be any. While no tape records, the latest coefficients and their spectra are
// kept, until a parameter is written.
class Tno {
 public:
  Tno(std::int64_t h, std::int64_t dim, const TnoOptions& options, const Init& init);
  Tensor operator()(const Tensor& x) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  // For n positions the m = n lags 0 … n-1, or the m = 2n-1 lags -(n-1) … n-1 if not causal:
  // t (m, h·dim), channel = head·dim + d.
  Tensor coefficients(std::int64_t n) const;
  const TnoOptions& options() const noexcept { return options_; }

 private:
  std::vector<double> lags(std::int64_t n) const;
  Tensor positions(const std::vector<double>& lags) const;
  Tensor decay(const std::vector<double>& lags) const;

  struct Prepared;
  struct Latest;
  Tensor channels(std::int64_t n) const;  // coefficients as (h, m, dim)
  Tensor ones(std::int64_t n) const;      // (1, h, n, dim)
  std::shared_ptr<const Prepared> prepared(std::int64_t b, std::int64_t n) const;

  std::int64_t h_, dim_;
  TnoOptions options_;
  DType dtype_;
  Rpe rpe_;
  Parameter gamma_;  // g (h, 1, dim), with use_multi_decay
  std::shared_ptr<Latest> latest_;
};

// What mixes the tokens of v (b, n, d1): the Tno over the whole sequence, or over what a token stream has seen.
using TokenMix = std::function<Tensor(const Tensor& v)>;

struct GtuOptions {
  std::int64_t num_heads = 1;
  Activation act_fun = Activation::silu;
  double expand_ratio = 3;
  bool use_norm = false;  // a norm before o
  TnoOptions tno;         // norm_type and bias of its rpe are those of the whole unit
};

// Gated Toeplitz unit: y = o(norm(act(u_proj x) ⊙ merge(tno(split(act(v_proj x)))))), norm with use_norm alone;
// d1 = floor(expand_ratio · embed_dim), rounded down to a multiple of num_heads; channel = head·(d1/num_heads) + d.
class Gtu {
 public:
  Gtu(std::int64_t embed_dim, const GtuOptions& options, const Init& init);
  // y + residual, if that is given.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  Tensor operator()(const Tensor& x, const Tensor& residual, const TokenMix& mix) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  std::int64_t d1() const noexcept { return d1_; }
  const Tno& toep() const noexcept { return toep_; }

 private:
  Tensor mix(const Tensor& v) const;

  std::int64_t d1_, num_heads_;
  Activation act_;
  Linear v_proj_, u_proj_, o_;
  Tno toep_;
  std::optional<Norm> norm_;
};

// Gated linear unit: y = fina_act(l3(act_fun(l1 x) ⊙ l2 x)); l1 and l2 are d1 -> d2, l3 is d2 -> d1.
class Glu {
 public:
  Glu(std::int64_t d1, std::int64_t d2, Activation act_fun, const Init& init, bool bias = true,
      Activation fina_act = Activation::none);
  // y + residual, if that is given.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

 private:
  Linear l1_, l2_, l3_;
  Activation act_fun_, fina_act_;
};

struct TnnLayerOptions {
  std::int64_t glu_dim = 0;  // 0: dim
  Activation glu_act = Activation::silu;
  bool prenorm = true;
  double dropout = 0;
  GtuOptions gtu;  // norm_type and bias of its rpe are those of the whole layer
};

// prenorm: x = x + token_mixer(token_norm(x));  x = x + feature_mixer(feature_norm(x))
// else:    x = x + token_norm(token_mixer(x));  x = x + feature_norm(feature_mixer(x))
class TnnLayer {
 public:
  TnnLayer(std::int64_t dim, const TnnLayerOptions& options, const Init& init);
  // `mix` in place of the token mixer's Tno, if given.
  Tensor operator()(const Tensor& x, const Random* random = nullptr, const TokenMix& mix = {}) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  const Gtu& token_mixer() const noexcept { return token_mixer_; }

 private:
  template <class F>
  Tensor block(const Tensor& x, const Norm& norm, const Random* random, const F& f) const;

  Gtu token_mixer_;
  Norm token_norm_;
  Glu feature_mixer_;
  Norm feature_norm_;
  bool prenorm_;
  Dropout dropout_;
};

struct TnnConfig {
  std::int64_t d_model = 128;
  std::int64_t layers = 4;
  std::int64_t heads = 1;  // they divide floor(expand_ratio · d_model)
  double expand_ratio = 3;
  std::string act = "silu";  // of the gated Toeplitz unit
  bool use_norm = false;
  std::int64_t rpe_dim = 32;
  std::int64_t rpe_layers = 3;
  bool rpe_residual = false;
  std::string rpe_act = "relu";
  std::int64_t glu_dim = 0;  // 0: d_model
  std::string glu_act = "silu";
  bool use_decay = true;
  bool use_multi_decay = false;
  double gamma = 0.99;
  std::int64_t par_type = 1;
  std::string act_type = "none";
  bool normalize = false;
  std::string norm_type = "layernorm";  // or "simplermsnorm"
  bool prenorm = true;
  bool bias = true;
  std::int64_t seq_len = 64;  // of training: the model takes any length
  double dropout = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model);
    visit("layers", self.layers);
    visit("heads", self.heads);
    visit("expand_ratio", self.expand_ratio);
    visit("act", self.act);
    visit("use_norm", self.use_norm);
    visit("rpe_dim", self.rpe_dim);
    visit("rpe_layers", self.rpe_layers);
    visit("rpe_residual", self.rpe_residual);
    visit("rpe_act", self.rpe_act);
    visit("glu_dim", self.glu_dim);
    visit("glu_act", self.glu_act);
    visit("use_decay", self.use_decay);
    visit("use_multi_decay", self.use_multi_decay);
    visit("gamma", self.gamma);
    visit("par_type", self.par_type);
    visit("act_type", self.act_type);
    visit("normalize", self.normalize);
    visit("norm_type", self.norm_type);
    visit("prenorm", self.prenorm);
    visit("bias", self.bias);
    visit("seq_len", self.seq_len);
    visit("dropout", self.dropout);
  }
};

// Embedding · √d_model; layers; final norm; a head.
// Language models: the head's weight is the embedding's, without bias: (b, n, vocabulary); the layers are causal for a
// causal language model, else bidirectional.
// Classifier: bidirectional layers, the mean over tokens that are not padding (0), a linear head: (b, classes).
class Tnn : public Model {
 public:
  Tnn(const ModelSpec& spec, const Init& init);

  const char* arch() const noexcept override { return "tnn"; }
  Task task() const noexcept override { return task_; }
  std::int64_t outputs() const noexcept override { return outputs_; }
  std::int64_t vocabulary() const noexcept override { return vocabulary_; }
  std::string config() const override;
  std::int64_t max_length() const noexcept override { return 0; }
  Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const override;
  void collect(const std::string& prefix, NamedParameters& out) const override;
  // Goes on past seq_len. With par_type 2 and 3 all coefficients change with the length, and with them all that the
  // layers made of earlier tokens: there a token costs a forward pass.
  std::unique_ptr<TokenStream> stream() const override;

 private:
  class [[gnu::visibility("hidden")]] Stream;
  class [[gnu::visibility("hidden")]] Rerun;
  Tensor embed(const Tensor& tokens) const;
  Tensor logits(const Tensor& x) const;

  TnnConfig config_;
  Task task_;
  std::int64_t vocabulary_, outputs_;
  Embedding embedding_;
  std::vector<TnnLayer> layers_;
  Norm norm_;
  std::optional<Linear> head_;  // of a classifier
};

}  // namespace weft
#pragma GCC visibility pop
