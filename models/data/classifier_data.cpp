#include "weft/classifier_data.h"

#include <algorithm>
#include <numeric>

#include "base/hash.h"
#include "data/labels.h"
#include "data/meters.h"
#include "data/shuffled.h"
#include "data/targets.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

std::int64_t ClassifierData::Rows::size(std::int64_t row) const {
  const auto r = static_cast<std::size_t>(row);
  return ends[r + 1] - ends[r];
}

ClassifierData::ClassifierData(const LabeledTexts& training, const LabeledTexts& validation,
                               std::shared_ptr<const Tokenizer> tokenizer, std::int64_t length, std::int64_t batch,
                               Padding padding, double word_dropout, const LearningOptions& learning) try
    : tokenizer_(std::move(tokenizer)),
      length_(length),
      batch_(batch),
      padding_(padding),
      word_dropout_(word_dropout),
      labels_(training.texts.empty() ? validation.names : training.names),
      learning_(learning),
      objective_(objective_for(Task::classifier, labels_, learning, training.labels)) {
  const SpecialIds special = tokenizer_->special();
  if (!special.pad || !special.cls)
    throw Error(
        std::string("[classifier] expected a tokenizer with a padding symbol and a symbol that begins each row; "
                    "this tokenizer, ") +
        tokenizer_->kind() + ", was not made for a classifier");
  check_batch("classifier", length, 2, batch);
  if (!(word_dropout >= 0 && word_dropout < 1))
    throw Error("[classifier] expected a word dropout of at least 0 and below 1, got " + std::to_string(word_dropout));
  if (word_dropout > 0 && !special.unknown && !special.mask)
    throw Error(
        std::string("[classifier] word dropout needs a tokenizer with an unknown symbol or a mask; this tokenizer, ") +
        tokenizer_->kind() + ", has neither");
  if (validation.labels.empty()) throw Error("[classifier] the validation set has no rows");
  if (validation.names != labels_)
    throw Error("[classifier] the validation set has different labels than the training set");
  pairs_ = is_pair(validation.texts.front());
  training_ = rows(training, learning.balance);
  validation_ = rows(validation, Balance::none);
  const auto count = std::ssize(validation_.by_length);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto size = [&](std::int64_t at) {
      return validation_.size(validation_.by_length[static_cast<std::size_t>(at)]);
    };
    const bool same_length = i > 0 && size(i) == size(i - 1);
    if (!same_length || i - validation_starts_.back() == batch_) validation_starts_.push_back(i);
  }
  validation_starts_.push_back(count);
} catch (const std::bad_alloc&) {
  fail_out_of_memory("classifier");
}

ClassifierData::Rows ClassifierData::rows(const LabeledTexts& texts, Balance balance) const {
  Rows rows;
  rows.labels = texts.labels;
  rows.ends.push_back(0);
  for (const std::string& text : texts.texts) {
    const std::vector<std::int64_t> tokens = classifier_tokens(*tokenizer_, text, length_);
    rows.tokens.insert(rows.tokens.end(), tokens.begin(), tokens.end());
    rows.ends.push_back(static_cast<std::int64_t>(rows.tokens.size()));
  }
  if (balance == Balance::rows) {
    rows.epoch = balanced_rows(texts.labels, std::ssize(labels_));
  } else {
    rows.epoch.resize(texts.texts.size());
    std::iota(rows.epoch.begin(), rows.epoch.end(), 0);
  }
  rows.by_length = rows.epoch;
  std::stable_sort(rows.by_length.begin(), rows.by_length.end(),
                   [&](std::int64_t a, std::int64_t b) { return rows.size(a) < rows.size(b); });
  return rows;
}

// With padded rows, row r of the run is row r mod N of epoch r / N. Each epoch has N rows.
Batch ClassifierData::training(std::int64_t k, const Random& random) const {
  const std::int64_t count = std::ssize(training_.epoch);
  if (count == 0) throw Error("[classifier] the training set has no rows");
  if (padding_ == Padding::exact) return training_rows(near_rows(k, random), k * batch_, random);
  std::vector<std::int64_t> which;
  for (std::int64_t r = k * batch_; r < (k + 1) * batch_; ++r)
    which.push_back(training_.epoch[static_cast<std::size_t>(
        shuffled(r % count, count, random.split(static_cast<std::uint64_t>(r / count))))]);
  return training_rows(which, k * batch_, random);
}

// Batch k of the run belongs to epoch k / M. Each epoch has M batches in its own order. Each batch consists of N / M
// rows that are adjacent when all rows are sorted by length. Rows of equal length are shuffled in each epoch.
std::vector<std::int64_t> ClassifierData::near_rows(std::int64_t k, const Random& random) const {
  const std::vector<std::int64_t>& order = training_.by_length;
  const auto count = static_cast<std::int64_t>(order.size()), batches = (count + batch_ - 1) / batch_;
  const Random epoch = random.split(static_cast<std::uint64_t>(k / batches));
  const std::int64_t piece = shuffled(k % batches, batches, epoch);
  const auto shorter = [&](std::int64_t row, std::int64_t size) { return training_.size(row) < size; };
  const auto longer = [&](std::int64_t size, std::int64_t row) { return size < training_.size(row); };
  std::vector<std::int64_t> which;
  for (std::int64_t i = piece * count / batches; i < (piece + 1) * count / batches; ++i) {
    const std::int64_t size = training_.size(order[static_cast<std::size_t>(i)]);
    const std::int64_t first = std::lower_bound(order.begin(), order.end(), size, shorter) - order.begin();
    const std::int64_t last = std::upper_bound(order.begin(), order.end(), size, longer) - order.begin();
    const Random of_length = epoch.split(static_cast<std::uint64_t>(size));
    which.push_back(order[static_cast<std::size_t>(first + shuffled(i - first, last - first, of_length))]);
  }
  return which;
}

