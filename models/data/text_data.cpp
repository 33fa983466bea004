#include <algorithm>
#include <cstdio>

#include "base/hash.h"
#include "weft/data.h"
#include "weft/detail/out_of_memory.h"
#include "weft/os.h"

namespace weft {
using namespace detail;

namespace {

// The maximum number of validation tokens that are measured in a long text.
constexpr std::int64_t most_validated = 1000000;

// The masks for validation are the same in every run, so that losses can be compared.
constexpr std::uint64_t validation_seed = 0x5eed;

// Returns the number of tokens in the first `hundredths` percent of the text. The number of the remaining tokens is
// rounded down.
std::int64_t end_of(int hundredths, std::int64_t tokens) { return tokens - tokens * (100 - hundredths) / 100; }

std::vector<std::int64_t> ordinary_ids(const Tokenizer& tokenizer) {
  const SpecialIds special = tokenizer.special();
  std::vector<std::int64_t> ids;
  for (std::int64_t id = 0; id < tokenizer.size(); ++id)
    if (!special.has(id)) ids.push_back(id);
  return ids;
}

}  // namespace

void check_batch(const std::string& where, std::int64_t length, std::int64_t lowest, std::int64_t batch) {
  constexpr double bytes = 2 * sizeof(std::int64_t);  // a token and its target
  const double needed = bytes * static_cast<double>(length) * static_cast<double>(batch);
  if (length < lowest)
    throw Error("[" + where + "] expected sequences of at least " + std::to_string(lowest) + " tokens, got " +
                std::to_string(length));
  if (batch < 1) throw Error("[" + where + "] expected a batch of at least 1 sequence, got " + std::to_string(batch));
  if (needed > static_cast<double>(os::physical_memory()) / 4)
    throw Error("[" + where + "] a batch of " + std::to_string(batch) + " sequences of " + std::to_string(length) +
                " tokens doesn't fit into memory: choose a smaller batch or shorter sequences");
}

Tensor Data::loss(const Tensor& output, const Batch& batch) const { return cross_entropy(output, batch.target); }

TextSplit text_split(const std::string& name) {
  int training = 0, validation = 0, test = 0, read = 0;
  const bool numbers = name.find_first_not_of("0123456789/") == std::string::npos &&
                       std::sscanf(name.c_str(), "%3d/%3d/%3d%n", &training, &validation, &test, &read) == 3 &&
                       static_cast<std::size_t>(read) == name.size();
  if (!numbers || training < 1 || validation < 1 || training + validation + test != 100)
    throw Error("expected percentages for training, validation and test, like 80/10/10 or 90/10/0, got \"" +
                name.substr(0, 60) + "\"");
  return {training, validation};
}

std::shared_ptr<const Tokenizer> text_tokenizer(const std::string& text, Task task) {
  TokenizerOptions options;
  options.task = task;
  return learn_tokenizer("characters", text, options);
}

TextData::TextData(const std::string& text, std::shared_ptr<const Tokenizer> tokenizer, Task task, std::int64_t length,
                   std::int64_t batch, const TextSplit& split)
    : TextData(EncodedText(text, *tokenizer), tokenizer, task, length, batch, split) {}

TextData::TextData(EncodedText text, std::shared_ptr<const Tokenizer> tokenizer, Task task, std::int64_t length,
                   std::int64_t batch, const TextSplit& split) try
    : tokenizer_(std::move(tokenizer)),
      task_(task),
      length_(length),
      batch_(batch),
      tokens_(std::move(text)),
      split_(split),
      bytes_(static_cast<std::size_t>(tokenizer_->size())),
      ordinary_(ordinary_ids(*tokenizer_)) {
  if (split.training < 0 || split.validation < 1 || split.rest() < 0)
    throw Error("[text] expected percentages for training and validation with a sum of at most 100, got " +
                std::to_string(split.training) + " and " + std::to_string(split.validation));
  if (task_source(task) != Source::text)
    throw Error(std::string("[text] expected a task that learns from a text, got ") + task_name(task));
  if (task == Task::masked_lm && !tokenizer_->special().mask)
    throw Error(std::string("[text] a masked language model needs a tokenizer with a mask symbol; this tokenizer, ") +
                tokenizer_->kind() + ", has none");
  if (ordinary_.empty())
    throw Error(std::string("[text] the tokenizer, ") + tokenizer_->kind() +
                ", has only special symbols: learn it from more text, or lower --min-count");
  if (tokens_.symbols() != tokenizer_->size())
    throw Error("[text] the text was encoded with " + std::to_string(tokens_.symbols()) +
                " symbols, but the tokenizer has " + std::to_string(tokenizer_->size()) +
                ": the two do not belong together");
  check_batch("text", length, 1, batch);
  const std::int64_t count = tokens_.size();
  const std::int64_t shift = task == Task::causal_lm ? 1 : 0;
  trained_ = end_of(split.training, count);
  predicted_ = end_of(split.training + split.validation, count) - trained_ - shift;
  if (split.training > 0) predicted_ = std::min(predicted_, most_validated);
  if (predicted_ < 1 || (split.training > 0 && trained_ < length + shift))
    throw Error("[text] " + std::to_string(count) + " tokens (" + tokenizer_->kind() +
                ") are too few for sequences of " + std::to_string(length) + ", with " +
                std::to_string(split.training) + " % for training and " + std::to_string(split.validation) +
                " % for validation");
  for (const std::int64_t id : ordinary_)
    bytes_[static_cast<std::size_t>(id)] =
        static_cast<std::int32_t>(tokenizer_->separator(id, id).size() + tokenizer_->decode(id).size());
} catch (const std::bad_alloc&) {
  fail_out_of_memory("text");
}

Batch TextData::training(std::int64_t k, const Random& random) const {
  if (split_.training == 0)
    throw Error("[text] the training set is empty: the split gives all of the text to other sets");
  const std::int64_t shift = task_ == Task::causal_lm ? 1 : 0;
  const Random own = random.split(static_cast<std::uint64_t>(k));
  std::vector<std::int64_t> starts;
  for (std::int64_t row = 0; row < batch_; ++row)
    starts.push_back(static_cast<std::int64_t>(
        own.below(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(trained_ - length_ - shift + 1))));
  return windows(starts, length_, own.split(0), 0);
}

// The full windows come first, in batches of batch_. The rest of the text is a batch with one shorter window.
std::int64_t TextData::validation_batches() const noexcept {
  const std::int64_t full = predicted_ / length_;
  return (full + batch_ - 1) / batch_ + (predicted_ % length_ != 0);
}

Batch TextData::validation(std::int64_t k) const {
  const std::int64_t full = predicted_ / length_;
  const Random random(validation_seed);
  if (k * batch_ >= full) return windows({trained_ + full * length_}, predicted_ % length_, random, full);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = k * batch_; i < std::min(full, (k + 1) * batch_); ++i) starts.push_back(trained_ + i * length_);
  return windows(starts, length_, random, k * batch_);
}

