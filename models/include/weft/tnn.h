/// \file
/// TNN: Toeplitz Neural Network for Sequence Modeling, Qin et al. 2023, arXiv 2305.04749. It has the options of the
/// authors' tnn-pytorch, with the same names. Sequences have the shape (b, n, d).
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/architecture.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

namespace detail {
class WEFT_HIDDEN KeptLags;
class WEFT_HIDDEN KeptToeplitz;
}  // namespace detail

/// The norms that a TNN can use.
enum class NormType {
  layer_norm,       ///< "layernorm"
  simple_rms_norm,  ///< "simplermsnorm"
};
/// Returns the type of norm with that name. Throws an Error if there is none.
NormType norm_type_from_name(const std::string& name);

/// Either of the two norms over the last axis (d). Several threads may call the same layer concurrently, as with
/// LayerNorm.
class Norm : public Layer<Norm> {
 public:
  /// LayerNorm starts with a weight of ones and a bias of zeros. SimpleRMSNorm has no parameters.
  Norm(NormType type, std::int64_t d, const Init& init);
  /// x (…, d) -> (…, d).
  Tensor operator()(const Tensor& x) const { return layer_norm_ ? (*layer_norm_)(x) : SimpleRmsNorm()(x); }
  /// An upper bound of ‖norm(x)‖₂ over the last axis (d), for any x.
  double bound(std::int64_t d) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("", layer_norm_);
  }

 private:
  std::optional<LayerNorm> layer_norm_;
};

/// Which features of a row its outputs are computed from, for tasks with outputs for each row.
enum class TnnHead {
  mean,  ///< "mean": the mean of the tokens that are not padding
  last,  ///< "last": the last token that is not padding, which in a causal model has seen all others
};
/// Returns the head of that name. Throws an Error if there is none.
TnnHead tnn_head_from_name(const std::string& name);

/// The options of "tnn" and of all its layers, with their names in the config and their defaults. Each layer reads its
/// own options, and the options that all layers share: norm_type and bias.
struct TnnConfig {
  static constexpr const char* arch = "tnn";  ///< the name of the architecture

  std::int64_t d_model = 128;           ///< channels of a token
  std::int64_t layers = 4;              ///< number of layers, each a token mixer and a feature mixer
  std::int64_t heads = 1;               ///< heads of the Tno; they divide floor(expand_ratio · d_model)
  double expand_ratio = 3;              ///< channels that the Tno mixes, as a multiple of d_model
  std::string act = "silu";             ///< activation of the gated Toeplitz unit
  bool use_norm = false;                ///< adds a norm before the gated Toeplitz unit's last linear layer
  std::int64_t rpe_dim = 32;            ///< channels of the relative position encoder
  std::int64_t rpe_layers = 3;          ///< layers of the relative position encoder between its first and its last
  bool rpe_residual = false;            ///< each of the rpe_layers layers adds its input to its output
  std::string rpe_act = "relu";         ///< activation of the relative position encoder
  std::int64_t glu_dim = 0;             ///< channels inside the gated linear unit; 0: d_model
  std::string glu_act = "silu";         ///< activation of the gated linear unit
  bool use_decay = true;                ///< multiplies the coefficient of lag ±k by gamma^k
  bool use_multi_decay = false;         ///< like use_decay, but with a learned gamma for each channel
  double gamma = 0.99;                  ///< the decay, 0 … 1
  std::int64_t time_scales = 0;         ///< with use_multi_decay: the longest initial time scale of a decay, in tokens
  std::int64_t par_type = 1;            ///< 1: position k; 2: k/(n-1); 3 (only causal): exp(k/(n-1)); 4: waves of k
  std::string act_type = "none";        ///< activation of the coefficients
  bool normalize = false;               ///< divides each sum by the sum of its coefficients
  std::string norm_type = "layernorm";  ///< or "simplermsnorm"; the type of all norms except the final one
  bool prenorm = true;                  ///< norms are before the mixers; if false, after them
  bool bias = true;                     ///< whether linear layers have a bias
  std::int64_t seq_len = 64;            ///< length of training sequences; the model takes any length
  double dropout = 0;                   ///< probability of dropout in each layer
  std::string final_norm = "";          ///< type of the norm before the head; "": norm_type
  std::string mixing = "sequence";      ///< or "picture": mixes along the rows and the columns of a picture's patches
  bool causal = false;                  ///< mixes only earlier tokens, also for a task that isn't causal
  std::string head = "mean";  ///< computes a row's outputs from the mean of its tokens, or from the "last" one
  bool tied = true;  ///< a language model's head shares the embedding's weight; if false, it has its own, without bias
  std::int64_t exponentials = 0;  ///< if above 0: the coefficients are sums of this many exponentials (only causal)

