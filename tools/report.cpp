#include "report.h"

#include <weft/context.h>
#include <weft/os.h>

#include <cstdio>
#include <iostream>

void print_evaluation(const weft::Evaluation& evaluation, weft::Task task, const char* kind) {
  char text[128];
  if (task == weft::Task::classifier) {
    std::snprintf(text, sizeof text, "%s accuracy %.2f %%\n", kind, 100 * evaluation.accuracy);
    std::cout << text;
  }
  std::snprintf(text, sizeof text, "validation loss %.4f\n", evaluation.loss);
  std::cout << text;
}

void print_memory() {
  const auto megabytes = [](double bytes) { return bytes / 1e6; };
  char text[128];
  std::snprintf(text, sizeof text, "peak memory %.1f MB (tensors %.1f MB)\n",
                megabytes(static_cast<double>(weft::os::peak_resident_memory())),
                megabytes(static_cast<double>(weft::Context::current().memory().use().peak)));
  std::cout << text;
}
