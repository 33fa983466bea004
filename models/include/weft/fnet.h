/// \file
/// FNet: Mixing Tokens with Fourier Transforms, Lee-Thorp et al. 2021, arXiv 2105.03824. Sequences have the shape (b,
/// n, d).
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/architecture.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Where the norms of an encoder layer are.
enum class NormPlace {
  pre,   ///< "pre": before the mixing and before the feed-forward network
  post,  ///< "post": after the residual sums, as in the paper
};
/// Returns the NormPlace with that name. Throws an Error if there is none.
NormPlace norm_place_from_name(const std::string& name);

/// One encoder layer for x (b, n, d_model), with mix(x) = Re(FFT over n (FFT over d)) and ffn(x) =
/// proj2(act(proj1(x))):
/// - post (the paper, section 3): x = mixing_norm(x + mix(x)); x = output_norm(x + dropout(ffn(x)))
/// - pre (labml.ai): x = x + mix(mixing_norm(x)); x = x + dropout(ffn(output_norm(x)))
///
/// With a grid, x holds the patches of pictures, and mix(x) = Re(FFT over rows (FFT over columns (FFT over d))).
/// Several threads may call the same layer concurrently, each with its own Context, as long as no thread writes a
/// parameter.
class FnetLayer : public Layer<FnetLayer> {
 public:
  /// The default activation is that of the paper.
  FnetLayer(std::int64_t d_model, std::int64_t d_ffn, NormPlace place, const Init& init, double eps = 1e-12,
            double dropout = 0, Activation activation = Activation::gelu_tanh, const PatchGrid& grid = {});
  /// x (b, n, d_model) -> the same shape. Dropout is active if `random` is given.
  Tensor operator()(const Tensor& x, const Random* random = nullptr) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("mixing_norm", mixing_norm);
    visit("proj1", proj1);
    visit("proj2", proj2);
    visit("output_norm", output_norm);
  }

  LayerNorm mixing_norm;  ///< before the mixing (pre), or after its residual sum (post)
  Linear proj1;           ///< d_model -> d_ffn
  Linear proj2;           ///< d_ffn -> d_model
  LayerNorm output_norm;  ///< before the feed-forward network (pre), or after its residual sum (post)
  NormPlace place;        ///< the position of both norms
  Activation activation;  ///< after proj1
  Dropout dropout;        ///< after proj2
  PatchGrid grid;         ///< if defined, the sequence holds the patches of a picture, and mixing runs along both axes

 private:
  Tensor mix(const Tensor& x) const;
};

/// How the i-th token of a sequence is embedded.
enum class FnetEmbeddingsKind {
  bert,        ///< "bert": projection(norm(word[token] + position[i] + type[type of token])), as in the paper
  sinusoidal,  ///< "sinusoidal": √d_model · word[token] + sinusoidal positions, as in labml.ai's experiment
  plain,       ///< "plain": √d_model · word[token], without positions
};
/// Returns the kind of that name. Throws an Error if there is none.
FnetEmbeddingsKind fnet_embeddings_from_name(const std::string& name);

/// Embeddings of any of these kinds. Several threads may call them at the same time, as with all layers.
class FnetEmbeddings : public Layer<FnetEmbeddings> {
 public:
  /// Draws the weights from N(0, 0.02²), as in BERT, or from N(0, 1/d_model) for the kinds sinusoidal and plain.
  FnetEmbeddings(std::int64_t vocabulary, std::int64_t seq_len, std::int64_t types, std::int64_t d_model,
                 const Init& init, double eps = 1e-12, FnetEmbeddingsKind kind = FnetEmbeddingsKind::bert);
  /// tokens (b, n) i64, types (b, n) i64 or undefined (all 0) -> (b, n, d_model) in the given precision. Throws an
  /// Error if n > seq_len, or if types are given but this kind of embeddings has no types.
  Tensor operator()(const Tensor& tokens, const Tensor& types = {}, Precision precision = Precision::f32) const;
  /// Returns only the word embeddings of tokens (b, n): word[token] for the kind bert, √d_model · word[token] for the
  /// other kinds. The result has the shape (b, n, d_model).
  Tensor words(const Tensor& tokens) const;
  /// Returns the complete embedding, with x (b, n, d_model) in place of the result of words().
  Tensor around(const Tensor& x, const Tensor& types, Precision precision) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("word", word);
    visit("", learned);
  }

  /// The parts that only the kind bert has, in addition to the word embeddings.
  struct Learned {
    Embedding position;  ///< (seq_len, d_model)
    Embedding type;      ///< (types, d_model)
    LayerNorm norm;      ///< normalizes the sum of the embeddings
    Linear projection;   ///< d_model -> d_model

    /// Lists the parameters and parts (see weft/layers.h).
    template <class Visit>
    void fields(Visit visit) const {
      visit("position", position);
      visit("type", type);
      visit("norm", norm);
      visit("projection", projection);
    }
  };
  Embedding word;                  ///< (vocabulary, d_model); no table if the vocabulary is 0
  std::optional<Learned> learned;  ///< only for the kind bert

 private:
  std::int64_t seq_len_;
  std::shared_ptr<detail::SinusoidalPositions> positions_;  // only for the kind sinusoidal
};

