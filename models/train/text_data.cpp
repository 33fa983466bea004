#include <algorithm>

#include "text/utf8.h"
#include "train/hash.h"
#include "weft/data.h"
#include "weft/os.h"

namespace weft {
using namespace detail;

namespace {

constexpr std::int64_t ignored = -100;

// The masks of validation are the same for every run, so that losses can be compared.
constexpr std::uint64_t validation_seed = 0x5eed;

}  // namespace

void check_batch(const std::string& where, std::int64_t length, std::int64_t lowest, std::int64_t batch) {
  constexpr double bytes = 2 * sizeof(std::int64_t);  // token and target
  const double needed = bytes * static_cast<double>(length) * static_cast<double>(batch);
  if (length < lowest || batch < 1 || needed > static_cast<double>(os::physical_memory()) / 4)
    throw Error("[" + where + "] a batch of " + std::to_string(batch) + " sequences of " + std::to_string(length) +
                ": expected at least 1 of " + std::to_string(lowest) + ", and no more than fit into memory");
}

std::string read_text(const std::string& path) {
  std::string text = os::read_file(path);
  if (text.empty()) throw Error("\"" + path + "\" is empty");
  for_each_code_point(text, "\"" + path + "\"", [](char32_t, std::size_t) {});
  return text;
}

Tensor Data::loss(const Tensor& output, const Batch& batch) const { return cross_entropy(output, batch.target); }

std::shared_ptr<const Tokenizer> text_tokenizer(const std::string& text, Task task) {
  TokenizerOptions options;
  options.task = task;
  return learn_tokenizer("characters", text, options);
}

TextData::TextData(const std::string& text, std::shared_ptr<const Tokenizer> tokenizer, Task task, std::int64_t length,
                   std::int64_t batch, Part validation)
    : tokenizer_(std::move(tokenizer)), task_(task), length_(length), batch_(batch) {
  if (task_source(task) != Source::text)
    throw Error(std::string("[text] a ") + task_name(task) + " is no language model");
  if (task == Task::masked_lm && !tokenizer_->special().mask)
    throw Error(std::string("[text] a masked language model needs a tokenizer with a mask symbol; this one, ") +
                tokenizer_->kind() + ", has none");
  const std::vector<std::int64_t> ids = tokenizer_->encode(text);
  tokens_.assign(ids.begin(), ids.end());
  check_batch("text", length, 1, batch);
  const auto count = static_cast<std::int64_t>(tokens_.size());
  const std::int64_t shift = task == Task::causal_lm ? 1 : 0;
  split_ = validation == Part::all ? 0 : count - count / 10;
  predicted_ = count - split_ - shift;
  if (predicted_ < 1 || (validation == Part::tenth && split_ < length + shift))
    throw Error("[text] " + std::to_string(count) + " characters are too few for sequences of " +
                std::to_string(length));
}

Batch TextData::training(std::int64_t k, const Random& random) const {
  if (split_ == 0) throw Error("[text] all of it is for validation");
  const std::int64_t shift = task_ == Task::causal_lm ? 1 : 0;
  const Random own = random.split(static_cast<std::uint64_t>(k));
  std::vector<std::int64_t> starts;
  for (std::int64_t row = 0; row < batch_; ++row)
    starts.push_back(static_cast<std::int64_t>(
        own.below(static_cast<std::uint64_t>(row), static_cast<std::uint64_t>(split_ - length_ - shift + 1))));
  return windows(starts, length_, own.split(0), 0);
}

// Full windows first, `batch` at a time; what is left of the text is a batch of one.
std::int64_t TextData::validation_batches() const noexcept {
  const std::int64_t full = predicted_ / length_;
  return (full + batch_ - 1) / batch_ + (predicted_ % length_ != 0);
}

Batch TextData::validation(std::int64_t k) const {
  const std::int64_t full = predicted_ / length_;
  const Random random(validation_seed);
  if (k * batch_ >= full) return windows({split_ + full * length_}, predicted_ % length_, random, full);
  std::vector<std::int64_t> starts;
  for (std::int64_t i = k * batch_; i < std::min(full, (k + 1) * batch_); ++i) starts.push_back(split_ + i * length_);
  return windows(starts, length_, random, k * batch_);
}

std::string TextData::fingerprint() const {
  return std::to_string(tokens_.size()) + " characters, hash " + std::to_string(hash(hash_start, tokens_));
}

// Row i is masked by child first + i of the generator.
Batch TextData::windows(const std::vector<std::int64_t>& starts, std::int64_t n, const Random& random,
                        std::int64_t first) const {
  std::vector<std::int64_t> tokens, target;
  for (std::int64_t start : starts)
    for (std::int64_t i = start; i < start + n; ++i) {
      tokens.push_back(tokens_[static_cast<std::size_t>(i)]);
      target.push_back(task_ == Task::causal_lm ? tokens_[static_cast<std::size_t>(i + 1)] : ignored);
    }
  const auto rows = static_cast<std::int64_t>(starts.size());
  if (task_ == Task::masked_lm)
    for (std::int64_t row = 0; row < rows; ++row)
      mask(tokens.data() + row * n, target.data() + row * n, n, random.split(static_cast<std::uint64_t>(first + row)));
  const auto predicted = std::count_if(target.begin(), target.end(), [](std::int64_t t) { return t != ignored; });
  return {Tensor::from(tokens, {rows, n}), Tensor::from(target, {rows, n}), predicted};
}

void TextData::mask(std::int64_t* tokens, std::int64_t* target, std::int64_t n, const Random& random) const {
  const Random chosen = random.split(0), kind = random.split(1), replacement = random.split(2);
  const std::int64_t mask_id = *tokenizer_->special().mask;
  const auto characters = static_cast<std::uint64_t>(mask_id);
  const std::uint64_t always = random.split(3).below(0, static_cast<std::uint64_t>(n));
  for (std::uint64_t i = 0; i < static_cast<std::uint64_t>(n); ++i) {
    if (i != always && chosen.uniform(i) >= 0.15) continue;
    target[i] = tokens[i];
    const double u = kind.uniform(i);
    if (u < 0.8) tokens[i] = mask_id;
    else if (u < 0.9) tokens[i] = static_cast<std::int64_t>(replacement.below(i, characters));
  }
}

}  // namespace weft
