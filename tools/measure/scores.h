// How well each label of a classifier is found: what eval prints of a confusion matrix.
#pragma once
#include <weft/confusion.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Precision, recall, F1 and rows of each label, their mean, and which labels are taken for which.
std::string scores_as_text(const weft::Confusion& confusion, const std::vector<std::string>& labels);
// {"labels": [{"label", "precision", "recall", "f1", "rows", "predicted"}], "macro": {"precision", "recall", "f1"},
// "confusion": [[…]]}, the matrix by label and what was given.
nlohmann::ordered_json scores_as_json(const weft::Confusion& confusion, const std::vector<std::string>& labels);
