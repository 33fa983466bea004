// Chooses the symbols of a text that a language model continues.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/generate.h"
#include "weft/random.h"

namespace weft::detail {

// Throws an Error unless the tokenizer has as many symbols as the model.
void check_belongs(const char* function, const Tokenizer& tokenizer, const Model& model);

// Passes on the text before the first stop text. Holds back text that may be the beginning of a stop text.
class StopFilter {
 public:
  explicit StopFilter(const std::vector<std::string>& stops) : stops_(&stops) {}

  // Adds `more`, updates stopped(), and returns the text that can be passed on.
  std::string add(const std::string& more) {
    held_ += more;
    std::size_t end = held_.size();
    for (const std::string& stop : *stops_) {
      const std::size_t found = held_.find(stop);
      if (found == std::string::npos) continue;
      stopped_ = true;
      end = std::min(end, found);
    }
    if (!stopped_) end -= longest_beginning();
    return take(end);
  }
  // Returns the text that was held back. Call this if no more text follows.
  std::string rest() { return take(held_.size()); }
  bool stopped() const noexcept { return stopped_; }

 private:
  // The length of the longest suffix of held_ that is the beginning of a stop text.
  std::size_t longest_beginning() const {
    std::size_t longest = 0;
    for (const std::string& stop : *stops_)
      for (std::size_t n = std::min(stop.size() - 1, held_.size()); n > longest; --n)
        if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) longest = n;
    return longest;
  }
  std::string take(std::size_t count) {
    std::string taken = held_.substr(0, count);
    held_.erase(0, count);
    return taken;
  }

  const std::vector<std::string>* stops_;
  std::string held_;
  bool stopped_ = false;
};

// A continuation.
struct Sample {
  Random random;
  StopFilter filter;
  std::int64_t before;  // its latest id
};

// The logits of the next symbol as numbers, with -infinity for special symbols. Throws an Error if a logit is not finite.
std::vector<double> logits_of_text(const Tensor& logits, const SpecialIds& special);
// log(sum(exp(x))), which is the difference between a logit and the logarithm of its probability.
double log_sum_exp(const std::vector<double>& x);
// Returns the `count` most probable symbols, the most probable one first. Fewer if fewer may be chosen.
std::vector<SymbolProbability> most_probable(const std::vector<double>& x, std::int64_t count);

// Chooses symbols. Tokenizer and options must outlive it.
class Chooser {
 public:
  Chooser(const Tokenizer& tokenizer, const GenerateOptions& options)
      : tokenizer_(&tokenizer), options_(&options), special_(tokenizer.special()) {}

  // Chooses the sample's i-th symbol by the logits (1, vocabulary).
  GeneratedSymbol next(Sample& sample, const Tensor& logits, std::int64_t i) const;

 private:
  const Tokenizer* tokenizer_;
  const GenerateOptions* options_;
  SpecialIds special_;
};

}  // namespace weft::detail
