#include <algorithm>
#include <cmath>

#include "report/predictions.h"

namespace report {
namespace {

constexpr std::size_t most_curves = 8, most_curve_points = 200;

struct Scored {
  double score;
  bool has;
};

// The precision and the recall if a label is predicted for each row whose score is at least the threshold.
struct CurvePoint {
  double recall, precision, threshold;
};

struct Curve {
  std::vector<CurvePoint> points;  // one for each score at which the recall grows, in descending order of the scores
  double average_precision = NAN;  // the mean of the precisions at all rows with the label, as in scikit-learn
  double best_threshold = 0, best_f1 = 0;
};

double part_of(double part, double whole) { return whole == 0 ? 0 : part / whole; }

Curve curve_of(std::vector<Scored> scored) {
  std::sort(scored.begin(), scored.end(), [](const Scored& a, const Scored& b) { return a.score > b.score; });
  const auto all =
      static_cast<double>(std::count_if(scored.begin(), scored.end(), [](const Scored& each) { return each.has; }));
  Curve curve;
  double right = 0, sum = 0;
  for (std::size_t i = 0; i < scored.size();) {
    const double before = right, threshold = scored[i].score;
    for (; i < scored.size() && scored[i].score == threshold; ++i) right += scored[i].has;  // equal scores together
    if (right == before) continue;
    const auto given = static_cast<double>(i);
    curve.points.push_back({right / all, right / given, threshold});
    sum += (right - before) * right / given;
    if (const double f1 = 2 * right / (given + all); f1 > curve.best_f1) {
      curve.best_f1 = f1;
      curve.best_threshold = threshold;
    }
  }
  if (all > 0) curve.average_precision = sum / all;
  return curve;
}

Json scores_at_half(const std::vector<Scored>& scored, const Curve& curve) {
  double hits = 0, given = 0, actual = 0;
  for (const Scored& each : scored) {
    hits += each.score > 0.5 && each.has;
    given += each.score > 0.5;
    actual += each.has;
  }
  return {{"actual", number(actual)},
          {"predicted", number(given)},
          {"precision", number(part_of(hits, given))},
          {"recall", number(part_of(hits, actual))},
          {"f1", number(part_of(2 * hits, given + actual))},
          {"average_precision", number(curve.average_precision)}};
}

Json drawn_curve(const Json& label, const Curve& curve) {
  std::vector<double> recall, precision, threshold;
  for (const std::size_t i : evenly_spaced(curve.points.size(), most_curve_points)) {
    recall.push_back(curve.points[i].recall);
    precision.push_back(curve.points[i].precision);
    threshold.push_back(curve.points[i].threshold);
  }
  return {{"label", label},
          {"recall", numbers(recall)},
          {"precision", numbers(precision)},
          {"threshold", numbers(threshold)}};
}

}  // namespace

Json precision_recall(const std::vector<std::string>& labels, const Predictions& rows) {
  std::vector<std::vector<Scored>> of_label(labels.size());
  std::vector<Scored> pooled_labels;
  for (std::size_t i = 0; i < rows.predicted.size(); ++i) {
    of_label[i % labels.size()].push_back({rows.predicted[i], rows.actual[i] > 0.5});
    pooled_labels.push_back(of_label[i % labels.size()].back());
  }
  const Curve whole = curve_of(pooled_labels);
  Json figure{{"kind", "precision_recall"}, {"rows", rows.rows()}, {"labels", Json::array()}};
  std::vector<std::pair<std::int64_t, std::size_t>> occurring;  // number of rows with a label, and the label's index
  std::vector<Curve> curves;
  double sum = 0;
  for (std::size_t k = 0; k < labels.size(); ++k) {
    curves.push_back(curve_of(of_label[k]));
    Json scores{{"label", labels[k]}};
    scores.update(scores_at_half(of_label[k], curves[k]));
    if (const auto actual = scores["actual"].get<std::int64_t>(); actual > 0) {
      occurring.emplace_back(actual, k);
      sum += curves[k].average_precision;
    }
    figure["labels"].push_back(scores);
  }
  figure["micro"] = scores_at_half(pooled_labels, whole);
  figure["micro"]["best"] = {{"threshold", number(whole.best_threshold)}, {"f1", number(whole.best_f1)}};
  figure["mean_average_precision"] = number(part_of(sum, static_cast<double>(occurring.size())));
  figure["curves"] = Json::array({drawn_curve(nullptr, whole)});
  std::sort(occurring.begin(), occurring.end());
  for (std::size_t i = 0; i < std::min(most_curves, occurring.size()); ++i)
    figure["curves"].push_back(drawn_curve(occurring[i].second, curves[occurring[i].second]));
  return figure;
}

}  // namespace report
