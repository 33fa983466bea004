/// \file
/// FNet: Mixing Tokens with Fourier Transforms, Lee-Thorp et al. 2021, arXiv 2105.03824. Sequences lie as (b, n, d).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/architecture.h"

#pragma GCC visibility push(default)
namespace weft {

/// Where an encoder layer has its norms.
enum class NormPlace {
  pre,   ///< "pre": before mixing and feed-forward network
  post,  ///< "post": after x is added, as in the paper
};
/// The place of that name. Error if there is none.
NormPlace norm_place_from_name(const std::string& name);

/// One encoder layer, x (b, n, d_model), mix(x) = Re(FFT over n (FFT over d)), ffn(x) = proj2(act(proj1(x))):
/// - post (the paper, section 3): x = mixing_norm(x + mix(x)); x = output_norm(x + dropout(ffn(x)))
/// - pre (labml.ai): x = x + mix(mixing_norm(x)); x = x + dropout(ffn(output_norm(x)))
///
/// Threads may call it at once, each with a Context of its own, as long as nobody writes a parameter.
class FnetLayer : public Layer<FnetLayer> {
 public:
  /// Without an activation of its own it is the paper's.
  FnetLayer(std::int64_t d_model, std::int64_t d_ffn, NormPlace place, const Init& init, double eps = 1e-12,
            double dropout = 0, Activation activation = Activation::gelu_tanh);
  /// x (b, n, d_model): the same shape. Dropout is on if `random` is given.
  Tensor operator()(const Tensor& x, const Random* random = nullptr) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("mixing_norm", mixing_norm);
    visit("proj1", proj1);
    visit("proj2", proj2);
    visit("output_norm", output_norm);
  }

  LayerNorm mixing_norm;  ///< of the mixing
  Linear proj1;           ///< d_model -> d_ffn
  Linear proj2;           ///< d_ffn -> d_model
  LayerNorm output_norm;  ///< of the feed-forward network
  NormPlace place;        ///< of both norms
  Activation activation;  ///< after proj1
  Dropout dropout;        ///< after proj2
};

/// What an encoder begins with, of the i-th token.
enum class FnetEmbeddingsKind {
  bert,        ///< "bert": projection(norm(word[token] + position[i] + type[type of token])), as in the paper
  sinusoidal,  ///< "sinusoidal": √d_model · word[token] + sinusoidal positions, as in labml.ai's experiment
};
/// The kind of that name. Error if there is none.
FnetEmbeddingsKind fnet_embeddings_from_name(const std::string& name);

/// Embeddings of either kind. Threads may call it at once, as its parts.
class FnetEmbeddings : public Layer<FnetEmbeddings> {
 public:
  /// Their weights ~ N(0, 0.02²), as in BERT; sinusoidal: N(0, 1/d_model).
  FnetEmbeddings(std::int64_t vocabulary, std::int64_t seq_len, std::int64_t types, std::int64_t d_model,
                 const Init& init, double eps = 1e-12, FnetEmbeddingsKind kind = FnetEmbeddingsKind::bert);
  /// tokens (b, n), types (b, n) or undefined (all 0), i64: (b, n, d_model) in the precision. Error if n > seq_len, or for
  /// types where there are none.
  Tensor operator()(const Tensor& tokens, const Tensor& types = {}, Precision precision = Precision::f32) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("word", word);
    visit("", learned);
  }

  /// What is beside the words in the kind bert.
  struct Learned {
    Embedding position;  ///< (seq_len, d_model)
    Embedding type;      ///< (types, d_model)
    LayerNorm norm;      ///< of their sum
    Linear projection;   ///< d_model -> d_model

    /// For weft/layers.h.
    template <class Visit>
    void fields(Visit visit) const {
      visit("position", position);
      visit("type", type);
      visit("norm", norm);
      visit("projection", projection);
    }
  };
  Embedding word;                  ///< (vocabulary, d_model)
  std::optional<Learned> learned;  ///< of the kind bert

 private:
  std::int64_t seq_len_;
  std::shared_ptr<detail::SinusoidalPositions> positions_;  // of the other
};