std::string TextData::fingerprint() const {
  const bool usual = split_.training == TextSplit().training && split_.validation == TextSplit().validation;
  return std::to_string(tokens_.size()) + " " + tokenizer_->kind() +
         (usual ? "" : ", " + std::to_string(split_.training) + "/" + std::to_string(split_.validation)) + ", hash " +
         std::to_string(tokens_.hash());
}

// The generator random.split(first + i) masks row i.
Batch TextData::windows(const std::vector<std::int64_t>& starts, std::int64_t n, const Random& random,
                        std::int64_t first) const {
  std::vector<std::int64_t> tokens, target;
  const std::int64_t shift = task_ == Task::causal_lm ? 1 : 0;
  std::vector<std::int64_t> window(static_cast<std::size_t>(n + shift));
  for (std::int64_t start : starts) {
    tokens_.copy(start, n + shift, window.data());
    tokens.insert(tokens.end(), window.begin(), window.begin() + n);
    if (shift == 1) target.insert(target.end(), window.begin() + 1, window.end());
    else target.insert(target.end(), window.size(), ignored_target);
  }
  const auto rows = static_cast<std::int64_t>(starts.size());
  if (task_ == Task::masked_lm)
    for (std::int64_t row = 0; row < rows; ++row)
      mask(tokens.data() + row * n, target.data() + row * n, n, random.split(static_cast<std::uint64_t>(first + row)));
  std::int64_t predicted = 0, bytes = 0;
  for (const std::int64_t id : target) {
    if (id == ignored_target) continue;
    ++predicted;
    bytes += bytes_[static_cast<std::size_t>(id)];
  }
  return {Tensor::from(tokens, {rows, n}), Tensor::from(target, {rows, n}), predicted, bytes};
}

void TextData::mask(std::int64_t* tokens, std::int64_t* target, std::int64_t n, const Random& random) const {
  const Random chosen = random.split(0), kind = random.split(1), replacement = random.split(2);
  const std::int64_t mask_id = *tokenizer_->special().mask;
  const std::uint64_t always = random.split(3).below(0, static_cast<std::uint64_t>(n));
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(n); ++i) {
    if (i != always && chosen.uniform(i) >= 0.15) continue;
    target[i] = tokens[i];
    const double u = kind.uniform(i);
    if (u < 0.8) tokens[i] = mask_id;
    else if (u < 0.9) tokens[i] = ordinary_[replacement.below(i, ordinary_.size())];
  }
}

}  // namespace weft
