#include "data/labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <sstream>

#include "weft/context.h"

namespace weft::detail {

std::vector<std::int64_t> framed(const SpecialIds& special, std::vector<std::int64_t> ids, std::int64_t length) {
  const std::int64_t beginning = special.cls.has_value(), end = special.sep.has_value();
  const std::int64_t kept = std::clamp<std::int64_t>(length - beginning - end, 0, std::ssize(ids));
  ids.resize(static_cast<std::size_t>(kept));
  if (special.cls) ids.insert(ids.begin(), *special.cls);
  if (special.sep && length > beginning) ids.push_back(*special.sep);
  return ids;
}

namespace {

// Returns [cls] a [sep] b [sep], or [cls] a [cls] b if the tokenizer has no [sep]. The longer text is truncated first,
// as in BERT (Devlin et al. 2019, arXiv 1810.04805, appendix A.2).
std::vector<std::int64_t> framed_pair(const SpecialIds& special, const std::vector<std::int64_t>& a,
                                      const std::vector<std::int64_t>& b, std::int64_t length) {
  const std::optional<std::int64_t> between = special.sep ? special.sep : special.cls;
  const std::int64_t marks = special.cls.has_value() + between.has_value() + special.sep.has_value();
  const std::int64_t room = std::max<std::int64_t>(length - marks, 0);
  const std::int64_t first =
      std::min<std::int64_t>(std::ssize(a), std::max<std::int64_t>(room - room / 2, room - std::ssize(b)));
  const std::int64_t second = std::min<std::int64_t>(std::ssize(b), room - first);
  std::vector<std::int64_t> ids;
  if (special.cls) ids.push_back(*special.cls);
  ids.insert(ids.end(), a.begin(), a.begin() + first);
  if (between) ids.push_back(*between);
  ids.insert(ids.end(), b.begin(), b.begin() + second);
  if (special.sep) ids.push_back(*special.sep);
  if (std::ssize(ids) > length) ids.resize(static_cast<std::size_t>(length));
  return ids;
}

}  // namespace

bool is_pair(const std::string& text) { return text.find(pair_separator) != std::string::npos; }

std::vector<std::int64_t> classifier_tokens(const Tokenizer& tokenizer, const std::string& text, std::int64_t length,
                                            std::atomic<std::int64_t>* truncated) {
  const SpecialIds& special = tokenizer.special();
  const std::size_t end = text.find(pair_separator);
  const bool is_single = end == std::string::npos;
  const std::string_view whole = text;
  std::vector<std::int64_t> first = tokenizer.encode(whole.substr(0, end));
  const std::vector<std::int64_t> second =
      is_single ? std::vector<std::int64_t>() : tokenizer.encode(whole.substr(end + 1));
  const std::int64_t between = !is_single && (special.sep || special.cls);
  const std::int64_t marks = special.cls.has_value() + special.sep.has_value() + between;
  if (truncated != nullptr && std::ssize(first) + std::ssize(second) + marks > length) ++*truncated;
  return is_single ? framed(special, std::move(first), length) : framed_pair(special, first, second, length);
}

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

void check_padding(const Model& model, const Tokenizer& tokenizer, const char* who) {
  if (model.skips_padding() && tokenizer.special().pad.value_or(pad_id) != pad_id)
    throw Error(std::string("[") + who + "] the architecture " + model.arch() +
                " ignores id 0 as padding, but the tokenizer, " + tokenizer.kind() + ", pads with id " +
                std::to_string(*tokenizer.special().pad));
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
