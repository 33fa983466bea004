// gMLP: Pay Attention to MLPs, Liu et al. 2021, arXiv 2105.08050. Sequences lie as (n, b, d).
#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

// Which tokens j a token i sees: all, those j <= i, or those that a tensor (n, n, 1) or (1, n, 1) of 0 and 1 gives.
struct SpatialMask {
  SpatialMask() = default;
  SpatialMask(Tensor mask) : tensor(std::move(mask)) {}
  static SpatialMask causal() { SpatialMask mask; mask.is_causal = true; return mask; }

  Tensor tensor;
  bool is_causal = false;  // takes half of the work of a tensor
};

// z (n, b, d_z) with halves z1, z2: y_i = z1_i ⊙ (sum_j W[i,j] mask[i,j] norm(z2)_j + b_i), W = weight[:n,:n].
class SpatialGatingUnit {
 public:
  // weight (seq_len, seq_len) ~ U(-0.01, 0.01), bias (seq_len) ones: at first each token passes by itself.
  // Error if d_z is odd.
  SpatialGatingUnit(std::int64_t d_z, std::int64_t seq_len, const Init& init);
  // Error if n > seq_len.
  Tensor operator()(const Tensor& z, const SpatialMask& mask = {}) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  LayerNorm norm;
  Parameter weight, bias;
  std::int64_t seq_len;
};

// x (n, b, d_model): y = x + proj2(sgu(gelu(proj1(norm(x))), mask)).
class GmlpBlock {
 public:
  GmlpBlock(std::int64_t d_model, std::int64_t d_ffn, std::int64_t seq_len, const Init& init, double dropout = 0);
  Tensor operator()(const Tensor& x, const SpatialMask& mask = {}, const Random* random = nullptr) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  LayerNorm norm;
  Linear proj1;
  SpatialGatingUnit sgu;
  Linear proj2;
  Dropout dropout;
};

// The mask (n, n, 1) with ones where j <= i.
Tensor causal_mask(std::int64_t n, DType dtype = DType::f32);

struct GmlpConfig {
  std::int64_t d_model = 128;
  std::int64_t d_ffn = 0;  // 0: 8 d_model
  std::int64_t layers = 4;
  std::int64_t seq_len = 64;
  bool tied = false;           // the head shares the embedding's weight, and has no bias
  bool positions = true;       // adds sinusoidal positions to embeddings · √d_model
  double dropout = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model);
    visit("d_ffn", self.d_ffn);
    visit("layers", self.layers);
    visit("seq_len", self.seq_len);
    visit("tied", self.tied);
    visit("positions", self.positions);
    visit("dropout", self.dropout);
  }
};

// Embedding · √d_model plus sinusoidal positions; blocks; final LayerNorm; a linear head.
// Language model: the blocks have the causal mask, the head gives (b, n, vocabulary).
// Classifier: no mask, the mean over tokens that are not padding (0), the head gives (b, classes).
class Gmlp : public Model {
 public:
  Gmlp(const ModelSpec& spec, const Init& init);

  const char* arch() const noexcept override { return "gmlp"; }
  Task task() const noexcept override { return task_; }
  std::int64_t outputs() const noexcept override { return outputs_; }
  std::int64_t vocabulary() const noexcept override { return vocabulary_; }
  std::string config() const override;
  std::int64_t max_length() const noexcept override { return config_.seq_len; }
  Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const override;
  void collect(const std::string& prefix, NamedParameters& out) const override;
  std::unique_ptr<TokenStream> stream() const override;

 private:
  class [[gnu::visibility("hidden")]] Stream;
  Tensor positions(std::int64_t first, std::int64_t n) const;
  Tensor embed(const Tensor& tokens, std::int64_t first) const;
  Tensor head(const Tensor& x) const;

  GmlpConfig config_;
  Task task_;
  std::int64_t vocabulary_, outputs_;
  Embedding embedding_;
  std::vector<GmlpBlock> blocks_;
  LayerNorm norm_;
  std::optional<Linear> head_;  // unless it is tied
  mutable std::mutex positions_mutex_;
  mutable Tensor positions_;  // (rows, 1, d_model), the first rows of the sinusoidal positions
};

}  // namespace weft
#pragma GCC visibility pop