std::int64_t ClassifierData::validation_batches() const noexcept {
  if (padding_ == Padding::exact) return std::ssize(validation_starts_) - 1;
  return (static_cast<std::int64_t>(validation_.labels.size()) + batch_ - 1) / batch_;
}

Batch ClassifierData::validation(std::int64_t k) const {
  if (padding_ == Padding::exact) {
    const auto at = [&](std::int64_t i) {
      return validation_.by_length.begin() + validation_starts_[static_cast<std::size_t>(i)];
    };
    return gather(validation_, {at(k), at(k + 1)});
  }
  const auto count = static_cast<std::int64_t>(validation_.labels.size());
  std::vector<std::int64_t> which(static_cast<std::size_t>(std::min(batch_, count - k * batch_)));
  std::iota(which.begin(), which.end(), k * batch_);
  return gather(validation_, which);
}

Tensor ClassifierData::loss(const Tensor& output, const Batch& batch) const {
  return objective_ ? objective_->loss(output, batch) : Data::loss(output, batch);
}

std::unique_ptr<Meter> ClassifierData::meter() const { return confusion_meter(std::ssize(labels_)); }

// Earlier versions supported only data with numbered labels and full padding. For such data the fingerprint is the same
// as in those versions, so that their training states still match.
std::string ClassifierData::fingerprint() const {
  std::uint64_t h = hash_start;
  for (const Rows* rows : {&training_, &validation_}) h = hash(hash(h, rows->labels), rows->tokens);
  if (labels_ != numbered_labels(std::ssize(labels_)))
    for (const std::string& name : labels_)
      h = hash(hash(h, std::vector<unsigned char>(name.begin(), name.end())), std::vector{0});
  return std::to_string(training_.labels.size()) + " + " + std::to_string(validation_.labels.size()) + " rows" +
         (padding_ == Padding::exact ? " of their own lengths" : "") +
         (word_dropout_ > 0 ? ", word dropout " + std::to_string(word_dropout_) : "") + describe(learning_) +
         ", hash " + std::to_string(h);
}

// Returns the rows with the indices `which` as a batch. In the run's order, they are the rows `first`, first + 1, ….
Batch ClassifierData::training_rows(const std::vector<std::int64_t>& which, std::int64_t first,
                                    const Random& random) const {
  Batch batch = gather(training_, which);
  if (word_dropout_ == 0) return batch;
  const Random dropout = random.split(~std::uint64_t{0});  // no epoch has this number
  const std::int64_t rows = batch.tokens.size(0), length = batch.tokens.size(1);
  std::vector<std::int64_t> tokens = batch.tokens.to_vector<std::int64_t>();
  for (std::int64_t row = 0; row < rows; ++row)
    drop_words(tokens.data() + row * length, length, dropout.split(static_cast<std::uint64_t>(first + row)));
  batch.tokens = Tensor::from(tokens, {rows, length});
  return batch;
}

void ClassifierData::drop_words(std::int64_t* tokens, std::int64_t length, const Random& random) const {
  const SpecialIds special = tokenizer_->special();
  const std::int64_t dropped = special.unknown ? *special.unknown : *special.mask;
  for (std::int64_t i = 0; i < length; ++i) {
    if (tokens[i] == special.pad || tokens[i] == special.cls || tokens[i] == special.sep) continue;
    if (random.uniform(static_cast<std::uint64_t>(i)) < word_dropout_) tokens[i] = dropped;
  }
}

Batch ClassifierData::gather(const Rows& from, const std::vector<std::int64_t>& which) const {
  std::int64_t length = padding_ == Padding::full ? length_ : 0;
  for (std::int64_t row : which) length = std::max(length, from.size(row));
  std::vector<std::int64_t> tokens, labels;
  for (std::int64_t row : which) {
    const auto r = static_cast<std::size_t>(row);
    tokens.insert(tokens.end(), from.tokens.begin() + from.ends[r], from.tokens.begin() + from.ends[r + 1]);
    tokens.resize((labels.size() + 1) * static_cast<std::size_t>(length), *tokenizer_->special().pad);
    labels.push_back(from.labels[r]);
  }
  const auto rows = static_cast<std::int64_t>(which.size());
  Batch batch{Tensor::from(tokens, {rows, length}), Tensor::from(labels, {rows}), rows};
  if (padding_ == Padding::exact)
    for (std::int64_t row : which) batch.lengths.push_back(from.size(row));
  return batch;
}

}  // namespace weft
