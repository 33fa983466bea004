#include "inference/guesses.h"

#include <algorithm>

#include "weft/ops.h"

namespace weft::detail {
namespace {

// How much longer a guess makes a step, relative to a step without guesses. With three guesses, a step of a gMLP with 9.9
// M or 100 M parameters in f32 or bf16 takes 1.5 times as long. With 8 bits it takes 1.8 (byte products) to 3.1 times as
// long, and with 4 bits 2.8 times, because more of the time is spent on products.
// bench: weft-decode-bench --model large --guesses 3
constexpr double cost = 0.17, cost_if_quantized = 0.5;

// The weight of the latest guess in the rate.
constexpr double rate_step = 0.05;

// A hash of symbols (FNV-1a, with whole symbols instead of bytes). If two sequences have the same hash, the guess is
// probably wrong.
std::uint64_t hash_of(const std::int64_t* symbols, std::size_t count) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<std::uint64_t>(symbols[i])) * 0x100000001b3;
  return hash;
}

// The number of guesses, 0 … most, that gives the most symbols per time if each guess is right with this probability.
// With n guesses, a step gives 1 + p + … + p^n symbols on average.
std::int64_t best_count(double p, std::int64_t most, double cost_of_guess) {
  double symbols = 1, power = 1, best = 1;
  std::int64_t count = 0;
  for (std::int64_t n = 1; n <= most; ++n) {
    symbols += power *= p;
    const double speed = symbols / (1 + cost_of_guess * static_cast<double>(n));
    if (speed > best) best = speed, count = n;
  }
  return count;
}

}  // namespace

void Repetitions::add(std::int64_t symbol) {
  for (Lookup& lookup : lookups_)
    if (lookup.next > 0) lookup.rate += rate_step * ((text_[lookup.next] == symbol ? 1 : 0) - lookup.rate);
  text_.push_back(symbol);
  for (std::size_t i = 0; i < lengths.size() && lengths[i] <= text_.size(); ++i) {
    std::size_t& after = lookups_[i].after[hash_of(text_.data() + text_.size() - lengths[i], lengths[i])];
    lookups_[i].next = after;
    after = text_.size();
  }
}

std::vector<std::int64_t> Repetitions::guess(std::int64_t most, double cost_of_guess) const {
  const Lookup* best = nullptr;
  for (const Lookup& lookup : lookups_)
    if (lookup.next > 0 && (best == nullptr || lookup.rate >= best->rate)) best = &lookup;
  if (best == nullptr) return {};
  std::vector<std::int64_t> symbols;
  const std::int64_t count = best_count(best->rate, most, cost_of_guess);
  for (std::size_t i = best->next; std::ssize(symbols) < count; ++i)  // past the text's end, the guesses go on
    symbols.push_back(i < text_.size() ? text_[i] : symbols[i - text_.size()]);
  return symbols;
}

Guesses::Guesses(const Model& model) : cost_(cost) {
  for (const auto& [name, parameter] : model.parameters())
    if (parameter.quantized()) cost_ = cost_if_quantized;
}

Tensor Guesses::append_last(TokenStream& stream, std::int64_t left) {
  const std::int64_t symbol = repetitions_.last();
  if (symbols_.empty() || symbols_.back() != symbol) {
    take_back(stream);
    std::vector<std::int64_t> ids = repetitions_.guess(std::min(stream.most_at_once(), left) - 1, cost_);
    ids.insert(ids.begin(), symbol);
    logits_ = stream.append_each(Tensor::from(ids, {1, std::ssize(ids)}));
    symbols_.assign(ids.rbegin(), ids.rend());
  }
  symbols_.pop_back();
  const std::int64_t row = logits_.size(0) - std::ssize(symbols_) - 1;
  return slice(logits_, 0, row, row + 1);
}

void Guesses::take_back(TokenStream& stream) {
  stream.take_back(std::ssize(symbols_));
  symbols_.clear();
}

}  // namespace weft::detail