/// tanh(dense(x_0)): x (b, n, d_model) -> (b, d_model). Threads may call it at once, as Linear.
class FnetPooler : public Layer<FnetPooler> {
 public:
  /// Error if d_model is below 1.
  FnetPooler(std::int64_t d_model, const Init& init) : dense(d_model, d_model, init) {}
  /// x (b, n, d_model), n >= 1: (b, d_model).
  Tensor operator()(const Tensor& x) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("dense", dense);
  }

  Linear dense;  ///< d_model -> d_model
};

/// What an Fnet has behind its encoder.
enum class FnetHead {
  task,           ///< "task": what its task needs
  pooler,         ///< "pooler": a pooler beside the masked language model's head; of a classifier the pooler alone
  next_sentence,  ///< "next-sentence": whether the second text follows the first; of a classifier these are its 2 classes
  last,  ///< "last": of a classifier, linear in the last token, whichever it is, without a pooler: rows end in a [CLS],
         ///< and what fills them up stands before that
  mean,  ///< "mean": of a classifier, linear in the mean of the tokens that aren't padding, without a pooler
};
/// The head of that name. Error if there is none.
FnetHead fnet_head_from_name(const std::string& name);

/// The options of "fnet", under the names that its config has.
struct FnetConfig {
  static constexpr const char* arch = "fnet";  ///< of the architecture

  std::int64_t d_model = 128;            ///< channels of a token
  std::int64_t d_ffn = 0;                ///< of the feed-forward network; 0: 4 d_model
  std::int64_t layers = 2;               ///< of the encoder
  std::int64_t seq_len = 128;            ///< the longest sequence
  std::int64_t types = 4;                ///< of tokens
  std::string norm = "post";             ///< or "pre", with a final norm
  std::string activation = "gelu_tanh";  ///< of the feed-forward network and the masked language model's head
  double eps = 1e-12;                    ///< of the norms
  double dropout = 0;                    ///< of the embeddings and each layer
  std::string head = "task";             ///< or "pooler", "next-sentence", "last", "mean": see FnetHead
  bool tied = true;                      ///< the masked language model's decoder is the word embeddings' weight
  std::int64_t separator = -1;           ///< the token that ends each of two texts, whose second is of type 1; -1: none
  std::string embeddings = "bert";       ///< or "sinusoidal": see FnetEmbeddingsKind

  /// d_ffn, or what its 0 stands for.
  std::int64_t ffn_channels() const noexcept { return d_ffn == 0 ? 4 * d_model : d_ffn; }

  /// For weft/config.h.
  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model, "channels of a token", at_least(1));
    visit("d_ffn", self.d_ffn, "channels inside the feed-forward network; 0: 4 d_model", at_least(0));
    visit("layers", self.layers, "encoder layers", at_least(0));
    visit("seq_len", self.seq_len, "the longest sequence, in tokens; each position has an embedding", at_least(1));
    visit("types", self.types, "token types that have an embedding; without a separator all tokens are of type 0",
          at_least(1));
    visit("norm", self.norm,
          "post: norms after the sums (the paper's); pre: norms before mixing and network, and a last one");
    visit("activation", self.activation, "activation of the feed-forward network and the masked language model's head");
    visit("eps", self.eps, "what norms add to the variance, above 0");
    visit("dropout", self.dropout,
          "probability, in training, that an element of the embeddings or a network's output is dropped",
          probability());
    visit("head", self.head,
          "task: what the task needs; pooler: a pooler beside the masked language model's head, or a classifier's "
          "pooler alone, whose outputs are features; next-sentence: whether the second text follows the first, 2 "
          "classes; last: a classifier's linear layer of the last token, padding or not, so that rows are to end in a "
          "[CLS] and to be filled up before it; mean: that of the mean of the tokens but padding",
          Written::unless_default);
    visit("tied", self.tied, "the masked language model's decoder has the word embeddings as its weight",
          Written::unless_default);
    visit(
        "separator", self.separator,
        "id of the token that ends each of two texts: what follows the first, up to the second, is of type 1; -1: none",
        Written::unless_default);
    visit(
        "embeddings", self.embeddings,
        "bert: of word, position and type, with a norm and a projection (the paper's); sinusoidal: of the word alone, "
        "times the root of d_model, and sinusoidal positions; there types have no meaning",
        Written::unless_default);
  }
};

