#include "train/labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "weft/context.h"

namespace weft::detail {

std::vector<std::int64_t> classifier_tokens(const Tokenizer& tokenizer, const std::string& text, std::int64_t length) {
  std::vector<std::int64_t> tokens = {*tokenizer.special().cls};
  const std::vector<std::int64_t> symbols = tokenizer.encode(text);
  const std::int64_t kept = std::min(length - 1, std::ssize(symbols));
  tokens.insert(tokens.end(), symbols.begin(), symbols.begin() + kept);
  return tokens;
}

std::vector<double> softmax_of(const Tensor& logits, const char* who) {
  std::vector<double> p = raw::convert(logits, DType::f64).to_vector<double>();
  if (!std::all_of(p.begin(), p.end(), [](double x) { return std::isfinite(x); }))
    throw Error(std::string("[") + who + "] the model's logits are not finite");
  const double highest = *std::max_element(p.begin(), p.end());
  for (double& x : p) x = std::exp(x - highest);
  const double sum = std::accumulate(p.begin(), p.end(), 0.0);
  for (double& x : p) x /= sum;
  return p;
}

std::vector<std::string> numbered_labels(std::int64_t count) {
  std::vector<std::string> names;
  for (std::int64_t i = 1; i <= count; ++i) names.push_back(std::to_string(i));
  return names;
}

Tensor logits_of_rows(const Model& model, const Tensor& tokens) {
  const NoGrad suspended;
  const std::int64_t rows = tokens.size(0);
  std::vector<Tensor> logits(static_cast<std::size_t>(rows));
  Context::current().parallel_for(rows, 1, [&](std::int64_t begin, std::int64_t end) {
    const NoGrad of_this_thread;
    for (std::int64_t row = begin; row < end; ++row)
      logits[static_cast<std::size_t>(row)] = model(slice(tokens, 0, row, row + 1));
  });
  return concat(logits, 0);
}

}  // namespace weft::detail