  /// Whether all coefficients change with the length of the sequence, as they do with par_type 2 and 3.
  bool depends_on_length() const noexcept { return exponentials == 0 && (par_type == 2 || par_type == 3); }
  /// The number of channels of a position, which the relative position encoder reads.
  std::int64_t position_channels() const noexcept { return par_type == 4 ? 32 : 1; }

  /// Lists the fields (see weft/config.h).
  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model, "channels of a token", at_least(1));
    visit("layers", self.layers,
          "layers, each a gated Toeplitz unit (mixes tokens) and a gated linear unit (mixes channels)", at_least(0));
    visit("heads", self.heads, "heads of the Toeplitz operator; they divide floor(expand_ratio d_model)", at_least(1));
    visit("expand_ratio", self.expand_ratio, "channels that the Toeplitz operator mixes, as a multiple of d_model");
    visit("act", self.act, "activation of the gated Toeplitz unit: silu, gelu, relu, none, ...");
    visit("use_norm", self.use_norm, "a norm before the gated Toeplitz unit's last linear layer");
    visit("rpe_dim", self.rpe_dim, "channels of the relative position encoder, the network that makes the coefficients",
          at_least(1));
    visit("rpe_layers", self.rpe_layers, "layers of the relative position encoder between its first and its last",
          at_least(0));
    visit("rpe_residual", self.rpe_residual, "each of these layers adds its input to its output");
    visit("rpe_act", self.rpe_act, "activation of the relative position encoder");
    visit("glu_dim", self.glu_dim, "channels inside the gated linear unit; 0: d_model", at_least(0));
    visit("glu_act", self.glu_act, "activation of the gated linear unit");
    visit("use_decay", self.use_decay, "the coefficient of lag k is multiplied by gamma^|k|");
    visit("use_multi_decay", self.use_multi_decay,
          "the same with a gamma for each channel, learned, between gamma and 1; not with use_decay");
    visit("gamma", self.gamma, "the decay, 0 to 1; 1: none");
    visit("time_scales", self.time_scales,
          "with use_multi_decay and gamma 0: the decays of the channels begin as exp(-1/s), with s from 1 to this many "
          "tokens in equal ratios, at most 131072; 0: at random, near 1/2",
          at_least(0), Written::unless_default);
    visit("par_type", self.par_type,
          "the encoder's input for lag k: k (1), k/(n-1) (2), exp(k/(n-1)) (3, only if causal), or 16 sines and 16 "
          "cosines of k with periods of 2 to about 5000 tokens (4), for coefficients that change quickly from lag to "
          "lag; with 2 and 3 everything changes with the length n, so that generating a token costs a forward pass");
    visit("act_type", self.act_type, "activation of the coefficients; none: they may have any sign");
    visit("normalize", self.normalize, "sums over tokens are divided by the sum of their coefficients");
    visit("norm_type", self.norm_type, "type of every norm except final_norm: layernorm or simplermsnorm");
    visit("prenorm", self.prenorm, "norms before the two units of a layer; if false, after them");
    visit("bias", self.bias, "linear layers have a bias");
    visit("seq_len", self.seq_len, "length of training sequences, in tokens; the model takes any length", at_least(1));
    visit("dropout", self.dropout,
          "probability, in training, that an element of a unit's output is dropped; 0 to less than 1", probability());
    visit("final_norm", self.final_norm, "type of the norm before the head; empty: norm_type", Written::unless_default);
    visit("mixing", self.mixing,
          "sequence: one Toeplitz operator along the sequence; picture: the sum of two, along the rows and the columns "
          "of a picture's patches",
          Written::unless_default);
    visit("causal", self.causal, "a token is mixed only with earlier ones, as in every causal language model",
          Written::unless_default);
    visit("head", self.head,
          "the outputs of a row are computed from the mean of the tokens that are not padding (mean) or from the last "
          "such "
          "token (last)",
          Written::unless_default);
    visit("tied", self.tied,
          "a language model's head shares the embedding's weight; if false, it has its own, without bias",
          Written::unless_default);
    visit("exponentials", self.exponentials,
          "if above 0: each channel's coefficients are a sum of this many learned exponentials of the lag, which "
          "replaces the relative position encoder, the decay and act_type, so that generating a token takes the same "
          "time and memory at any length; only if causal, and without normalize",
          at_least(0), Written::unless_default);
  }
};

