#include "inference/chooser.h"

#include <cmath>

#include "weft/detail/out_of_memory.h"
#include "weft/error.h"

namespace weft {
namespace detail {
namespace {

// Returns the logits as numbers. Throws an Error if one of them is not finite.
std::vector<double> values_of(const Tensor& logits) {
  auto x = raw::convert(logits, DType::f64).to_vector<double>();
  if (!std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); }))
    throw Error("[generate] the model's logits are not finite");
  return x;
}

struct Symbol {
  double logit;
  std::int64_t id;
};

// The larger logit comes first. Of equal logits, the one with the lower id comes first.
bool comes_before(const Symbol& a, const Symbol& b) { return a.logit != b.logit ? a.logit > b.logit : a.id < b.id; }

// Returns the first `count` symbols (0: all) in the order of comes_before, without symbols whose logit is -infinity.
// Sorts only the symbols that it returns.
std::vector<Symbol> first_symbols(const std::vector<double>& x, std::int64_t count) {
  std::vector<Symbol> symbols;
  symbols.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    if (x[i] != -HUGE_VAL) symbols.push_back({x[i], static_cast<std::int64_t>(i)});
  if (count > 0 && count < std::ssize(symbols)) {
    std::nth_element(symbols.begin(), symbols.begin() + count, symbols.end(), comes_before);
    symbols.resize(static_cast<std::size_t>(count));
  }
  std::sort(symbols.begin(), symbols.end(), comes_before);
  return symbols;
}

// Chooses one of the ids 0 … x.size() - 1, but no id whose logit is -infinity. If all logits are -infinity, chooses 0.
std::int64_t choose(const std::vector<double>& x, double temperature, std::int64_t top_k, double top_p, double u) {
  if (temperature == 0) return std::max_element(x.begin(), x.end()) - x.begin();
  const std::vector<Symbol> order = first_symbols(x, top_k);
  if (order.empty()) return 0;
  std::vector<double> sums;  // of exp((x - max) / temperature)
  double sum = 0;
  sums.reserve(order.size());
  for (const Symbol& s : order) sums.push_back(sum += std::exp((s.logit - order.front().logit) / temperature));
  if (top_p < 1) {
    const auto enough = std::lower_bound(sums.begin(), sums.end(), top_p * sum) - sums.begin();
    sums.resize(static_cast<std::size_t>(std::min(enough, std::ssize(sums) - 1)) + 1);
    sum = sums.back();
  }
  const auto chosen = std::upper_bound(sums.begin(), sums.end(), u * sum) - sums.begin();
  return order[static_cast<std::size_t>(std::min(chosen, std::ssize(sums) - 1))].id;
}

}  // namespace

std::vector<double> logits_of_text(const Tensor& logits, const SpecialIds& special) {
  std::vector<double> x = values_of(logits);
  for (const auto& id : {special.unknown, special.pad, special.cls, special.mask, special.sep})
    if (id) x[static_cast<std::size_t>(*id)] = -HUGE_VAL;
  return x;
}

double log_sum_exp(const std::vector<double>& x) {
  const double most = *std::max_element(x.begin(), x.end());
  double sum = 0;
  for (double v : x) sum += std::exp(v - most);
  return most + std::log(sum);
}

std::vector<SymbolProbability> most_probable(const std::vector<double>& x, std::int64_t count) {
  std::vector<SymbolProbability> symbols;
  if (count == 0) return symbols;
  const double log_sum = log_sum_exp(x);
  for (const Symbol& symbol : first_symbols(x, count)) symbols.push_back({symbol.id, symbol.logit - log_sum});
  return symbols;
}

GeneratedSymbol Chooser::next(Sample& sample, const Tensor& logits, std::int64_t i) const {
  const std::vector<double> x = logits_of_text(logits, special_);
  const double u = sample.random.uniform(static_cast<std::uint64_t>(i));
  const std::int64_t id = choose(x, options_->temperature, options_->top_k, options_->top_p, u);
  std::string text = sample.filter.add(tokenizer_->separator(sample.before, id) + tokenizer_->decode(id));
  const bool ends = sample.filter.stopped() || i + 1 == options_->tokens;
  if (ends && !sample.filter.stopped()) text += sample.filter.rest();
  sample.before = id;
  return {.id = id,
          .text = std::move(text),
          .log_probability = options_->log_probabilities ? x[static_cast<std::size_t>(id)] - log_sum_exp(x) : 0,
          .most_probable = most_probable(x, options_->alternatives),
          .is_last = ends,
          .is_stopped = sample.filter.stopped()};
}

}  // namespace detail

std::int64_t sample(const Tensor& logits, double temperature, std::int64_t top_k, double u, double top_p) try {
  return detail::choose(detail::values_of(logits), temperature, top_k, top_p, u);
} catch (const std::bad_alloc&) {
  detail::fail_out_of_memory("generate");
}

}  // namespace weft
