// The probability of each symbol of a text.
#include "inference/chooser.h"
#include "weft/detail/out_of_memory.h"
#include "weft/error.h"
#include "weft/ops.h"

namespace weft {
using namespace detail;

std::vector<ScoredSymbol> score_text(const Model& model, const Tokenizer& tokenizer,
                                     const std::vector<std::int64_t>& text, std::int64_t alternatives) {
  if (model.task() != Task::causal_lm)
    throw Error(std::string("[score_text] expected a causal-lm model, got a ") + task_name(model.task()) + " model");
  if (alternatives < 0) throw Error("[score_text] expected alternatives >= 0, got " + std::to_string(alternatives));
  check_belongs("score_text", tokenizer, model);
  return guard_memory("score_text", [&] {
    std::vector<ScoredSymbol> scored;
    if (text.size() < 2) return scored;
    const NoGrad suspended;
    const auto n = std::ssize(text);
    const Tensor logits = reshape(model(Tensor::from(text, {1, n})), {n, model.vocabulary()});
    for (std::int64_t i = 1; i < n; ++i) {
      const std::vector<double> x = logits_of_text(slice(logits, 0, i - 1, i), tokenizer.special());
      const std::int64_t id = text[static_cast<std::size_t>(i)];
      scored.push_back({{id, x[static_cast<std::size_t>(id)] - log_sum_exp(x)}, most_probable(x, alternatives)});
    }
    return scored;
  });
}

}  // namespace weft
