#include "report/samples.h"

#include <weft/confusion.h>
#include <weft/generate.h>
#include <weft/ops.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace report {
namespace {

// The maximum length of an example's text in bytes, and the maximum number of examples in total and for each pair of
// labels.
constexpr std::size_t longest_text = 400, most_examples = 300, most_of_pair = 3;
constexpr std::int64_t windows = 3;        // number of sequences of masked text to show
constexpr std::int64_t longest_side = 64;  // of a picture, in pixels

struct Example {
  std::int64_t actual, predicted;
  double probability;
  std::size_t row;
};

// Returns the beginning of the text, which ends at a whole character. A bar separates the texts of a pair.
std::string beginning(std::string text) {
  if (const std::size_t end = text.find(weft::pair_separator); end != std::string::npos) text.replace(end, 1, " | ");
  if (text.size() <= longest_text) return text;
  std::size_t end = longest_text;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + " …";
}

// Returns the beginning of a text, the pixels of a picture, or the number of any other row.
Json content(const weft::LabeledTexts& rows, std::size_t row) {
  const std::string& text = rows.texts[row];
  if (rows.content() == weft::RowContent::texts) return beginning(text);
  if (rows.content() != weft::RowContent::pictures) return "row " + std::to_string(row + 1);
  return drawn_picture(rows, row);
}

// Returns the examples with the highest probability, but at most most_of_pair for each pair of labels.
Json chosen(std::vector<Example> examples, const weft::LabeledTexts& rows) {
  std::stable_sort(examples.begin(), examples.end(),
                   [](const Example& a, const Example& b) { return a.probability > b.probability; });
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> of_pair;
  Json all = Json::array();
  for (const Example& example : examples) {
    if (all.size() == most_examples) break;
    if (of_pair[{example.actual, example.predicted}]++ >= most_of_pair) continue;
    all.push_back({{"actual", example.actual},
                   {"predicted", example.predicted},
                   {"probability", number(example.probability)},
                   {rows.picture.height > 0 ? "picture" : "text", content(rows, example.row)}});
  }
  return all;
}

Json as_json(const weft::LabelScores& scores) {
  return {{"precision", number(scores.precision)},
          {"recall", number(scores.recall)},
          {"f1", number(scores.f1)},
          {"actual", scores.actual},
          {"predicted", scores.predicted}};
}

// Appends a symbol. `given` is the model's prediction, or null if the symbol was not masked. If neither the symbol nor
// the text before it was masked, the two are joined.
void append(Json& window, const std::string& symbol, const std::string* given) {
  if (given != nullptr) window.push_back({{"text", symbol}, {"given", *given}});
  else if (symbol.empty()) return;
  else if (window.empty() || window.back().contains("given")) window.push_back({{"text", symbol}});
  else window.back()["text"] = window.back()["text"].get<std::string>() + symbol;
}

}  // namespace

Json text_sample(const weft::Checkpoint& checkpoint, const SampleOptions& options) {
  weft::GenerateOptions generate;
  generate.tokens = options.tokens;
  generate.temperature = 0.8;
  generate.seed = options.seed;
  std::string text;
  weft::generate(*checkpoint.model, *checkpoint.tokenizer, "", generate, [&](const std::string& symbol) {
    text += symbol;
    return true;
  });
  return {{"kind", "text"},
          {"text", text},
          {"tokens", generate.tokens},
          {"temperature", generate.temperature},
          {"seed", generate.seed}};
}

Json masked_sample(const weft::Checkpoint& checkpoint, const Validation& validation) {
  const weft::Batch batch = validation.data->validation(validation.data->validation_batches() / 2);
  const std::int64_t n = batch.tokens.size(1), count = std::min(windows, batch.tokens.size(0));
  const weft::Tensor logits = (*checkpoint.model)(batch.tokens);
  const auto given = weft::predicted_labels(weft::reshape(logits, {-1, logits.size(2)}));
  const auto tokens = batch.tokens.to_vector<std::int64_t>(), target = batch.target.to_vector<std::int64_t>();
  const weft::Tokenizer& tokenizer = *checkpoint.tokenizer;
  Json sample{{"kind", "masked"}, {"windows", Json::array()}};
  std::int64_t masked = 0, right = 0;
  for (std::int64_t w = 0; w < count; ++w) {
    Json window = Json::array();
    std::int64_t before = -1;  // none
    for (auto i = static_cast<std::size_t>(w * n); i < static_cast<std::size_t>((w + 1) * n); ++i) {
      const bool hidden = target[i] >= 0;
      const std::int64_t id = hidden ? target[i] : tokens[i];
      if (before >= 0) append(window, tokenizer.separator(before, id), nullptr);
      const std::string filled = hidden ? tokenizer.decode(given[i]) : "";
      append(window, tokenizer.decode(id), hidden ? &filled : nullptr);
      masked += hidden;
      right += hidden && given[i] == id;
      before = id;
    }
    sample["windows"].push_back(window);
  }
  sample["masked"] = masked;
  sample["right"] = right;
  return sample;
}

Json confusion_sample(const weft::Classifier& classifier, const Validation& validation,
                      const std::vector<std::vector<double>>& p) {
  const weft::LabeledTexts& rows = validation.rows;
  weft::Confusion confusion(std::ssize(classifier.labels()));
  std::vector<Example> wrong;
  for (std::size_t row = 0; row < p.size(); ++row) {
    const auto highest = std::max_element(p[row].begin(), p[row].end());
    const std::int64_t given = highest - p[row].begin();
    confusion.add(rows.labels[row], given);
    if (given != rows.labels[row]) wrong.push_back({rows.labels[row], given, *highest, row});
  }
  Json counts = Json::array(), scores = Json::array();
  for (std::int64_t actual = 0; actual < confusion.labels(); ++actual) {
    scores.push_back(as_json(confusion.scores(actual)));
    Json row = Json::array();
    for (std::int64_t given = 0; given < confusion.labels(); ++given) row.push_back(confusion.count(actual, given));
    counts.push_back(row);
  }
  return {{"kind", "confusion"},
          {"labels", classifier.labels()},
          {"counts", counts},
          {"scores", scores},
          {"macro", as_json(confusion.macro_average())},
          {"accuracy", number(confusion.accuracy())},
          {"rows", confusion.rows()},
          {"of", validation.of},
          {"examples", chosen(wrong, rows)}};
}

Json drawn_picture(const weft::LabeledTexts& rows, std::size_t row) {
  const auto [height, width, channels] = rows.picture;
  const std::int64_t block = (std::max(height, width) + longest_side - 1) / longest_side;
  std::vector<std::uint8_t> pixels;
  for (std::int64_t top = 0; top < height; top += block)
    for (std::int64_t left = 0; left < width; left += block)
      for (std::int64_t channel = 0; channel < channels; ++channel) {
        std::int64_t sum = 0, count = 0;
        for (std::int64_t y = top; y < std::min(top + block, height); ++y)
          for (std::int64_t x = left; x < std::min(left + block, width); ++x, ++count)
            sum += static_cast<unsigned char>(
                rows.texts[row][static_cast<std::size_t>((y * width + x) * channels + channel)]);
        pixels.push_back(static_cast<std::uint8_t>((sum + count / 2) / count));
      }
  return {{"height", (height + block - 1) / block},
          {"width", (width + block - 1) / block},
          {"channels", channels},
          {"pixels", base64(pixels)}};
}

}  // namespace report
