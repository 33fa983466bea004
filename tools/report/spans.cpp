#include <weft/spans.h>

#include <algorithm>
#include <map>

#include "report/predictions.h"

namespace report {
namespace {

using weft::Span;

constexpr std::int64_t most_words = 80;
constexpr std::size_t wrong_sentences = 6, right_sentences = 2;

// Returns the spans that the tags mark. If the tags don't mark spans (`typed` is false), each tag is a span of one
// word.
std::vector<Span> spans_in(const std::vector<std::string>& tags, bool typed) {
  if (typed) return weft::spans_of(tags);
  std::vector<Span> words;
  for (const std::string& tag : tags) words.push_back({std::ssize(words), std::ssize(words) + 1, tag});
  return words;
}

struct SpanCounts {
  std::int64_t right = 0, actual = 0, predicted = 0;

  Json scores() const {
    const auto share = [](std::int64_t part, std::int64_t whole) {
      return number(whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole));
    };
    return {{"precision", share(right, predicted)},
            {"recall", share(right, actual)},
            {"f1", share(2 * right, predicted + actual)},
            {"support", actual},
            {"predicted", predicted}};
  }
};

Json as_list(const std::vector<Span>& found) {
  Json list = Json::array();
  for (const Span& span : found)
    if (span.begin < most_words) list.push_back(Json::array({span.begin, std::min(span.end, most_words), span.type}));
  return list;
}

Json sentence(const TaggedRow& row, bool typed) {
  std::vector<std::string> words = row.words;
  words.resize(std::min(words.size(), static_cast<std::size_t>(most_words)));
  return {{"words", words},
          {"cut", std::ssize(row.words) > most_words},
          {"actual", as_list(spans_in(row.actual, typed))},
          {"predicted", as_list(spans_in(row.predicted, typed))}};
}

}  // namespace

Json spans(const std::vector<TaggedRow>& rows) {
  bool typed = true;
  for (const TaggedRow& row : rows)
    for (const auto* tags : {&row.actual, &row.predicted}) typed = typed && weft::are_spans(*tags);
  std::map<std::string, SpanCounts> by_type;
  SpanCounts all;
  std::vector<std::size_t> wrong, right;  // rows that have words and spans
  std::size_t without_mistake = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto actual = spans_in(rows[k].actual, typed), predicted = spans_in(rows[k].predicted, typed);
    for (const Span& span : actual) ++by_type[span.type].actual;
    for (const Span& span : predicted) {
      ++by_type[span.type].predicted;
      by_type[span.type].right += std::find(actual.begin(), actual.end(), span) != actual.end();
    }
    without_mistake += actual == predicted;
    if (rows[k].words.empty() || actual.size() + predicted.size() == 0) continue;
    (actual == predicted ? right : wrong).push_back(k);
  }
  std::vector<std::pair<std::int64_t, std::string>> order;
  for (const auto& [type, counts] : by_type) {
    order.emplace_back(-counts.actual, type);
    all.right += counts.right;
    all.actual += counts.actual;
    all.predicted += counts.predicted;
  }
  std::sort(order.begin(), order.end());
  Json figure{{"kind", "spans"}, {"rows", rows.size()}, {"spans", typed}, {"types", Json::array()}};
  for (const auto& [support, type] : order) {
    Json scores{{"type", type}};
    scores.update(by_type[type].scores());
    figure["types"].push_back(scores);
  }
  figure["micro"] = all.scores();
  figure["right"] = without_mistake;
  figure["sentences"] = Json::array();
  for (const std::size_t i : evenly_spaced(wrong.size(), wrong_sentences))
    figure["sentences"].push_back(sentence(rows[wrong[i]], typed));
  for (const std::size_t i : evenly_spaced(right.size(), right_sentences))
    figure["sentences"].push_back(sentence(rows[right[i]], typed));
  return figure;
}

}  // namespace report