/// tanh(dense(x_0)): x (b, n, d_model) -> (b, d_model). Several threads may call the same layer concurrently, as with
/// Linear.
class FnetPooler : public Layer<FnetPooler> {
 public:
  /// Throws an Error if d_model is below 1.
  FnetPooler(std::int64_t d_model, const Init& init) : dense(d_model, d_model, init) {}
  /// x (b, n, d_model), n >= 1 -> (b, d_model).
  Tensor operator()(const Tensor& x) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("dense", dense);
  }

  Linear dense;  ///< d_model -> d_model
};

/// What an Fnet has after its encoder.
enum class FnetHead {
  task,           ///< "task": the head that the task needs
  pooler,         ///< "pooler": a masked language model also has a pooler; a classifier has only a pooler
  next_sentence,  ///< "next-sentence": predicts whether the second text follows the first; classifiers need 2 classes
  /// "last": for a classifier, a linear layer on the last token, even if that is padding, without a pooler. Rows must
  /// end with [CLS], and padding must be before it.
  last,
  mean,  ///< "mean": for a classifier, a linear layer on the mean of the tokens that are not padding, without a pooler
};
/// Returns the head of that name. Throws an Error if there is none.
FnetHead fnet_head_from_name(const std::string& name);

/// The options of "fnet", with their names in the config.
struct FnetConfig {
  static constexpr const char* arch = "fnet";  ///< the name of the architecture

  std::int64_t d_model = 128;  ///< channels of a token
  std::int64_t d_ffn = 0;      ///< channels inside the feed-forward network; 0: 4 d_model
  std::int64_t layers = 2;     ///< number of encoder layers
  std::int64_t seq_len = 128;  ///< the maximum length of a sequence
  std::int64_t types = 4;      ///< number of token types
  std::string norm = "post";   ///< "post", or "pre" with a final norm, see NormPlace
  /// Activation of the feed-forward network and of the masked language model's head.
  std::string activation = "gelu_tanh";
  double eps = 1e-12;               ///< epsilon of the norms
  double dropout = 0;               ///< probability of dropout after the embeddings and in each layer
  std::string head = "task";        ///< or "pooler", "next-sentence", "last", "mean": see FnetHead
  bool tied = true;                 ///< the masked language model's decoder shares the weight of the word embeddings
  std::int64_t separator = -1;      ///< the token that ends each of two texts; the second has type 1; -1: none
  std::string mixing = "sequence";  ///< or "picture": mixes along the rows and the columns of a picture's patches
  std::string embeddings = "bert";  ///< or "sinusoidal", "plain": see FnetEmbeddingsKind

  /// d_ffn, or 4 d_model if d_ffn is 0.
  std::int64_t ffn_channels() const noexcept { return d_ffn == 0 ? 4 * d_model : d_ffn; }

  /// Lists the fields (see weft/config.h).
  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model, "channels of a token", at_least(1));
    visit("d_ffn", self.d_ffn, "channels inside the feed-forward network; 0: 4 d_model", at_least(0));
    visit("layers", self.layers, "encoder layers", at_least(0));
    visit("seq_len", self.seq_len, "the longest sequence, in tokens; each position has an embedding", at_least(1));
    visit("types", self.types, "token types that have an embedding; without a separator all tokens are of type 0",
          at_least(1));
    visit("norm", self.norm,
          "post: norms after the residual additions, as in the paper; pre: norms before the mixing and before the "
          "feed-forward network, and a final norm");
    visit("activation", self.activation, "activation of the feed-forward network and the masked language model's head");
    visit("eps", self.eps, "added to the variance in norms, above 0");
    visit("dropout", self.dropout,
          "probability, in training, that an element of the embeddings or a network's output is dropped",
          probability());
    visit("head", self.head,
          "task: what the task needs; pooler: a pooler beside the masked language model's head, or only a pooler as a "
          "classifier, whose outputs are features; next-sentence: whether the second text follows the first, 2 "
          "classes; last: a classifier's linear layer on the last token, even if it is padding, so rows must end with "
          "[CLS] and be padded before it; mean: a linear layer on the mean of the tokens that are not padding",
          Written::unless_default);
    visit("tied", self.tied, "the masked language model's decoder shares the weight of the word embeddings",
          Written::unless_default);
    visit("separator", self.separator,
          "id of the token that ends each of two texts; tokens after the first one, up to the second, have type 1; -1: "
          "none",
          Written::unless_default);
    visit("mixing", self.mixing,
          "sequence: the transform runs along the sequence; picture: along the rows and the columns of a picture's "
          "patches",
          Written::unless_default);
    visit("embeddings", self.embeddings,
          "bert: word, position and type, with a norm and a projection, as in the paper; sinusoidal: the word times "
          "the root of d_model, plus sinusoidal positions, without types; plain: the same without positions",
          Written::unless_default);
  }
};

