#include "weft/pair_data.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/hash.h"
#include "base/sequence.h"
#include "data/labels.h"
#include "data/shuffled.h"
#include "weft/context.h"
#include "weft/detail/out_of_memory.h"
#include "weft/ops.h"
#include "weft/retrieval_meter.h"

namespace weft {
using namespace detail;

namespace {

constexpr double least_square = 1e-12, usual_temperature = 0.05;

// Returns a mask (b, b) in f32 for tokens (2 b, n). An element is 0 on the diagonal, and where the text of the row and
// the label of the column form a negative example. All other elements are so low that their exp() is 0. Returns an
// undefined tensor if all elements are 0.
Tensor not_negative(const Tensor& tokens) {
  constexpr float excluded = -1e9F;
  const std::int64_t length = tokens.size(1);
  const auto pairs = static_cast<std::size_t>(tokens.size(0) / 2);
  const auto all = tokens.to_vector<std::int64_t>();
  const auto same = [&](std::size_t a, std::size_t b) {
    const auto begin = [&](std::size_t row) { return all.begin() + static_cast<std::int64_t>(row) * length; };
    return std::equal(begin(a), begin(a) + length, begin(b));
  };
  std::vector<float> mask(pairs * pairs, 0);
  bool any = false;
  for (std::size_t i = 0; i < pairs; ++i)
    for (std::size_t j = i + 1; j < pairs; ++j)
      if (same(i, j) || same(pairs + i, pairs + j)) {
        mask[i * pairs + j] = mask[j * pairs + i] = excluded;
        any = true;
      }
  if (!any) return {};
  return Tensor::from(mask, {tokens.size(0) / 2, tokens.size(0) / 2});
}

}  // namespace

Tensor normalized(const Tensor& x) {
  const Tensor wide = widened(x);
  const Tensor squares = sum(square(wide), {-1}, true);  // (…, 1)
  return div(
      wide, sqrt(add(squares, Tensor::full(Shape(static_cast<std::size_t>(x.rank()), 1), least_square, wide.dtype()))));
}

Tensor contrastive_loss(const Tensor& vectors, double temperature, const Tensor& tokens) {
  if (!vectors.defined() || vectors.rank() != 2 || vectors.size(0) < 2 || vectors.size(0) % 2 != 0)
    throw Error("[contrastive_loss] expected vectors (2 b, d), got " +
                (vectors.defined() ? to_string(vectors.shape()) : "none"));
  if (!(temperature > 0)) throw Error("[contrastive_loss] expected a temperature above 0");
  if (tokens.defined() && (tokens.rank() != 2 || tokens.dtype() != DType::i64 || tokens.size(0) != vectors.size(0)))
    throw Error("[contrastive_loss] expected tokens i64 (" + std::to_string(vectors.size(0)) + ", n), got " +
                dtype_name(tokens.dtype()) + " " + to_string(tokens.shape()));
  const std::int64_t pairs = vectors.size(0) / 2;
  const Tensor all = normalized(vectors);
  const Tensor u = slice(all, 0, 0, pairs), v = slice(all, 0, pairs, 2 * pairs);
  Tensor similarity = scale(matmul(u, transpose(v, 0, 1)), 1 / temperature);  // (b, b)
  if (tokens.defined())
    if (const Tensor mask = not_negative(tokens); mask.defined())
      similarity = add(similarity, raw::convert(mask, similarity.dtype()));
  std::vector<std::int64_t> diagonal(static_cast<std::size_t>(pairs));
  std::iota(diagonal.begin(), diagonal.end(), 0);
  const Tensor own = Tensor::from(diagonal, {pairs});
  return scale(add(cross_entropy(similarity, own), cross_entropy(transpose(similarity, 0, 1), own)), 0.5);
}

PairData::PairData(const LabeledTexts& training, const LabeledTexts& validation,
                   std::shared_ptr<const Tokenizer> tokenizer, std::int64_t length, std::int64_t batch)
    : tokenizer_(std::move(tokenizer)), length_(length), batch_(batch) {
  guard_memory("pairs", [&] {
    const SpecialIds special = tokenizer_->special();
    if (!special.pad || !special.cls)
      throw Error(
          std::string("[pairs] expected a tokenizer with a padding symbol and a symbol that begins each row; this ") +
          "tokenizer, " + tokenizer_->kind() + ", was not made for rows");
    check_batch("pairs", length, 2, 2 * batch);
    if (validation.texts.empty()) throw Error("[pairs] the validation set has no rows");
    training_ = pairs_of(training);
    validation_ = pairs_of(validation);
    check_negatives();
  });
}

PairData::Pairs PairData::pairs_of(const LabeledTexts& rows) const {
  Pairs pairs;
  for (std::size_t i = 0; i < rows.texts.size(); ++i) {
    pairs.texts.push_back(classifier_tokens(*tokenizer_, rows.texts[i], length_));
    pairs.labels.push_back(
        classifier_tokens(*tokenizer_, rows.names[static_cast<std::size_t>(rows.labels[i])], length_));
  }
  return pairs;
}

// Throws an Error unless there are two pairs that differ in both their texts and their labels. Two such pairs exist
// unless all texts or all labels are equal.
void PairData::check_negatives() const {
  if (training_.texts.empty()) return;
  if (batch_ < 2)
    throw Error(
        "[pairs] expected batches of at least 2 pairs, because each pair learns from the other pairs of its batch");
  const auto all_equal = [](const auto& side) { return std::equal(side.begin() + 1, side.end(), side.begin()); };
  for (const auto* side : {&training_.texts, &training_.labels})
    if (all_equal(*side))
      throw Error(std::string("[pairs] expected training rows that differ, got ") +
                  std::to_string(training_.texts.size()) + " rows that all have the same tokens in the " +
                  (side == &training_.texts ? "text" : "label"));
}

// Row r of the run is row r mod N of epoch r / N.
Batch PairData::training(std::int64_t k, const Random& random) const {
  const std::int64_t count = std::ssize(training_.texts);
  if (count == 0) throw Error("[pairs] the training set has no rows");
  std::vector<std::int64_t> which;
  for (std::int64_t r = k * batch_; r < (k + 1) * batch_; ++r)
    which.push_back(shuffled(r % count, count, random.split(static_cast<std::uint64_t>(r / count))));
  return gather(training_, which);
}

std::int64_t PairData::validation_batches() const noexcept {
  return (std::ssize(validation_.texts) + batch_ - 1) / batch_;
}

Batch PairData::validation(std::int64_t k) const {
  std::vector<std::int64_t> which(
      static_cast<std::size_t>(std::min(batch_, std::ssize(validation_.texts) - k * batch_)));
  std::iota(which.begin(), which.end(), k * batch_);
  return gather(validation_, which);
}

Batch PairData::gather(const Pairs& pairs, const std::vector<std::int64_t>& which) const {
  std::vector<std::int64_t> tokens;
  for (const auto* side : {&pairs.texts, &pairs.labels})
    for (const std::int64_t row : which) {
      const auto& ids = (*side)[static_cast<std::size_t>(row)];
      tokens.insert(tokens.end(), ids.begin(), ids.end());
      tokens.insert(tokens.end(), static_cast<std::size_t>(length_ - std::ssize(ids)), *tokenizer_->special().pad);
    }
  const std::int64_t rows = 2 * std::ssize(which);
  return {Tensor::from(tokens, {rows, length_}), Tensor::zeros({rows}, DType::i64), std::ssize(which)};
}

Tensor PairData::loss(const Tensor& output, const Batch& batch) const {
  return contrastive_loss(output, usual_temperature, batch.tokens);
}

std::unique_ptr<Meter> PairData::meter() const { return std::make_unique<RetrievalMeter>(); }

std::string PairData::fingerprint() const {
  std::uint64_t h = hash_start;
  for (const Pairs* pairs : {&training_, &validation_})
    for (const auto* side : {&pairs->texts, &pairs->labels})
      for (const auto& ids : *side) h = hash(hash(h, ids), std::vector{-1});
  return std::to_string(training_.texts.size()) + " + " + std::to_string(validation_.texts.size()) + " pairs, hash " +
         std::to_string(h);
}

}  // namespace weft
