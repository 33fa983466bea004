#include "console/report.h"

#include <weft/context.h>
#include <weft/os.h>

#include <cstdio>
#include <iostream>

std::string metric_text(const weft::Metric& metric) {
  char text[32];
  if (metric.is_share) std::snprintf(text, sizeof text, "%.2f %%", 100 * metric.value);
  else std::snprintf(text, sizeof text, "%.4g", metric.value);
  return text;
}

void print_evaluation(const weft::Evaluation& evaluation, const char* kind) {
  char text[128];
  for (const weft::Metric& metric : evaluation.metrics)
    std::cout << kind << " " << metric.name << " " << metric_text(metric) << "\n";
  if (const auto bits = evaluation.bits_per_byte()) {
    std::snprintf(text, sizeof text, "perplexity %.4f\nbits per byte %.4f\n", evaluation.perplexity(), *bits);
    std::cout << text;
  }
  std::snprintf(text, sizeof text, "%s loss %.4f\n", kind, evaluation.loss);
  std::cout << text;
}

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

void print_memory() {
  const auto megabytes = [](double bytes) { return bytes / 1e6; };
  char text[128];
  std::snprintf(text, sizeof text, "peak memory %.1f MB (tensors %.1f MB)\n",
                megabytes(static_cast<double>(weft::os::peak_resident_memory())),
                megabytes(static_cast<double>(weft::Context::current().memory().use().peak)));
  std::cout << text;
}