/// Embeddings and layers, without a head: tokens (b, n) -> (b, n, d_model). Threads may call it at once, as its parts.
class FnetEncoder : public Layer<FnetEncoder> {
 public:
  /// Error for a norm, an activation or a kind of embeddings that isn't known, or a size below 1.
  FnetEncoder(const FnetConfig& config, std::int64_t vocabulary, const Init& init);
  /// tokens (b, n), types (b, n) or undefined (all 0), i64: (b, n, d_model) in the precision. Dropout is on if `dropout`
  /// is given; with `recompute` backward computes each layer again, as Model::recomputes() says.
  Tensor operator()(const Tensor& tokens, const Tensor& types = {}, const Random* dropout = nullptr,
                    Precision precision = Precision::f32, bool recompute = false) const;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("embeddings", embeddings);
    visit("layers", layers);
    visit("norm", final_norm_);
  }

  FnetEmbeddings embeddings;      ///< of tokens and positions
  std::vector<FnetLayer> layers;  ///< in their order
  Dropout dropout;                ///< of the embeddings

 private:
  std::optional<LayerNorm> final_norm_;  // with pre-norm layers
};

/// All that an Fnet gives for its tokens; undefined: what it hasn't.
struct FnetOutputs {
  Tensor hidden = {};   ///< (b, n, d_model), the encoder's
  Tensor pooled = {};   ///< (b, d_model), tanh(dense(hidden of the first token))
  Tensor words = {};    ///< (b, n, vocabulary), logits of the masked language model
  Tensor classes = {};  ///< (b, classes), logits of the classifier; (b, 2) of the next sentence: 0 follows, 1 doesn't
};

/// The model: an encoder and a head.
/// Masked language model: decoder(norm(act(transform(x)))), the decoder's weight tied to the word embeddings, or its own.
/// Classifier: linear(pooler(x)) of the first token, or linear(x) of the last. A causal language model is refused: the
/// mixing sees the future. More heads: FnetHead.
class Fnet : public ModelOf<Fnet, FnetConfig> {
 public:
  /// As make_model, which is the way to make one by name.
  Fnet(const ModelSpec& spec, const Init& init);
  /// Its line in the table of architectures.
  static Architecture architecture();

  std::int64_t max_length() const noexcept override { return config_.seq_len; }
  std::string config_for(Task task) const override;
  bool skips_padding() const noexcept override { return false; }  // it mixes them as all others
  bool gives_features() const noexcept override { return task_ == Task::classifier && !classes_; }
  Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const override;
  /// For weft/layers.h.
  template <class Visit>
  void fields(Visit visit) const {
    visit("encoder", encoder_);
    visit("head", language_model_);
    visit("pooler", pooler_);
    visit(language_model_ ? "next_sentence" : "classifier", classes_);
  }

  /// tokens (b, n) i64, of these types (b, n) i64, or those that the config's separator gives: the outputs of every head.
  FnetOutputs run(const Tensor& tokens, const Tensor& types = {}, const Random* dropout = nullptr) const;

  /// All but the head, for a look at what each layer does.
  const FnetEncoder& encoder() const noexcept { return encoder_; }

 private:
  FnetEncoder encoder_;
  struct LanguageModelHead {
    Linear transform;
    LayerNorm norm;
    Parameter bias;
    std::optional<Linear> decoder;  // unless it is tied; its bias is the head's

    template <class Visit>
    void fields(Visit visit) const {
      visit("transform", transform);
      visit("norm", norm);
      visit("bias", bias);
      if (decoder) visit("decoder.weight", decoder->weight);
    }
  };
  Tensor encode(const Tensor& tokens, const Tensor& types, const Random* dropout) const;
  Tensor words(const Tensor& x) const;
  Tensor pooled(const Tensor& x, const Tensor& tokens) const;

  std::optional<FnetPooler> pooler_;
  std::optional<Linear> classes_;  // of what is pooled
  std::optional<LanguageModelHead> language_model_;
};

}  // namespace weft
#pragma GCC visibility pop
