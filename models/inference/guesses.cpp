#include "inference/guesses.h"

#include <algorithm>

#include "weft/ops.h"

namespace weft::detail {
namespace {

// How much longer a guess makes a step, relative to a step without guesses: the mean of one to seven guesses for gMLPs
// of 0.8 M, 9.9 M and 100 M parameters. Products with more rows read the weights only once, but the smaller the model
// and the faster the products, the less of a step's time is spent on reading.
// bench: weft-decode-bench --model small --precision bf16 --guesses 3
double cost_of_guess_for(const Model& model) {
  for (const auto& [name, parameter] : model.parameters())
    if (parameter.quantized()) return 0.5;
  return model.precision() == Precision::bf16 ? 0.35 : 0.17;
}

// The weight of the latest guess in the rate.
constexpr double rate_step = 0.05;

// An index below `size`, a power of two, for a sequence of symbols. The hash is FNV-1a, with whole symbols instead of
// bytes.
std::size_t place_of(const std::int64_t* symbols, std::size_t count, std::size_t size) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ static_cast<std::uint64_t>(symbols[i])) * 0x100000001b3;
  return (hash ^ hash >> 32) & (size - 1);
}

// The number of guesses, 0 … most, that gives the most symbols per time if each guess is right with this probability.
// With n guesses, a step gives 1 + p + … + p^n symbols on average. Guessing must pay by at least a tenth, because the
// probability and the cost are only estimates.
std::int64_t best_count(double p, std::int64_t most, double cost_of_guess) {
  double symbols = 1, power = 1, best = 1.1;
  std::int64_t count = 0;
  for (std::int64_t n = 1; n <= most; ++n) {
    symbols += power *= p;
    const double speed = symbols / (1 + cost_of_guess * static_cast<double>(n));
    if (speed > best) best = speed, count = n;
  }
  return count;
}

}  // namespace

void Repetitions::make_room() {
  if (text_.size() == text_.capacity()) text_.reserve(2 * text_.size() + 64);
}

void Repetitions::add(std::int64_t symbol) {
  if (const std::size_t i = longest(); i < lookups_.size())
    rates_[i] += rate_step * ((text_[lookups_[i].next] == symbol ? 1 : 0) - rates_[i]);
  text_.push_back(symbol);
  const std::size_t size = text_.size();
  for (std::size_t i = 0; i < lengths.size() && lengths[i] <= size; ++i) {
    const auto last = text_.end() - static_cast<std::ptrdiff_t>(lengths[i]);
    std::size_t& place = lookups_[i].after[place_of(&*last, lengths[i], places)];
    const bool is_same =
        place > 0 && std::equal(last, text_.end(), text_.begin() + static_cast<std::ptrdiff_t>(place - lengths[i]));
    lookups_[i].next = is_same ? place : 0;
    place = size;
  }
}

// The index of the longest lookup that found something, or the number of lookups.
std::size_t Repetitions::longest() const {
  for (std::size_t i = lookups_.size(); i > 0; --i)
    if (lookups_[i - 1].next > 0) return i - 1;
  return lookups_.size();
}

std::vector<std::int64_t> Repetitions::guess(std::int64_t most, double cost_of_guess) const {
  const std::size_t lookup = longest();
  if (lookup == lookups_.size()) return {};
  std::vector<std::int64_t> symbols;
  const std::int64_t count = best_count(rates_[lookup], most, cost_of_guess);
  // Past the end of the text, the guesses go on.
  for (std::size_t i = lookups_[lookup].next; std::ssize(symbols) < count; ++i)
    symbols.push_back(i < text_.size() ? text_[i] : symbols[i - text_.size()]);
  return symbols;
}

Guesses::Guesses(const Model& model) : cost_(cost_of_guess_for(model)) {}

Tensor Guesses::append_last(TokenStream& stream, std::int64_t left) {
  const std::int64_t symbol = repetitions_.last();
  if (symbols_.empty() || symbols_.back() != symbol) {
    take_back(stream);
    std::vector<std::int64_t> ids = repetitions_.guess(std::min(stream.most_at_once(), left) - 1, cost_);
    ids.insert(ids.begin(), symbol);
    std::vector<std::int64_t> last_first(ids.rbegin(), ids.rend());
    logits_ = stream.append_each(Tensor::from(ids, {1, std::ssize(ids)}));
    symbols_ = std::move(last_first);
  }
  const std::int64_t row = logits_.size(0) - std::ssize(symbols_);
  Tensor next = slice(logits_, 0, row, row + 1);
  symbols_.pop_back();  // only now, so that a call that ran out of memory can be repeated
  return next;
}

void Guesses::take_back(TokenStream& stream) {
  stream.take_back(std::ssize(symbols_));
  symbols_.clear();
}

}  // namespace weft::detail