/// Embeddings and layers, without a head: tokens (b, n) -> (b, n, d_model). If the model reads frames (weft/input.h),
/// their embeddings are added to the word embeddings, or replace them if there are no tokens. Several threads may call
/// the same layer concurrently, as with all layers.
class FnetEncoder : public Layer<FnetEncoder> {
 public:
  /// Throws an Error if the norm, the activation or the kind of embeddings is unknown, or if a size is below 1.
  FnetEncoder(const FnetConfig& config, std::int64_t vocabulary, const Init& init, const InputSpec& input = {});
  /// tokens (b, n) i64, types (b, n) i64 or undefined (all 0) -> (b, n, d_model) in the given precision. Dropout is
  /// active if `dropout` is given. With `recompute`, backward computes each layer again, see Model::recomputes().
  Tensor operator()(const Tensor& tokens, const Tensor& types = {}, const Random* dropout = nullptr,
                    Precision precision = Precision::f32, bool recompute = false) const;
  /// Does the same for any input.
  Tensor operator()(const ModelInput& input, const Tensor& types = {}, const Random* dropout = nullptr,
                    Precision precision = Precision::f32, bool recompute = false) const;
  /// Returns the input of the first layer, without dropout: (b, n, d_model).
  Tensor embed(const ModelInput& input, const Tensor& types = {}, Precision precision = Precision::f32) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("embeddings", embeddings);
    visit("frames", frames);
    visit("layers", layers);
    visit("norm", final_norm_);
  }

  FnetEmbeddings embeddings;             ///< the embeddings of tokens and positions
  std::optional<FrameEmbedding> frames;  ///< defined if the model reads frames
  std::vector<FnetLayer> layers;         ///< in order
  Dropout dropout;                       ///< after the embeddings

 private:
  std::optional<LayerNorm> final_norm_;  // only with pre-norm layers
};

/// All outputs that an Fnet computes for its tokens. Outputs that the model doesn't have are undefined.
struct FnetOutputs {
  Tensor hidden = {};  ///< (b, n, d_model), the encoder's output
  Tensor pooled = {};  ///< (b, d_model), tanh(dense(hidden of the first token))
  Tensor words = {};   ///< (b, n, vocabulary), the masked language model's logits
  /// The classifier's logits (b, classes). For next-sentence prediction (b, 2): class 0 if the second text follows the
  /// first, class 1 if it does not.
  Tensor classes = {};
};

/// The model: an encoder and a head. The list shows the default heads, and FnetHead lists further ones.
///
/// - Masked language model: decoder(norm(act(transform(x)))). The decoder shares the weight of the word embeddings, or
///   has its own weight.
/// - Tasks with outputs for each row: linear(pooler(x)) of the first token. For a model that reads no tokens: linear(x)
///   of the mean over the sequence.
/// - Tagging: linear(x) of each token.
///
/// The constructor throws an Error for a causal language model, because the mixing also reads later tokens.
class Fnet : public ModelOf<Fnet, FnetConfig> {
 public:
  /// make_model calls this for the architecture "fnet".
  Fnet(const ModelSpec& spec, const Init& init);
  /// Returns the description of this architecture (weft/architecture.h).
  static Architecture architecture();

  std::int64_t max_length() const noexcept override { return config_.seq_len; }
  std::string config_for(Task task) const override;
  bool skips_padding() const noexcept override { return false; }  // the mixing takes padding like any other token
  bool gives_features() const noexcept override { return task_ == Task::classifier && !classes_; }
  Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const override;
  Tensor forward(const ModelInput& input, const Random* dropout = nullptr) const override;
  Tensor features(const Tensor& tokens) const override;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("encoder", encoder_);
    visit("head", language_model_);
    visit("pooler", pooler_);
    visit(language_model_ ? "next_sentence" : "classifier", classes_);
  }

  /// tokens (b, n) i64, types (b, n) i64. If `types` is undefined, the separator in the config determines the types.
  /// Returns the outputs of every head.
  FnetOutputs run(const Tensor& tokens, const Tensor& types = {}, const Random* dropout = nullptr) const;

  /// The model without its head, for inspecting each layer.
  const FnetEncoder& encoder() const noexcept { return encoder_; }

 private:
  FnetEncoder encoder_;
  struct LanguageModelHead {
    Linear transform;
    LayerNorm norm;
    Parameter bias;
    std::optional<Linear> decoder;  // absent if tied; its bias is the member `bias`

    template <class Visit>
    void fields(Visit visit) const {
      visit("transform", transform);
      visit("norm", norm);
      visit("bias", bias);
      if (decoder) visit("decoder.weight", decoder->weight);
    }
  };
  Tensor encode(const ModelInput& input, const Tensor& types, const Random* dropout) const;
  Tensor words(const Tensor& x) const;
  Tensor pooled(const Tensor& x, const Tensor& tokens) const;

  std::optional<FnetPooler> pooler_;
  std::optional<Linear> classes_;  // takes the pooled vector
  std::optional<LanguageModelHead> language_model_;
};

}  // namespace weft
WEFT_PUBLIC_END
