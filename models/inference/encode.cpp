// Converts texts to tensors.
#include <algorithm>
#include <limits>

#include "data/labels.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

std::string text_pair(const std::string& first, const std::string& second) {
  return guard_memory("tokenizer", [&] {
    std::string pair = first + ' ' + second;
    std::replace(pair.begin(), pair.end(), pair_separator, ' ');
    pair[first.size()] = pair_separator;
    return pair;
  });
}

Tensor encode_tensor(const Tokenizer& tokenizer, std::string_view text) {
  return guard_memory("tokenizer", [&] {
    const std::vector<std::int64_t> ids = tokenizer.encode(text);
    if (ids.empty()) throw Error("[tokenizer] the text has no symbols: a model needs at least one");
    return Tensor::from(ids, {1, std::ssize(ids)});
  });
}

Tensor encode_rows(const Tokenizer& tokenizer, const std::vector<std::string>& texts, std::int64_t longest,
                   std::int64_t pad_to) {
  return encode_rows(tokenizer, texts, longest, pad_to, nullptr);
}

Tensor detail::encode_rows(const Tokenizer& tokenizer, const std::vector<std::string>& texts, std::int64_t longest,
                           std::int64_t pad_to, std::atomic<std::int64_t>* truncated) {
  return guard_memory("tokenizer", [&] {
    if (longest < 0 || pad_to < 0 || (longest > 0 && pad_to > longest))
      throw Error("[tokenizer] expected 0 <= pad_to <= longest, got " + std::to_string(pad_to) + " and " +
                  std::to_string(longest));
    if (texts.empty()) throw Error("[tokenizer] expected at least one text");
    const std::int64_t most = longest > 0 ? longest : std::numeric_limits<std::int64_t>::max();
    std::vector<std::vector<std::int64_t>> rows;
    std::int64_t length = std::max<std::int64_t>(pad_to, 1), shortest = most;
    for (const std::string& text : texts) {
      rows.push_back(classifier_tokens(tokenizer, text, most, truncated));
      length = std::max<std::int64_t>(length, std::ssize(rows.back()));
      shortest = std::min<std::int64_t>(shortest, std::ssize(rows.back()));
    }
    const std::optional<std::int64_t> pad = tokenizer.special().pad;
    if (shortest == 0) throw Error("[tokenizer] a text has no symbols: a model needs at least one");
    if (shortest < length && !pad)
      throw Error(std::string("[tokenizer] the tokenizer, ") + tokenizer.kind() +
                  ", has no padding symbol: encode only texts of the same length together");
    std::vector<std::int64_t> all;
    for (const std::vector<std::int64_t>& row : rows) {
      all.insert(all.end(), row.begin(), row.end());
      all.insert(all.end(), static_cast<std::size_t>(length - std::ssize(row)), pad.value_or(0));
    }
    return Tensor::from(all, {std::ssize(rows), length});
  });
}

}  // namespace weft