/// The relative position encoder (section 3.3), positions (k, 1) -> (k, outdim):
/// x = pos_proj(p); x = L(x), or L(x) + x, for each layer; y = out(x). L and out are linear(act(norm(x))).
/// Several threads may call the same layer concurrently, as with Linear.
class Rpe : public Layer<Rpe> {
 public:
  /// Throws an Error if a size is below 1, or rpe_layers below 0.
  Rpe(std::int64_t outdim, const TnnConfig& options, const Init& init);
  /// positions (k, options.position_channels()) -> (k, outdim).
  Tensor operator()(const Tensor& positions) const;
  /// Returns an upper bound of |rpe(p)| in each channel (outdim), for any p. The bound is infinite if act grows faster
  /// than its argument.
  std::vector<double> bounds() const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("pos_proj", pos_proj_);
    visit("layers", layers_);
    visit("out", out_);
  }

 private:
  struct NormActLinear {
    Norm norm;
    Linear linear;

    // The names are the indices in the sequence of norm, activation and linear layer.
    template <class Visit>
    void fields(Visit visit) const {
      visit("0", norm);
      visit("2", linear);
    }
  };
  Tensor apply(const NormActLinear& layer, const Tensor& x, const Tensor& residual) const;
  NormActLinear make_layer(std::int64_t out, const TnnConfig& options, const Init& init) const;

  std::int64_t dim_;
  bool residual_;
  Activation act_;
  Linear pos_proj_;
  std::vector<NormActLinear> layers_;
  NormActLinear out_;
};

/// Coefficients that are sums of K = options.exponentials exponentials, with their own parameters in each channel:
/// t_k = sum_j exp(-exp(nu_j) k) (a_j cos(theta_j k) + b_j sin(theta_j k)), as in Qin and Zhong 2023, arXiv 2311.08756.
/// With lambda_j = exp(-exp(nu_j) + i theta_j), t_k = sum_j (a_j Re lambda_j^k + b_j Im lambda_j^k). |lambda_j| <= 1 for
/// all parameters, because nu_j counts as at most 80 and at least -80 (Orvieto et al. 2023, arXiv 2303.06349).
///
/// Initially exp(nu_j) = 1/s_j with the time scales s_j = seq_len^(j/(K-1)), or seq_len if K is 1, theta_j ~ N(0, 1/s_j²), and a_j and b_j ~
/// N(0, 1/K).
class Exponentials : public Layer<Exponentials> {
 public:
  /// Throws an Error unless options.exponentials is at least 1.
  Exponentials(std::int64_t channels, const TnnConfig& options, const Init& init);
  /// Returns t_k for the lags first <= k < last, (last-first, channels).
  Tensor operator()(std::int64_t first, std::int64_t last) const;
  /// Returns Re(lambda - 1), Im(lambda), a and b: (K, 4, channels). No tape records the call.
  Tensor factors() const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("nu", nu_);
    visit("theta", theta_);
    visit("a", a_);
    visit("b", b_);
  }

 private:
  Parameter nu_, theta_, a_, b_;  // (K, channels)
};

