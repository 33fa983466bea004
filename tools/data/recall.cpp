// Associative recall. The task is the associative retrieval of Ba et al. 2016 (arXiv 1610.06258, section 4.1) with long
// rows, as in Poli et al. 2023 (Hyena, arXiv 2302.10866, section 4.1).
#include <weft/error.h>

#include <numeric>
#include <set>
#include <sstream>
#include <vector>

#include "console/command.h"
#include "console/options.h"
#include "data/task.h"

namespace data {
namespace {

using weft::Error;

// Returns 0 … n-1 in a random order (Fisher-Yates shuffle).
std::vector<std::int64_t> shuffled(std::int64_t n, const weft::Random& random) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i - 1, i)]);
  return order;
}

// Returns k of the numbers 0 … n-1. All sets are equally likely (Floyd's algorithm).
std::set<std::int64_t> some_of(std::int64_t n, std::int64_t k, const weft::Random& random) {
  std::set<std::int64_t> chosen;
  for (std::int64_t top = n - k; top < n; ++top) {
    const auto number =
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(top), static_cast<std::uint64_t>(top) + 1));
    if (!chosen.insert(number).second) chosen.insert(top);
  }
  return chosen;
}

// A row has length - 1 symbols. Each of the keys k0, k1, … occurs once, in random order, followed by its own value.
// Fillers "." are before, between and after the pairs. The last symbol is one of the keys, and the label is its value.
class Recall : public GeneratedTask {
 public:
  void add_to(CLI::App& command) override {
    add_number(command, "--length", length_, {6, 1 << 20},
               "Number of symbols in a row, including the symbol that training adds at the beginning");
    add_number(command, "--pairs", pairs_, {2, 1000}, "Number of pairs of a key and a value");
  }
  void check() const override {
    if (length_ < 2 * pairs_ + 2)
      throw UsageError(std::to_string(pairs_) + " pairs and a key need --length " + std::to_string(2 * pairs_ + 2) +
                       " or more");
  }
  std::string description() const override {
    char percent[16];
    std::snprintf(percent, sizeof percent, "%.4g", 100.0 / static_cast<double>(pairs_));
    return "associative recall; guessing reaches an accuracy of " + std::string(percent) + " %";
  }
  bool make(const weft::Random& random, Row& row) const override {
    const std::vector<std::int64_t> keys = shuffled(pairs_, random.split(0)),
                                    values = shuffled(pairs_, random.split(1));
    const std::int64_t places = length_ - 2 - pairs_;  // a pair counts as one place
    std::string text;
    std::int64_t place = 0;
    std::size_t pair = 0;
    const auto fill_to = [&](std::int64_t end) {
      for (; place < end; ++place) text += ". ";
    };
    for (const std::int64_t at : some_of(places, pairs_, random.split(2))) {
      fill_to(at);
      text += "k" + std::to_string(keys[pair]) + " v" + std::to_string(values[pair]) + " ";
      ++pair;
      ++place;
    }
    fill_to(places);
    const std::uint64_t asked = random.split(3).below(0, static_cast<std::uint64_t>(pairs_));
    row.text = text + "k" + std::to_string(keys[asked]);
    row.label = "v" + std::to_string(values[asked]);
    return true;
  }
  std::string answer(const std::string& text) const override {
    const std::string asked = text.substr(text.rfind(' ') + 1);
    std::istringstream symbols(text);
    std::string symbol, value;
    while (symbols >> symbol)
      if (symbol == asked && symbols >> value) return value;
    throw Error("[recall] expected a value after the last key, \"" + asked.substr(0, 20) + "\", got none");
  }

 private:
  std::int64_t length_ = 1024, pairs_ = 10;
};

}  // namespace

TaskKind recall_kind() {
  return {
      "recall", "Associative recall: find the value that followed a key earlier in a long row",
      "Associative recall (arXiv 1610.06258, 2302.10866). Each row has every key once, followed by its own value, at "
      "random places among fillers. The last symbol is one of the keys, and the label is its value. Every row has "
      "every value, and all are equally likely. A model that doesn't look up the key can only guess, and "
      "its accuracy is 1 / --pairs. Typical lengths are 1024 to 16384.",
      []() -> std::unique_ptr<GeneratedTask> { return std::make_unique<Recall>(); }};
}

}  // namespace data
