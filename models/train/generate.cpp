#include "weft/generate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace weft {

std::int64_t sample(const Tensor& logits, double temperature, std::int64_t top_k, double u) {
  const auto x = raw::convert(logits, DType::f64).to_vector<double>();
  if (!std::all_of(x.begin(), x.end(), [](double v) { return std::isfinite(v); }))
    throw Error("[generate] the model's logits are not finite");
  std::vector<std::int64_t> order(x.size());
  std::iota(order.begin(), order.end(), 0);
  const auto at = [&](std::int64_t i) { return x[static_cast<std::size_t>(i)]; };
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return at(a) > at(b); });
  if (temperature == 0) return order.front();
  if (top_k > 0 && top_k < std::ssize(order)) order.resize(static_cast<std::size_t>(top_k));
  std::vector<double> sums;  // of exp((x - max) / temperature)
  double sum = 0;
  for (std::int64_t i : order) sums.push_back(sum += std::exp((at(i) - at(order.front())) / temperature));
  const auto chosen = std::upper_bound(sums.begin(), sums.end(), u * sum) - sums.begin();
  return order[static_cast<std::size_t>(std::min(chosen, std::ssize(order) - 1))];
}

void generate(const Model& model, const Tokenizer& tokenizer, const std::string& prompt, const GenerateOptions& options,
              const std::function<bool(const std::string&)>& out) {
  if (!(options.temperature >= 0) || options.top_k < 0 || options.tokens < 0)
    throw Error("[generate] expected temperature, top_k and tokens of at least 0");
  const auto stream = model.stream();
  std::vector<std::int64_t> ids = tokenizer.encode(prompt);
  if (ids.empty()) {
    std::int64_t line_end = 0;
    for (std::int64_t id = 0; id < tokenizer.size(); ++id)
      if (tokenizer.decode(id) == "\n") line_end = id;
    ids.push_back(line_end);
  }
  Tensor logits;
  for (std::int64_t id : ids) logits = stream->next(id);
  const Random random(options.seed);
  std::int64_t before = ids.back();
  for (std::int64_t i = 0; i < options.tokens; ++i) {
    const double u = random.uniform(static_cast<std::uint64_t>(i));
    const std::int64_t id = sample(logits, options.temperature, options.top_k, u);
    if (!out(tokenizer.separator(before, id) + tokenizer.decode(id)) || i + 1 == options.tokens) return;
    logits = stream->next(id);
    before = id;
  }
}

}  // namespace weft
