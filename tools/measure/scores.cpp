#include "measure/scores.h"

#include <algorithm>
#include <cstdio>

#include "console/visible.h"

namespace {

constexpr std::size_t widest = 24;       // maximum width of a name in columns
constexpr std::int64_t most_shown = 12;  // maximum number of labels whose matrix fits on a terminal

// Pads the name to this many columns, or truncates it.
std::string padded(const std::string& name, std::size_t columns) {
  std::string text;
  std::size_t drawn = 0;
  for (const char c : visible(name)) {
    const bool begins = (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    if (begins && drawn == columns) break;
    drawn += begins;
    text += c;
  }
  return text + std::string(columns - drawn, ' ');
}

std::string figures(const weft::LabelScores& s) {
  char text[80];
  std::snprintf(text, sizeof text, "  %7.2f %%  %7.2f %%  %7.2f %%  %9lld\n", 100 * s.precision, 100 * s.recall,
                100 * s.f1, static_cast<long long>(s.actual));
  return text;
}

std::string matrix(const weft::Confusion& confusion, const std::vector<std::string>& labels, std::size_t width) {
  std::string text = "\n" + padded("true\\predicted", width);
  for (std::int64_t given = 0; given < confusion.labels(); ++given)
    text += " " + padded(labels[static_cast<std::size_t>(given)], 7);
  text += "\n";
  for (std::int64_t actual = 0; actual < confusion.labels(); ++actual) {
    text += padded(labels[static_cast<std::size_t>(actual)], width);
    for (std::int64_t given = 0; given < confusion.labels(); ++given)
      text += " " + padded(std::to_string(confusion.count(actual, given)), 7);
    text += "\n";
  }
  return text;
}

nlohmann::ordered_json ratios(const weft::LabelScores& s) {
  return {{"precision", s.precision}, {"recall", s.recall}, {"f1", s.f1}};
}

}  // namespace

std::string scores_as_text(const weft::Confusion& confusion, const std::vector<std::string>& labels) {
  std::size_t width = 14;
  for (const std::string& label : labels) width = std::max(width, std::min(code_points(visible(label)), widest));
  std::string text = padded("label", width) + "  precision     recall         F1       rows\n";
  for (std::int64_t i = 0; i < confusion.labels(); ++i)
    text += padded(labels[static_cast<std::size_t>(i)], width) + figures(confusion.scores(i));
  text += padded("mean", width) + figures(confusion.macro_average());
  return confusion.labels() > most_shown ? text : text + matrix(confusion, labels, width);
}

nlohmann::ordered_json scores_as_json(const weft::Confusion& confusion, const std::vector<std::string>& labels) {
  nlohmann::ordered_json each = nlohmann::ordered_json::array(), counts = nlohmann::ordered_json::array();
  for (std::int64_t i = 0; i < confusion.labels(); ++i) {
    const weft::LabelScores s = confusion.scores(i);
    nlohmann::ordered_json label{{"label", labels[static_cast<std::size_t>(i)]}};
    label.update(ratios(s));
    label["rows"] = s.actual;
    label["predicted"] = s.predicted;
    each.push_back(label);
    nlohmann::ordered_json row = nlohmann::ordered_json::array();
    for (std::int64_t given = 0; given < confusion.labels(); ++given) row.push_back(confusion.count(i, given));
    counts.push_back(row);
  }
  return {{"labels", each}, {"macro", ratios(confusion.macro_average())}, {"confusion", counts}};
}
