// The scores of each label and the confusion matrix of a classifier, as weft eval prints them.
#pragma once
#include <weft/confusion.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Returns a table with precision, recall, F1 and the number of rows of each label, their mean, and the confusion
// matrix.
std::string scores_as_text(const weft::Confusion& confusion, const std::vector<std::string>& labels);
// {"labels": [{"label", "precision", "recall", "f1", "rows", "predicted"}], "macro": {"precision", "recall", "f1"},
// "confusion": [[…]]}, where confusion[i][j] counts the rows of label i for which the model predicted label j.
nlohmann::ordered_json scores_as_json(const weft::Confusion& confusion, const std::vector<std::string>& labels);