/// The Toeplitz neural operator (sections 3.2 and 3.4), x (b, h, n, dim): y_i = sum_j t_(i-j) x_j, over j <= i if
/// causal, with t_k = act_type(gamma^|k| · rpe(p_k)). n may be any length. With use_decay, gamma is one number. With
/// use_multi_decay, it is a learned value for each channel, gamma + (1 - gamma) · sigmoid(g), where g ~ N(0, 1)
/// initially. Otherwise the factor gamma^|k| is left out.
///
/// With time_scales L > 0, a learned decay is gamma + (1 - gamma) · sigmoid(g + o_c), where g is 0 initially, and o_c
/// does not change. o_c is such that sigmoid(o_c) = exp(-1/s_c) for channel c of C, with the time scales
/// s_c = L^(c/(C-1)), or L if C is 1. So the channels begin with time scales from 1 token to L tokens, and weight decay pulls them back
/// to these.
///
/// With exponentials, t_k are the coefficients of Exponentials instead. The operator must be causal, and has neither an
/// encoder nor a decay.
///
/// When no tape records, the operator keeps the latest coefficients and their spectra until a thread writes a
/// parameter. Copies of the operator share the parameters, the coefficients and the spectra. Several threads may call
/// the same layer concurrently, each with its own Context, as long as no thread writes a parameter. A lock protects the
/// stored coefficients and spectra.
class Tno : public Layer<Tno> {
 public:
  /// Makes `h` heads with `dim` channels each. Throws an Error if options exclude each other, or if an option is out of
  /// its range.
  Tno(std::int64_t h, std::int64_t dim, const TnnConfig& options, bool causal, const Init& init);
  /// x (b, h, n, dim) -> the same shape.
  Tensor operator()(const Tensor& x) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("gamma", gamma_);
    visit("rpe", rpe_);
    visit("exponentials", exponentials_);
  }

  /// Returns the coefficients t (m, h·dim) for n positions, with channel = head·dim + d. If the operator is causal,
  /// they are those of the m = n lags 0 … n-1, otherwise those of the m = 2n-1 lags -(n-1) … n-1.
  Tensor coefficients(std::int64_t n) const;
  /// Returns only the coefficients of the lags first … last-1, (last-first, h·dim). They equal the coefficients of
  /// these lags in coefficients(last) up to rounding. Throws an Error unless the Tno is causal, options() don't depend
  /// on the length, and 0 <= first < last.
  Tensor coefficients(std::int64_t first, std::int64_t last) const;
  /// Returns a lag L such that the coefficients of all lags k >= L are together smaller than the rounding error,
  /// however many there are. In each channel, Σ_(k >= L) |t_k| <= u Σ_(k < 64) |t_k|, with u = 2^-24 in f32 and 2^-53
  /// in f64, or all coefficients are 0. L follows from |t_k| <= gamma^k · max |rpe|. The weights of the encoder's last
  /// layer give an upper bound of this maximum over all positions. Returns the largest int64 if there is no such L: if
  /// gamma is 1, if act_type is not 0 at 0, or with exponentials. Call it only for a causal operator with par_type 1 or
  /// 4.
  std::int64_t significant_lags() const;
  /// The exponentials, if options().exponentials is above 0.
  const std::optional<Exponentials>& exponentials() const noexcept { return exponentials_; }
  /// The options that the constructor received.
  const TnnConfig& options() const noexcept { return options_; }
  /// Whether y_i sees only the x_j with j <= i.
  bool causal() const noexcept { return causal_; }

 private:
  std::vector<double> lags(std::int64_t n) const;
  Tensor coefficients(const std::vector<double>& lags) const;
  std::vector<double> decay_offsets() const;
  std::vector<double> decay_rates() const;
  Tensor positions(const std::vector<double>& lags) const;
  Tensor decay(const std::vector<double>& lags) const;

  std::int64_t h_, dim_;
  TnnConfig options_;
  bool causal_;
  Activation act_type_;
  DType dtype_;
  std::optional<Rpe> rpe_;
  Parameter gamma_;  // g (h, 1, dim), with use_multi_decay
  std::optional<Exponentials> exponentials_;
  std::shared_ptr<detail::KeptToeplitz> kept_;
};

