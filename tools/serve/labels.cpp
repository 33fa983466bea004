// POST /classify, /fill-mask and /predict.
#include <algorithm>

#include "answer/predictions.h"
#include "serve/texts.h"

namespace serve {
namespace {

Json labeled(const std::vector<weft::Prediction>& predictions) { return {{"labels", as_json(predictions, "label")}}; }

std::vector<Json> numbers_of(const ServedModel& model, const std::vector<std::vector<double>>& all) {
  const std::vector<std::string>& names = model.checkpoint().info.labels;
  std::vector<Json> results;
  for (const std::vector<double>& numbers : all) {
    Json named = Json::object();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      named[i < names.size() ? names[i] : std::to_string(i + 1)] = numbers[i];
    results.push_back({{"numbers", named}});
  }
  return results;
}

// The predictions are in descending order of probability.
std::vector<Json> labels_of(std::vector<std::vector<weft::Prediction>> all, double threshold) {
  std::vector<Json> results;
  for (std::vector<weft::Prediction>& labels : all) {
    std::erase_if(labels, [&](const weft::Prediction& p) { return p.probability < threshold; });
    results.push_back(labeled(labels));
  }
  return results;
}

std::vector<Json> tags_of(const std::vector<Tags>& all) {
  std::vector<Json> results;
  for (const Tags& tags : all) {
    Json words = Json::array();
    for (const auto& [word, tag] : tags) words.push_back({{"word", word}, {"tag", tag}});
    results.push_back({{"words", words}});
  }
  return results;
}

// Each prediction takes about a kilobyte of memory until the answer is written. A gap has the brackets of "[mask]".
void check_gaps(const std::vector<std::string>& texts, std::int64_t top, std::int64_t vocabulary) {
  constexpr std::int64_t most = 100000;
  if (top == 0 || top > vocabulary) top = vocabulary;
  std::int64_t gaps = 0;
  for (const std::string& text : texts)
    gaps += std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '<'; });
  if (gaps * top > most)
    throw HttpError(400, "too_many_predictions",
                    "expected at most " + std::to_string(most) + " predictions, got " + std::to_string(gaps) +
                        " gaps with " + std::to_string(top) + " predictions each",
                    "top");
}

}  // namespace

Reply classify(Call& call) {
  const auto model = model_of(call);
  auto& classifier = model->classifier();
  const GivenTexts given = given_texts(call, *model);
  const std::int64_t top = call.body.integer("top", 1, {0});
  const double threshold = call.body.number("threshold", 0, {0, 1});
  call.body.check_all_read();
  std::vector<Json> results;
  for (const std::vector<double>& probabilities : classifier(given.texts, call.until, call.check))
    results.push_back(labeled(model->best(probabilities, top, threshold)));
  return reply_with(*model, given, std::move(results));
}

Reply fill_mask(Call& call) {
  const auto model = model_of(call);
  auto& mask_filler = model->mask_filler();
  const GivenTexts given = given_texts(call, *model);
  const std::int64_t top = call.body.integer("top", 5, {0});
  const double threshold = call.body.number("threshold", 0, {0, 1});
  call.body.check_all_read();
  std::vector<MaskedText> masked;
  for (const std::string& text : given.texts) masked.push_back({text, top, threshold});
  check_gaps(given.texts, top, model->checkpoint().model->vocabulary());
  std::vector<Json> results;
  for (const weft::FilledText& filled : mask_filler(masked, call.until, call.check)) {
    Json gaps = Json::array();
    for (const auto& gap : filled.gaps) gaps.push_back(as_json(gap, "symbol"));
    results.push_back({{"text", filled.text}, {"gaps", gaps}});
  }
  return reply_with(*model, given, std::move(results));
}

Reply predict(Call& call) {
  const auto model = model_of(call);
  const GivenTexts given = given_texts(call, *model);
  if (auto* labels = model->labels()) {
    const double threshold = call.body.number("threshold", 0.5, {0, 1});
    call.body.check_all_read();
    return reply_with(*model, given, labels_of((*labels)(given.texts, call.until, call.check), threshold));
  }
  if (!call.body.value("threshold").is_null())
    throw HttpError(400, "unknown_field", "threshold: only models for the task multilabel have this field",
                    "threshold");
  call.body.check_all_read();
  if (auto* numbers = model->numbers())
    return reply_with(*model, given, numbers_of(*model, (*numbers)(given.texts, call.until, call.check)));
  if (auto* tags = model->tags())
    return reply_with(*model, given, tags_of((*tags)(given.texts, call.until, call.check)));
  model->refuse("/predict");
}

}  // namespace serve
