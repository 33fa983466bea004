/// \file
/// RetrievalMeter: whether the label that belongs to a text is among the nearest labels.
#pragma once
#include <cstdint>
#include <vector>

#include "weft/data.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The place of a text's own label among the labels of all validation rows, ordered by their distance from the text.
struct RetrievalRank {
  std::int64_t nearer = 0;  ///< number of other labels that are nearer than the own label, or at the same distance
  std::int64_t others = 0;  ///< number of other labels: the labels of all rows whose label has other tokens
};

/// Compares each validation text with the labels of all validation rows. Labels with the tokens of the text's own label
/// are correct, too. Another label at the same distance as the own label counts as nearer, so that a model that gives
/// everything the same vector finds nothing.
class RetrievalMeter : public Meter {
 public:
  void add(const Tensor& output, const Batch& batch) override;
  std::vector<Metric> metrics() const override;
  /// Returns the rank of each text, in the order of the rows.
  std::vector<RetrievalRank> ranks() const;

 private:
  std::vector<Tensor> texts_, labels_;             // normalized vectors of each batch
  std::vector<std::vector<std::int64_t>> tokens_;  // the tokens of each label
};

}  // namespace weft
WEFT_PUBLIC_END