/// A function that mixes the tokens of v (b, n, d1). By default, the Tno mixes the whole sequence. A token stream
/// passes its own function, which mixes the tokens so far.
using TokenMix = std::function<Tensor(const Tensor& v)>;

/// The gated Toeplitz unit (section 3.1): y = o(norm(act(u_proj x) ⊙ merge(tno(split(act(v_proj x)))))). The norm is
/// present only with use_norm. d1 is expand_ratio · embed_dim, rounded down to a multiple of heads; channel =
/// head·(d1/heads) + d. Several threads may call the same layer concurrently, as with all layers.
///
/// With a grid, the sequence holds the patches of a picture. The sum of two Tnos then replaces the Tno, as in the
/// paper's image models: one mixes along the columns of patches, from top to bottom, and one along the rows.
class Gtu : public Layer<Gtu> {
 public:
  /// Throws an Error if a head would have no channel.
  Gtu(std::int64_t embed_dim, const TnnConfig& options, bool causal, const Init& init, const PatchGrid& grid = {});
  /// x (b, n, embed_dim) -> y in the same shape, or y + residual if a residual is given.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// Does the same, but `mix` replaces merge(tno(split(v))).
  Tensor operator()(const Tensor& x, const Tensor& residual, const TokenMix& mix) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("v_proj", v_proj_);
    visit("u_proj", u_proj_);
    visit("o", o_);
    visit("toep", toep_);
    visit("toep2", row_toep_);
    visit("norm", norm_);
  }

  /// merge(tno(split(v))): v (b, n, d1) -> the same shape.
  Tensor mix(const Tensor& v) const;
  /// The number of channels that the Tno mixes.
  std::int64_t d1() const noexcept { return d1_; }
  /// The Tno; with a grid, the Tno along the columns of patches.
  const Tno& toep() const noexcept { return toep_; }
  /// With a grid, the Tno along the rows of patches.
  const std::optional<Tno>& row_toep() const noexcept { return row_toep_; }

 private:
  std::int64_t d1_, heads_;
  Activation act_;
  Linear v_proj_, u_proj_, o_;
  Tno toep_;
  PatchGrid grid_;
  std::optional<Tno> row_toep_;  // with a grid
  std::optional<Norm> norm_;
};

/// The gated linear unit: y = fina_act(l3(act_fun(l1 x) ⊙ l2 x)). Several threads may call the same layer concurrently,
/// as with Linear.
class Glu : public Layer<Glu> {
 public:
  /// l1 and l2 are d1 -> d2, l3 is d2 -> d1.
  Glu(std::int64_t d1, std::int64_t d2, Activation act_fun, const Init& init, bool bias = true,
      Activation fina_act = Activation::none);
  /// x (…, d1) -> y in the same shape, or y + residual if a residual is given.
  Tensor operator()(const Tensor& x, const Tensor& residual = {}) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("l1", l1_);
    visit("l2", l2_);
    visit("l3", l3_);
  }

 private:
  Linear l1_, l2_, l3_;
  Activation act_fun_, fina_act_;
};

/// One layer (figure 2), x (b, n, dim):
/// - prenorm: x = x + token_mixer(token_norm(x)); x = x + feature_mixer(feature_norm(x))
/// - otherwise: x = x + token_norm(token_mixer(x)); x = x + feature_norm(feature_mixer(x))
///
/// token_mixer is a Gtu, and feature_mixer is a Glu. Several threads may call the same layer concurrently, as with all
/// layers.
class TnnLayer : public Layer<TnnLayer> {
 public:
  /// Throws an Error for options that Gtu or Tno reject.
  TnnLayer(std::int64_t dim, const TnnConfig& options, bool causal, const Init& init, const PatchGrid& grid = {});
  /// x (b, n, dim) -> the same shape. Dropout is active if `random` is given. If `mix` is given, it replaces the Tno of
  /// the token mixer.
  Tensor operator()(const Tensor& x, const Random* random = nullptr, const TokenMix& mix = {}) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("token_mixer", token_mixer_);
    visit("token_norm", token_norm_);
    visit("feature_norm", feature_norm_);
    visit("feature_mixer", feature_mixer_);
  }

  /// The gated Toeplitz unit.
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

