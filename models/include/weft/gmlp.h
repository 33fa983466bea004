/// \file
/// gMLP: Pay Attention to MLPs, Liu et al. 2021, arXiv 2105.08050. Sequences have the shape (b, n, d), as in all
/// layers. In the functions named tokens_first, they have the shape (n, b, d). Mixing tokens is fastest if they are on
/// the first axis, so models transpose once before all blocks, and once after them.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/architecture.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Selects the tokens j that a token i sees: all tokens, the tokens j <= i, or those that a tensor of zeros and ones
/// selects.
struct SpatialMask {
  /// All tokens.
  SpatialMask() = default;
  /// Only the tokens j where mask[i,j] is 1. The shape of `mask` is (n, n, 1), or (1, n, 1) if every i has the same
  /// mask.
  SpatialMask(Tensor mask) : tensor(std::move(mask)) {}
  /// Only the tokens j <= i. This takes half as many operations as a mask tensor.
  static SpatialMask causal() {
    SpatialMask mask;
    mask.is_causal = true;
    return mask;
  }

  Tensor tensor;           ///< (n, n, 1), (1, n, 1) or undefined
  bool is_causal = false;  ///< selects only j <= i, in addition to the tensor's selection
};

/// The mask (n, n, 1) with ones where j <= i.
Tensor causal_mask(std::int64_t n, DType dtype = DType::f32);

/// Mixes the tokens of v = norm(z2) and gates the result with z1. Both z1 and v have the shape (n, b, d_z/2). A spatial
/// gating unit does this over the whole sequence: z1_i ⊙ (sum_j W[i,j] mask[i,j] v_j + b_i). A token stream passes its
/// own function instead.
using SpatialMix = std::function<Tensor(const Tensor& z1, const Tensor& v)>;

/// The spatial gating unit (section 2.2). z (b, n, d_z) has the halves z1 and z2:
/// y_i = z1_i ⊙ (sum_j W[i,j] mask[i,j] norm(z2)_j + b_i), with W = weight[:n,:n].
/// Several threads may call the same layer concurrently, each with its own Context, as long as no thread writes a
/// parameter.
class SpatialGatingUnit : public Layer<SpatialGatingUnit> {
 public:
  /// Draws weight from U(-0.01, 0.01) and sets bias to ones, so that tokens hardly mix before training. Throws an Error
  /// if d_z is odd.
  SpatialGatingUnit(std::int64_t d_z, std::int64_t seq_len, const Init& init);
  /// z (b, n, d_z) -> (b, n, d_z/2). Throws an Error if n > seq_len.
  Tensor operator()(const Tensor& z, const SpatialMask& mask = {}) const;
  /// Does the same for z (n, b, d_z) -> (n, b, d_z/2), without transposing. If `mix` is given, it replaces weight, mask
  /// and bias. Also throws an Error if both a mask and `mix` are given.
  Tensor tokens_first(const Tensor& z, const SpatialMask& mask = {}, const SpatialMix& mix = {}) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("norm", norm);
    visit("weight", weight);
    visit("bias", bias);
  }

  LayerNorm norm;        ///< normalizes z2
  Parameter weight;      ///< (seq_len, seq_len)
  Parameter bias;        ///< (seq_len)
  std::int64_t seq_len;  ///< the maximum length of a sequence
};

/// One block (figure 1), x (b, n, d_model): y = x + dropout(proj2(sgu(gelu(proj1(norm(x))), mask))).
/// Several threads may call the same block concurrently, as with all layers.
class GmlpBlock : public Layer<GmlpBlock> {
 public:
  /// d_ffn is the number of channels after proj1, before the split into halves. Throws an Error if d_ffn is odd.
  GmlpBlock(std::int64_t d_model, std::int64_t d_ffn, std::int64_t seq_len, const Init& init, double dropout = 0);
  /// x (b, n, d_model) -> the same shape. Dropout is active if `random` is given. The result is stored in the order (n,
  /// b, d_model), so the next block needs no transposition.
  Tensor operator()(const Tensor& x, const SpatialMask& mask = {}, const Random* random = nullptr) const;
  /// Does the same for x (n, b, d_model). `mix` is passed to the spatial gating unit.
  Tensor tokens_first(const Tensor& x, const SpatialMask& mask = {}, const Random* random = nullptr,
                      const SpatialMix& mix = {}) const;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("norm", norm);
    visit("proj1", proj1);
    visit("sgu", sgu);
    visit("proj2", proj2);
  }

  LayerNorm norm;         ///< normalizes x
  Linear proj1;           ///< d_model -> d_ffn
  SpatialGatingUnit sgu;  ///< d_ffn -> d_ffn/2
  Linear proj2;           ///< d_ffn/2 -> d_model
  Dropout dropout;        ///< on the output of proj2, before x is added
};

