/// \file
/// Vectors of texts, and the nearest among many.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/checkpoint.h"

#pragma GCC visibility push(default)
namespace weft {

/// Makes vectors of texts. Threads may share it, as long as no thread writes the model's parameters.
class Embedder {
 public:
  /// A model of Task::retrieval gives its output; any other model that reads only tokens gives the mean of its features
  /// (Model::features) over the tokens that are not padding. Throws an Error for a model that reads numbers, or whose
  /// tokenizer was not made for its texts.
  explicit Embedder(Checkpoint checkpoint);

  /// The vectors (texts, dimensions()) f32, each with the Euclidean norm 1. A text is tokenized as in training. Throws
  /// an Error for a text that is not UTF-8 or has no symbols.
  Tensor operator()(const std::vector<std::string>& texts) const;
  /// Numbers of a vector.
  std::int64_t dimensions() const noexcept { return dimensions_; }
  /// The checkpoint that it was made of.
  const Checkpoint& checkpoint() const noexcept { return checkpoint_; }

 private:
  Tensor vector_of(const std::string& text) const;

  Checkpoint checkpoint_;
  std::int64_t dimensions_;
};

/// One of many vectors.
struct Neighbor {
  std::int64_t index;  ///< of the vector
  double similarity;   ///< its scalar product with the query
};

/// The `top` vectors (n, d) with the largest scalar products with the query (d), the nearest first; equally near ones in
/// order. Both are f32, or the vectors bf16. The search is exact and reads each vector once. Throws an Error for other
/// shapes.
std::vector<Neighbor> nearest(const Tensor& vectors, const Tensor& query, std::int64_t top);

}  // namespace weft
#pragma GCC visibility pop