/// The model: embedding · √d_model, then the layers, a final norm and a head. If the model reads frames (weft/input.h),
/// their embeddings are added to those of the tokens, or replace them if there are no tokens.
///
/// - Language models: the head gives (b, n, vocabulary). The head shares the weight of the embedding, or has its own
///   weight; it has no bias. The layers are causal for a causal language model, otherwise bidirectional.
/// - Tasks with outputs for each row: bidirectional layers, the mean over the tokens that are not padding (0), and a
///   linear head that gives (b, outputs).
/// - Tagging: bidirectional layers and a linear head that gives (b, n, outputs).
///
/// With head "last", the last token that is not padding replaces the mean. With the option causal, all layers are
/// causal, whatever the task is.
class Tnn : public ModelOf<Tnn, TnnConfig> {
 public:
  /// make_model calls this for the architecture "tnn".
  Tnn(const ModelSpec& spec, const Init& init);
  /// Returns the description of this architecture (weft/architecture.h).
  static Architecture architecture();

  std::string config_for(Task task) const override;
  std::int64_t max_length() const noexcept override { return 0; }
  Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const override;
  Tensor forward(const ModelInput& input, const Random* dropout = nullptr) const override;
  Tensor features(const Tensor& tokens) const override;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("embedding", embedding_);
    visit("frames", frames_);
    visit("layers", layers_);
    visit("norm", norm_);
    visit("head", head_);
  }
  /// The stream is exact up to rounding, and can continue past seq_len. After n tokens, appending a token takes O(log²
  /// n) time. The stream needs O(n) memory. For each layer, it stores v of every token, the coefficients, and products
  /// that are computed ahead. If only L lags are significant (Tno::significant_lags), time and memory per token do not
  /// grow with n. With par_type 2 and 3, all coefficients change with the length, and so does everything that the
  /// layers computed for earlier tokens. Appending a token then costs a forward pass.
  ///
  /// With exponentials, the stream computes y by a recurrence. For each layer and text it stores exponentials · 2 · d1
  /// numbers, whatever n is, and appending a token takes the same time for every n.
  ///
  /// Without exponentials, after several tokens are appended at once, the model keeps the coefficients for later
  /// streams, at most 512 MiB, until a thread writes a parameter.
  std::unique_ptr<TokenStream> stream() const override;
  std::string why_stream_is_slow() const override;
  /// The memory for a text that is alone. Texts of one stream share their coefficients, so several texts take less.
  std::int64_t stream_bytes(std::int64_t tokens) const override;

  /// The layers in order, for inspecting what each has learned, for example
  /// layers()[0].token_mixer().toep().coefficients(n).
  const std::vector<TnnLayer>& layers() const noexcept { return layers_; }

 private:
  class WEFT_HIDDEN Stream;
  class WEFT_HIDDEN RecurrentStream;
  std::unique_ptr<TokenStream> recurrent_stream() const;
  std::int64_t recurrent_stream_bytes() const noexcept;
  Tensor last_logits(const Tensor& tokens, const std::function<Tensor(const Tensor& v, std::size_t layer)>& mix) const;
  Tensor embed(const Tensor& tokens) const;
  Tensor embed(const ModelInput& input) const;
  Tensor encode(const ModelInput& input, const Random* dropout) const;
  Tensor logits(const Tensor& x) const;

  Embedding embedding_;                   // undefined without a vocabulary
  std::optional<FrameEmbedding> frames_;  // present if the model reads frames
  std::vector<TnnLayer> layers_;
  Norm norm_;
  std::optional<Linear> head_;                   // absent if tied
  std::shared_ptr<detail::KeptLags> kept_lags_;  // for the streams
};

}  // namespace weft
WEFT_PUBLIC_END
