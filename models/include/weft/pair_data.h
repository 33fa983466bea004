/// \file
/// PairData: pairs of texts that belong together, and the loss with which a model learns to give them similar vectors.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/data.h"
#include "weft/labeled_texts.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Scales the rows of x (…, d) to the Euclidean norm 1: x / √(Σ x² + 1e-12). The result is f32 if x is bf16.
Tensor normalized(const Tensor& x);

/// The contrastive loss of vectors (2b, d), in which rows i and b + i belong together (van den Oord et al. 2018, arXiv
/// 1807.03748; Radford et al. 2021, arXiv 2103.00020, figure 3). Let u be the normalized rows 0 … b-1, v the normalized
/// rows b … 2b-1, and s_ij = u_i · v_j / temperature. The loss is the mean of the cross entropies of softmax(s) and of
/// softmax(sᵀ). The target of each row is its diagonal element. The other pairs of a batch serve as negative examples.
/// If the tokens (2b, n) i64 of all rows are given, both softmaxes omit s_ij for i != j if u_i and u_j, or v_i and v_j,
/// have the same tokens, because these pairs belong together, too. Throws an Error for other shapes, or unless
/// temperature > 0.
Tensor contrastive_loss(const Tensor& vectors, double temperature = 0.05, const Tensor& tokens = {});

/// Pairs of texts for Task::retrieval: a row's text and its label, which is also a text. A batch has 2b rows: first the
/// texts, then the labels, all padded to the maximum length. The metrics are recall@1 and recall@10: the fraction of
/// validation texts whose label is among the 1 or 10 nearest labels of all validation rows.
class PairData : public Data {
 public:
  /// Throws an Error if the tokenizer has no symbol for padding or for the beginning of a sequence, if the validation
  /// set has no row, or if length < 2. It also throws an Error if training would have no negative examples. This is the
  /// case if a batch has only one pair, or if all training rows have the same text or the same label.
  PairData(const LabeledTexts& training, const LabeledTexts& validation, std::shared_ptr<const Tokenizer> tokenizer,
           std::int64_t length, std::int64_t batch);

  Task task() const noexcept override { return Task::retrieval; }
  const std::shared_ptr<const Tokenizer>& tokenizer() const noexcept override { return tokenizer_; }
  std::int64_t length() const noexcept override { return length_; }
  std::int64_t batch() const noexcept override { return batch_; }
  Batch training(std::int64_t k, const Random& random) const override;
  std::int64_t validation_batches() const noexcept override;
  Batch validation(std::int64_t k) const override;
  Tensor loss(const Tensor& output, const Batch& batch) const override;
  std::unique_ptr<Meter> meter() const override;
  std::int64_t pad_to() const noexcept override { return length_; }
  std::string fingerprint() const override;

 private:
  struct Pairs {
    std::vector<std::vector<std::int64_t>> texts, labels;  // tokens
  };
  Pairs pairs_of(const LabeledTexts& rows) const;
  void check_negatives() const;
  Batch gather(const Pairs& pairs, const std::vector<std::int64_t>& which) const;

  std::shared_ptr<const Tokenizer> tokenizer_;
  std::int64_t length_, batch_;
  Pairs training_, validation_;
};

}  // namespace weft
WEFT_PUBLIC_END