/// The options of "gmlp", with their names in the config.
struct GmlpConfig {
  static constexpr const char* arch = "gmlp";  ///< the name of the architecture

  std::int64_t d_model = 128;  ///< channels of a token
  std::int64_t d_ffn = 0;      ///< channels between a block's two projections, even; 0: 8 d_model
  std::int64_t layers = 4;     ///< number of blocks
  std::int64_t seq_len = 64;   ///< the maximum length of a sequence
  bool tied = false;           ///< the head shares the embedding's weight, and has no bias
  bool positions = true;       ///< adds sinusoidal positions to embeddings · √d_model
  double dropout = 0;          ///< probability of dropout in each block

  /// Lists the fields (see weft/config.h).
  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model, "channels of a token", at_least(1));
    visit("d_ffn", self.d_ffn,
          "channels between a block's two projections, even: one half gates the other; 0: 8 d_model", at_least(0));
    visit("layers", self.layers, "blocks", at_least(0));
    visit("seq_len", self.seq_len, "the longest sequence, in tokens; the spatial weights are seq_len x seq_len",
          at_least(1));
    visit("tied", self.tied, "the head shares the embedding's weight and has no bias; only for language models");
    visit("positions", self.positions, "sinusoidal positions are added to the embeddings");
    visit("dropout", self.dropout,
          "probability, in training, that an element of a block's output is dropped; 0 to less than 1", probability());
  }
};

/// The model: embedding · √d_model plus sinusoidal positions, then the blocks, a final LayerNorm and a linear head. If
/// the model reads frames (weft/input.h), their embeddings are added to those of the tokens, or replace them if there
/// are no tokens.
///
/// - Language models: the head gives (b, n, vocabulary). The blocks of a causal model have the causal mask. The blocks
///   of a masked model have no mask.
/// - Tasks with outputs for each row: the blocks have no mask. The head takes the mean over the tokens that are not
///   padding (0), and gives (b, outputs).
/// - Tagging: the blocks have no mask. The head gives (b, n, outputs).
class Gmlp : public ModelOf<Gmlp, GmlpConfig> {
 public:
  /// make_model calls this for the architecture "gmlp".
  Gmlp(const ModelSpec& spec, const Init& init);
  /// Returns the description of this architecture (weft/architecture.h).
  static Architecture architecture();

  std::int64_t max_length() const noexcept override { return config_.seq_len; }
  Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const override;
  Tensor forward(const ModelInput& input, const Random* dropout = nullptr) const override;
  Tensor features(const Tensor& tokens) const override;
  /// Lists the parameters and parts (see weft/layers.h).
  template <class Visit>
  void fields(Visit visit) const {
    visit("embedding", embedding_);
    visit("frames", frames_);
    visit("blocks", blocks_);
    visit("norm", norm_);
    visit("head", head_);
  }
  /// For each layer, the stream keeps norm(z2) of every token in its window. When the window is full (seq_len tokens),
  /// it moves by half its length. One forward pass then reads the newer half again, starting at position 0.
  std::unique_ptr<TokenStream> stream() const override;
  std::string why_stream_is_slow() const override;
  /// The memory for a window of at most seq_len tokens.
  std::int64_t stream_bytes(std::int64_t tokens) const override;

  /// The blocks in order, for inspecting what each has learned, for example blocks()[0].sgu.weight.
  const std::vector<GmlpBlock>& blocks() const noexcept { return blocks_; }

 private:
  class WEFT_HIDDEN Stream;
  Tensor embed(const Tensor& tokens, std::int64_t first) const;
  Tensor embed(const ModelInput& input) const;
  Tensor encode(const ModelInput& input, const Random* dropout) const;
  Tensor placed(const Tensor& x, std::int64_t first) const;
  Tensor head(const Tensor& x) const;

  Embedding embedding_;                   // undefined without a vocabulary
  std::optional<FrameEmbedding> frames_;  // present if the model reads frames
  std::vector<GmlpBlock> blocks_;
  LayerNorm norm_;
  std::optional<Linear> head_;  // absent if tied
  std::shared_ptr<detail::SinusoidalPositions> positions_;
};

}  // namespace weft
WEFT_PUBLIC_END
