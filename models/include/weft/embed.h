/// \file
/// Vectors that represent texts, and the search for the vectors that are nearest to a query.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/checkpoint.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// How the features of a text's tokens become its vector.
enum class Pooling {
  mean,   ///< their mean over the tokens that are not padding
  first,  ///< those of the first token, which is [CLS] if the tokenizer has this symbol (SpecialIds::cls)
};

const char* pooling_name(Pooling pooling) noexcept;  ///< "mean", "first"
Pooling pooling_from_name(const std::string& name);  ///< throws an Error for an unknown name
std::vector<std::string> poolings();                 ///< the names of all values

/// Computes a vector for each text. Threads may share an Embedder, as long as no thread writes the model's parameters.
class Embedder {
 public:
  /// For a model of Task::retrieval, the vector is the model's output. For any other model that reads only tokens, the
  /// pooling computes the vector from the model's features (Model::features). Throws an Error if the model reads
  /// numbers, or if the tokenizer does not belong to the model. Throws an Error for Pooling::first if the model has the
  /// task retrieval, or if the features of its first token depend on no other token, because the model is causal or
  /// has no layers.
  explicit Embedder(Checkpoint checkpoint, Pooling pooling = Pooling::mean);
  /// Does the same for a checkpoint that has other users.
  explicit Embedder(std::shared_ptr<const Checkpoint> checkpoint, Pooling pooling = Pooling::mean);

  /// Returns the vectors (texts, dimensions()) f32, each with the Euclidean norm 1. Texts are tokenized as in training.
  /// Throws an Error if a text is not UTF-8, has a zero byte, or has no symbols.
  Tensor operator()(const std::vector<std::string>& texts) const;
  /// The number of elements of a vector.
  std::int64_t dimensions() const noexcept { return dimensions_; }
  /// The checkpoint that the constructor received.
  const Checkpoint& checkpoint() const noexcept { return *checkpoint_; }
  /// Returns the number of texts in all calls so far that were too long, and were therefore truncated. Copies of the
  /// object share the number.
  std::int64_t truncated() const noexcept { return *truncated_; }

 private:
  Tensor pooled(const Tensor& tokens) const;
  Tensor vector_of(const std::string& text) const;

  std::shared_ptr<const Checkpoint> checkpoint_;
  Pooling pooling_;
  std::int64_t dimensions_;
  std::shared_ptr<std::atomic<std::int64_t>> truncated_ = std::make_shared<std::atomic<std::int64_t>>(0);
};

/// A vector found by nearest().
struct Neighbor {
  std::int64_t index;  ///< the index of the vector's row
  double similarity;   ///< its inner product with the query
};

/// Returns the `top` rows of `vectors` (n, d) that have the largest inner products with the query (d), in descending
/// order. Ties keep the order of the rows. The query is f32, and the vectors are f32 or bf16. The search is exact and
/// reads each vector once. Throws an Error for other shapes, or if top < 1.
std::vector<Neighbor> nearest(const Tensor& vectors, const Tensor& query, std::int64_t top);

}  // namespace weft
WEFT_PUBLIC_END
