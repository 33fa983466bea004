#include <algorithm>

#include "report/predictions.h"

namespace report {
namespace {

constexpr std::size_t most_wrong_pictures = 16, most_right_pictures = 8;

struct ClassifiedPicture {
  std::size_t row;
  std::int64_t predicted;
  double probability;
};

}  // namespace

Json picture_grid(const std::vector<std::string>& labels, const weft::LabeledTexts& rows,
                  const std::vector<std::vector<double>>& probabilities) {
  std::vector<ClassifiedPicture> wrong, right;
  for (std::size_t row = 0; row < probabilities.size(); ++row) {
    const auto highest = std::max_element(probabilities[row].begin(), probabilities[row].end());
    const std::int64_t predicted = highest - probabilities[row].begin();
    (predicted == rows.labels[row] ? right : wrong).push_back({row, predicted, *highest});
  }
  std::stable_sort(wrong.begin(), wrong.end(), [](const ClassifiedPicture& a, const ClassifiedPicture& b) {
    return a.probability > b.probability;
  });
  Json figure{{"kind", "pictures"},    {"rows", probabilities.size()}, {"labels", labels},
              {"wrong", wrong.size()}, {"right", right.size()},        {"pictures", Json::array()}};
  const auto add = [&](const ClassifiedPicture& each) {
    figure["pictures"].push_back({{"actual", rows.labels[each.row]},
                                  {"predicted", each.predicted},
                                  {"probability", number(each.probability)},
                                  {"picture", drawn_picture(rows, each.row)}});
  };
  for (std::size_t i = 0; i < std::min(wrong.size(), most_wrong_pictures); ++i) add(wrong[i]);
  for (const std::size_t i : evenly_spaced(right.size(), most_right_pictures)) add(right[i]);
  return figure;
}

}  // namespace report
