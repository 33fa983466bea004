#include "train/best_by.h"

#include <algorithm>
#include <cctype>

#include "console/command.h"
#include "console/report.h"

namespace {

// Returns the name of a metric on the command line: "macro-f1" for "macro F1".
std::string typed_name(std::string metric) {
  std::transform(metric.begin(), metric.end(), metric.begin(),
                 [](unsigned char c) { return c == ' ' ? '-' : static_cast<char>(std::tolower(c)); });
  return metric;
}

}  // namespace

weft::Metric metric_of(const std::string& best_by, const weft::Data& data) {
  weft::Metric loss;
  loss.name = "loss";
  loss.lower_is_better = true;
  loss.is_share = false;
  std::vector<weft::Metric> all{loss};
  if (const auto meter = data.meter()) {
    const std::vector<weft::Metric> measured = meter->metrics();
    all.insert(all.end(), measured.begin(), measured.end());
  }
  const std::string typed = typed_name(best_by), wanted = typed == "f1" ? "macro-f1" : typed;
  std::vector<std::string> names;
  for (weft::Metric& metric : all) {
    metric.value = 0;
    names.push_back(typed_name(metric.name));
    if (names.back() == wanted) return metric;
  }
  throw UsageError("--best-by: for the task " + std::string(weft::task_name(data.task())) + ", expected one of " +
                   list(names) + ", got \"" + best_by + "\"");
}
