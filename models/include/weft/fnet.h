// FNet: Mixing Tokens with Fourier Transforms, Lee-Thorp et al. 2021, arXiv 2105.03824. Sequences lie as (b, n, d).
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "weft/model.h"

#pragma GCC visibility push(default)
namespace weft {

enum class NormPlace { pre, post };

// One encoder layer, mix(x) = Re(FFT over n (FFT over d)), ffn(x) = proj2(act(proj1(x))):
//   post (the paper):  x = mixing_norm(x + mix(x));  x = output_norm(x + ffn(x))
//   pre (labml.ai):    x = x + mix(mixing_norm(x));  x = x + ffn(output_norm(x))
class FnetLayer {
 public:
  FnetLayer(std::int64_t d_model, std::int64_t d_ffn, NormPlace place, const Init& init, double eps = 1e-12,
            double dropout = 0, Activation activation = Activation::gelu_tanh);
  Tensor operator()(const Tensor& x, const Random* random = nullptr) const;  // (b, n, d_model)
  void collect(const std::string& prefix, NamedParameters& out) const;

  LayerNorm mixing_norm;
  Linear proj1, proj2;
  LayerNorm output_norm;
  NormPlace place;
  Activation activation;
  Dropout dropout;
};

// projection(norm(word[token] + position[i] + type[type of token])).
class FnetEmbeddings {
 public:
  FnetEmbeddings(std::int64_t vocabulary, std::int64_t seq_len, std::int64_t types, std::int64_t d_model, const Init& init,
                 double eps = 1e-12);
  // tokens (b, n), types (b, n) or undefined (all 0): (b, n, d_model). Error if n > seq_len.
  Tensor operator()(const Tensor& tokens, const Tensor& types = {}) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  Embedding word, position, type;
  LayerNorm norm;
  Linear projection;
};

// tanh(dense(x_0)): x (b, n, d) -> (b, d).
class FnetPooler {
 public:
  FnetPooler(std::int64_t d_model, const Init& init) : dense(d_model, d_model, init) {}
  Tensor operator()(const Tensor& x) const;
  void collect(const std::string& prefix, NamedParameters& out) const { dense.collect(prefix + "dense.", out); }

  Linear dense;
};

struct FnetConfig {
  std::int64_t d_model = 128;
  std::int64_t d_ffn = 0;  // 0: 4 d_model
  std::int64_t layers = 2;
  std::int64_t seq_len = 128;
  std::int64_t types = 4;
  std::string norm = "post";  // or "pre", with a final norm
  std::string activation = "gelu_tanh";
  double eps = 1e-12;
  double dropout = 0;

  template <class Self, class Visit>
  static void fields(Self& self, Visit visit) {
    visit("d_model", self.d_model);
    visit("d_ffn", self.d_ffn);
    visit("layers", self.layers);
    visit("seq_len", self.seq_len);
    visit("types", self.types);
    visit("norm", self.norm);
    visit("activation", self.activation);
    visit("eps", self.eps);
    visit("dropout", self.dropout);
  }
};

// Embeddings and layers, without a head: tokens (b, n) -> (b, n, d_model).
class FnetEncoder {
 public:
  FnetEncoder(const FnetConfig& config, std::int64_t vocabulary, const Init& init);
  Tensor operator()(const Tensor& tokens, const Tensor& types = {}, const Random* dropout = nullptr) const;
  void collect(const std::string& prefix, NamedParameters& out) const;

  FnetEmbeddings embeddings;
  std::vector<FnetLayer> layers;
  Dropout dropout;

 private:
  std::optional<LayerNorm> final_norm_;  // with pre-norm layers
};

// Masked language model: decoder(norm(act(transform(x)))), the decoder's weight tied to the word embeddings.
// Classifier: linear(pooler(x)) of the first token. A causal language model is refused: the mixing sees the future.
class Fnet : public Model {
 public:
  Fnet(const ModelSpec& spec, const Init& init);

  const char* arch() const noexcept override { return "fnet"; }
  Task task() const noexcept override { return task_; }
  std::int64_t outputs() const noexcept override { return outputs_; }
  std::int64_t vocabulary() const noexcept override { return vocabulary_; }
  std::string config() const override;
  std::int64_t max_length() const noexcept override { return config_.seq_len; }
  Tensor operator()(const Tensor& tokens, const Random* dropout = nullptr) const override;
  void collect(const std::string& prefix, NamedParameters& out) const override;

 private:
  FnetConfig config_;
  Task task_;
  std::int64_t vocabulary_, outputs_;
  FnetEncoder encoder_;
  struct ClassifierHead { FnetPooler pooler; Linear classifier; };
  struct LanguageModelHead { Linear transform; LayerNorm norm; Parameter bias; };
  std::optional<ClassifierHead> classifier_;
  std::optional<LanguageModelHead> language_model_;
};

}  // namespace weft
#pragma GCC visibility pop
