// Prints the results of weft train and weft eval.
#pragma once
#include <weft/trainer.h>

#include <string>
#include <vector>

// Formats a metric as "98.76 %", or as "123.4" if it is not a share.
std::string metric_text(const weft::Metric& metric);
// Prints "KIND METRIC X" for each metric, then perplexity and bits per byte for language models, then "KIND loss X".
void print_evaluation(const weft::Evaluation& evaluation, const char* kind);
// Joins names: "a, b".
std::string list(const std::vector<std::string>& names);
// Prints "peak memory …" of this process.
void print_memory();
