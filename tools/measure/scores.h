// The scores of each label and the confusion matrix of a classifier, as weft eval prints them.
#pragma once
#include <weft/confusion.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

// Returns a table with the precision, the recall, the F1 and the number of rows of each label. The means over the
// labels and the confusion matrix follow.
std::string scores_as_text(const weft::Confusion& confusion, const std::vector<std::string>& labels);
// Returns {"labels": [{"label", "precision", "recall", "f1", "rows", "predicted"}], "macro": {"precision", "recall",
// "f1"}, "confusion": [[…]]}, where confusion[i][j] counts the rows of label i for which the model predicted label j.
nlohmann::ordered_json scores_as_json(const weft::Confusion& confusion, const std::vector<std::string>& labels);
