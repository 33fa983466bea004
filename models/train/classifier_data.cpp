#include <algorithm>
#include <numeric>

#include "train/hash.h"
#include "weft/data.h"

namespace weft {
using namespace detail;

namespace {

constexpr std::int64_t padding = 0;  // what Model takes for it

// Element i of a random order of 0 … count-1, without a table: four rounds of a Feistel network permute the numbers
// below the next power of four; those that land outside go round again.
std::int64_t shuffled(std::int64_t i, std::int64_t count, const Random& random) {
  int half = 1;  // bits
  while (std::int64_t{1} << 2 * half < count) ++half;
  const std::uint64_t mask = (std::uint64_t{1} << half) - 1;
  auto x = static_cast<std::uint64_t>(i);
  do {
    for (std::uint64_t round = 0; round < 4; ++round) {
      const std::uint64_t left = x >> half, right = x & mask;
      x = right << half | (left ^ (random.bits(round << half | right) & mask));
    }
  } while (x >= static_cast<std::uint64_t>(count));
  return static_cast<std::int64_t>(x);
}

// Rows of logits (b, c) whose highest is at the target.
std::int64_t count_right(const Tensor& logits, const Tensor& target) {
  const auto x = raw::convert(logits, DType::f64).to_vector<double>();
  const auto want = target.to_vector<std::int64_t>();
  const auto classes = static_cast<std::size_t>(logits.size(1));
  std::int64_t right = 0;
  for (std::size_t row = 0; row < want.size(); ++row) {
    std::size_t best = 0;
    for (std::size_t c = 1; c < classes; ++c)
      if (x[row * classes + c] > x[row * classes + best]) best = c;
    right += best == static_cast<std::size_t>(want[row]);
  }
  return right;
}

class Accuracy : public Meter {
 public:
  void add(const Tensor& output, const Batch& batch) override {
    right_ += count_right(output, batch.target);
    rows_ += batch.predicted;
  }
  std::vector<Metric> metrics() const override {
    return {{"accuracy", static_cast<double>(right_) / static_cast<double>(rows_)}};
  }

 private:
  std::int64_t right_ = 0, rows_ = 0;
};

}  // namespace

LabelledTexts hold_out(LabelledTexts& all) {
  LabelledTexts kept, held;
  kept.classes = held.classes = all.classes;
  const std::size_t rows = all.texts.size(), last = std::min<std::size_t>(rows, 10) - 1;
  for (std::size_t i = 0; i < rows; ++i) {
    LabelledTexts& part = i % 10 == last ? held : kept;
    part.texts.push_back(std::move(all.texts[i]));
    part.labels.push_back(all.labels[i]);
  }
  all = std::move(kept);
  return held;
}

ClassifierData::ClassifierData(const LabelledTexts& training, const LabelledTexts& validation,
                               std::shared_ptr<const Tokenizer> tokenizer, std::int64_t length, std::int64_t batch)
    : tokenizer_(std::move(tokenizer)), length_(length), batch_(batch) {
  const SpecialIds special = tokenizer_->special();
  if (special.pad != padding || !special.cls)
    throw Error(std::string("[classifier] expected a tokenizer whose id 0 is padding, and with one that begins a "
                            "sequence; this one, ") +
                tokenizer_->kind() + ", was not made for a classifier");
  check_batch("classifier", length, 2, batch);
  if (validation.labels.empty()) throw Error("[classifier] no rows for validation");
  training_ = rows(training);
  validation_ = rows(validation);
}

ClassifierData::Rows ClassifierData::rows(const LabelledTexts& texts) const {
  Rows rows;
  rows.labels = texts.labels;
  rows.ends.push_back(0);
  for (const std::string& text : texts.texts) {
    const std::vector<std::int64_t> words = tokenizer_->encode(text);
    const std::int64_t kept = std::min(length_ - 1, static_cast<std::int64_t>(words.size()));
    rows.tokens.push_back(static_cast<std::int32_t>(*tokenizer_->special().cls));
    rows.tokens.insert(rows.tokens.end(), words.begin(), words.begin() + kept);
    rows.ends.push_back(static_cast<std::int64_t>(rows.tokens.size()));
  }
  return rows;
}

// Row r of the run is row r mod N of epoch r / N.
Batch ClassifierData::training(std::int64_t k, const Random& random) const {
  const auto count = static_cast<std::int64_t>(training_.labels.size());
  if (count == 0) throw Error("[classifier] no rows for training");
  std::vector<std::int64_t> which;
  for (std::int64_t r = k * batch_; r < (k + 1) * batch_; ++r)
    which.push_back(shuffled(r % count, count, random.split(static_cast<std::uint64_t>(r / count))));
  return gather(training_, which);
}

std::int64_t ClassifierData::validation_batches() const noexcept {
  return (static_cast<std::int64_t>(validation_.labels.size()) + batch_ - 1) / batch_;
}

Batch ClassifierData::validation(std::int64_t k) const {
  const auto count = static_cast<std::int64_t>(validation_.labels.size());
  std::vector<std::int64_t> which(static_cast<std::size_t>(std::min(batch_, count - k * batch_)));
  std::iota(which.begin(), which.end(), k * batch_);
  return gather(validation_, which);
}

std::unique_ptr<Meter> ClassifierData::meter() const { return std::make_unique<Accuracy>(); }

std::string ClassifierData::fingerprint() const {
  std::uint64_t h = hash_start;
  for (const Rows* rows : {&training_, &validation_}) h = hash(hash(h, rows->labels), rows->tokens);
  return std::to_string(training_.labels.size()) + " + " + std::to_string(validation_.labels.size()) + " rows, hash " +
         std::to_string(h);
}

Batch ClassifierData::gather(const Rows& from, const std::vector<std::int64_t>& which) const {
  std::vector<std::int64_t> tokens, labels;
  for (std::int64_t row : which) {
    const auto r = static_cast<std::size_t>(row);
    tokens.insert(tokens.end(), from.tokens.begin() + from.ends[r], from.tokens.begin() + from.ends[r + 1]);
    tokens.resize((labels.size() + 1) * static_cast<std::size_t>(length_), padding);
    labels.push_back(from.labels[r]);
  }
  const auto rows = static_cast<std::int64_t>(which.size());
  return {Tensor::from(tokens, {rows, length_}), Tensor::from(labels, {rows}), rows};
}

}  // namespace weft
