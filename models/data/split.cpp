#include "weft/split.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "weft/detail/out_of_memory.h"
#include "weft/error.h"
#include "weft/random.h"

namespace weft {
using namespace detail;

namespace {

// The order in which the distinct texts of the rows are divided. Texts are ordered by label, and at random within one
// label. If a text has several labels, the label of its first row counts.
struct Order {
  std::vector<std::int64_t> place;  // the position in this order of each row's text
  std::int64_t count = 0;           // number of distinct texts
};

// Fisher-Yates: swaps each element i, from the last to the second, with a random one of the elements 0 … i.
void shuffle(std::vector<std::int64_t>& values, const Random& random) {
  for (std::size_t i = values.size(); i-- > 1;) std::swap(values[i], values[random.below(i, i + 1)]);
}

// All positions are shifted by the same random number, so that the texts of the first label don't always come first.
Order order_of(const LabeledTexts& all, const Random& random) {
  std::unordered_map<std::string_view, std::int64_t> numbers;
  std::vector<std::int64_t> number;                                // the number of each row's text
  std::vector<std::vector<std::int64_t>> texts(all.names.size());  // the numbers of each label's texts
  for (std::size_t row = 0; row < all.texts.size(); ++row) {
    const auto [found, is_new] = numbers.emplace(all.texts[row], static_cast<std::int64_t>(numbers.size()));
    if (is_new) texts[static_cast<std::size_t>(all.labels[row])].push_back(found->second);
    number.push_back(found->second);
  }
  Order order;
  order.count = static_cast<std::int64_t>(numbers.size());
  if (order.count == 0) return order;
  std::vector<std::int64_t> place(numbers.size());
  auto next = static_cast<std::int64_t>(random.below(0, static_cast<std::uint64_t>(order.count)));
  for (std::size_t label = 0; label < texts.size(); ++label) {
    shuffle(texts[label], random.split(label));
    for (const std::int64_t text : texts[label]) place[static_cast<std::size_t>(text)] = next++;
  }
  for (const std::int64_t text : number) order.place.push_back(place[static_cast<std::size_t>(text)]);
  return order;
}

// Removes from `all` the rows for which `taken` is true, and returns them.
LabeledTexts take(LabeledTexts& all, const std::function<bool(std::size_t row)>& taken) {
  LabeledTexts kept = all.without_rows(), held = all.without_rows();
  kept.skipped = all.skipped;
  kept.several = all.several;
  for (std::size_t row = 0; row < all.texts.size(); ++row) {
    LabeledTexts& part = taken(row) ? held : kept;
    part.texts.push_back(std::move(all.texts[row]));
    part.labels.push_back(all.labels[row]);
  }
  all = std::move(kept);
  return held;
}

}  // namespace

// Holds out h of n texts. The text at position p is held out if a multiple of n / h lies in (p, p + 1]. Every range of
// positions, and therefore each label, thus gets its share of the h texts, rounded up or down.
LabeledTexts hold_out(LabeledTexts& all, double share, std::uint64_t seed) try {
  if (!(share > 0 && share < 1))
    throw Error("[split] expected a share above 0 and below 1, got " + std::to_string(share));
  const Order order = order_of(all, Random(seed));
  const std::int64_t n = order.count;
  if (n < 2) throw Error("[split] expected at least two rows with different texts, so that some can be held out");
  const auto h = std::clamp<std::int64_t>(std::llround(share * static_cast<double>(n)), 1, n - 1);
  return take(all, [&](std::size_t row) { return (order.place[row] + 1) * h / n > order.place[row] * h / n; });
} catch (const std::bad_alloc&) {
  fail_out_of_memory("split");
}

LabeledTexts take_fold(LabeledTexts& all, std::int64_t fold, std::int64_t folds, std::uint64_t seed) try {
  if (folds < 2 || fold < 0 || fold >= folds)
    throw Error("[split] expected one of at least two folds, got fold " + std::to_string(fold) + " of " +
                std::to_string(folds));
  const Order order = order_of(all, Random(seed));
  if (order.count < folds)
    throw Error("[split] " + std::to_string(order.count) + " different texts are too few for " + std::to_string(folds) +
                " folds");
  return take(all, [&](std::size_t row) { return order.place[row] % folds == fold; });
} catch (const std::bad_alloc&) {
  fail_out_of_memory("split");
}

LabeledTexts every_tenth(LabeledTexts& all) {
  const std::size_t last = std::min<std::size_t>(all.texts.size(), 10) - 1;
  return take(all, [&](std::size_t row) { return row % 10 == last; });
}

std::vector<std::string> absent_labels(const LabeledTexts& texts) {
  std::vector<bool> occurs(texts.names.size());
  for (const std::int64_t label : texts.labels) occurs[static_cast<std::size_t>(label)] = true;
  std::vector<std::string> absent;
  for (std::size_t i = 0; i < occurs.size(); ++i)
    if (!occurs[i]) absent.push_back(texts.names[i]);
  return absent;
}

}  // namespace weft
