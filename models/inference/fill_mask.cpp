#include "weft/fill_mask.h"

#include <algorithm>
#include <numeric>

#include "data/labels.h"
#include "weft/detail/out_of_memory.h"

namespace weft {
using namespace detail;

namespace {

const std::string gap = "[mask]";

bool same_letter(char a, char b) noexcept { return a == b || (a >= 'A' && a <= 'Z' && a - 'A' + 'a' == b); }

// Returns the offset of the next "[mask]", in upper or lower case, or the text's length if there is none.
std::size_t find_gap(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find('[', from); at != std::string_view::npos; at = text.find('[', at + 1))
    if (const std::string_view name = text.substr(at, gap.size());
        std::equal(name.begin(), name.end(), gap.begin(), gap.end(), same_letter))
      return at;
  return text.size();
}

// Returns the text's ids. If the tokenizer recognizes the name of its mask, the text is encoded with this name in each
// gap. Otherwise the parts between gaps are encoded separately.
std::vector<std::int64_t> encode(const Tokenizer& tokenizer, const std::string& text) {
  const SpecialIds special = tokenizer.special();
  if (special.sep) {
    const std::string name = tokenizer.decode(*special.mask);
    std::string named;
    for (std::size_t at = 0;;) {
      const std::size_t end = find_gap(text, at);
      named.append(text, at, end - at);
      if (end == text.size()) return tokenizer.encode(named);
      named += name;
      at = end + gap.size();
    }
  }
  std::vector<std::int64_t> ids;
  for (std::size_t at = 0;;) {
    const std::size_t end = find_gap(text, at);
    const std::vector<std::int64_t> part =
        tokenizer.encode(std::string_view(text).substr(at, end - at), TextPlace{"", at});
    ids.insert(ids.end(), part.begin(), part.end());
    if (end == text.size()) return ids;
    ids.push_back(*tokenizer.special().mask);
    at = end + gap.size();
  }
}

// Returns the ids without special symbols, in order of decreasing probability.
std::vector<std::int64_t> by_probability(const std::vector<double>& p, const SpecialIds& special) {
  std::vector<std::int64_t> ids(p.size());
  std::iota(ids.begin(), ids.end(), 0);
  const auto is_special = [&](std::int64_t id) { return special.has(id); };
  ids.erase(std::remove_if(ids.begin(), ids.end(), is_special), ids.end());
  const auto of = [&](std::int64_t id) { return p[static_cast<std::size_t>(id)]; };
  std::stable_sort(ids.begin(), ids.end(), [&](std::int64_t a, std::int64_t b) { return of(a) > of(b); });
  return ids;
}

// Returns the row that the model reads: with [cls] and [sep] if the tokenizer has [sep], and padded as in training.
std::vector<std::int64_t> row_of(const Checkpoint& checkpoint, const std::vector<std::int64_t>& ids) {
  const SpecialIds special = checkpoint.tokenizer->special();
  const std::int64_t pad_to = checkpoint.info.pad_to;
  std::vector<std::int64_t> row = special.sep ? framed(special, ids, std::ssize(ids) + 2) : ids;
  if (std::ssize(row) >= pad_to) return row;
  if (!special.pad)
    throw Error(std::string("[fill-mask] the tokenizer, ") + checkpoint.tokenizer->kind() + ", has no padding symbol");
  row.resize(static_cast<std::size_t>(pad_to), *special.pad);
  return row;
}

void check(const Checkpoint& checkpoint) {
  const Task task = checkpoint.model->task();
  if (task != Task::masked_lm)
    throw Error(std::string("[fill-mask] the checkpoint has the task ") + task_name(task) + ", expected masked-lm");
  if (!checkpoint.tokenizer->special().mask) throw Error("[fill-mask] the tokenizer has no mask symbol");
}

}  // namespace

FilledText fill_mask(const Checkpoint& checkpoint, const std::string& text, std::int64_t top, double threshold) try {
  check(checkpoint);
  const NoGrad suspended;
  const Tokenizer& tokenizer = *checkpoint.tokenizer;
  const SpecialIds special = tokenizer.special();
  std::vector<std::int64_t> ids = encode(tokenizer, text);
  if (std::find(ids.begin(), ids.end(), special.mask) == ids.end())
    throw Error("[fill-mask] expected a text with \"" + gap +
                "\" (in upper or lower case) for each symbol to fill in, got none");
  const std::vector<std::int64_t> row = row_of(checkpoint, ids);
  // The offset of the text in its row.
  const std::int64_t first = special.sep && special.cls ? 1 : 0;
  const Tensor logits = (*checkpoint.model)(Tensor::from(row, {1, std::ssize(row)}));  // (1, n, symbols)
  FilledText filled;
  for (std::int64_t i = 0; i < std::ssize(ids); ++i) {
    std::int64_t& id = ids[static_cast<std::size_t>(i)];
    if (id != special.mask) continue;
    const std::vector<double> p = softmax_of(slice(logits, 1, first + i, first + i + 1), "fill-mask");
    const std::vector<std::int64_t> order = by_probability(p, special);
    if (order.empty()) throw Error("[fill-mask] the tokenizer has only special symbols");
    std::vector<Prediction>& gap_symbols = filled.gaps.emplace_back();
    for (const std::int64_t symbol : order) {
      const double probability = p[static_cast<std::size_t>(symbol)];
      if ((top > 0 && std::ssize(gap_symbols) == top) || probability < threshold) break;
      gap_symbols.push_back({tokenizer.decode(symbol), probability});
    }
    id = order.front();
  }
  filled.text = tokenizer.decode(ids);
  return filled;
} catch (const std::bad_alloc&) {
  fail_out_of_memory("fill-mask");
}

}  // namespace weft
