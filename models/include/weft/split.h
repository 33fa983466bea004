/// \file
/// Labelled texts divided at random by a seed: a part that is held out, folds, each label in proportion. Rows with the same
/// text are always on one side; what is in proportion, to within one, is the different texts of each label and of all.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/labelled_texts.h"

#pragma GCC visibility push(default)
namespace weft {

/// Takes a share of the rows out of `all` and gives those, for validation or a test: at least one text, not all of them.
/// What stays and what is given is in its former order. Error unless 0 < share < 1 and there are two different texts.
LabelledTexts hold_out(LabelledTexts& all, double share, std::uint64_t seed);

/// Takes the rows of one of `folds` parts out of `all` and gives those; the parts 0 … folds - 1 are all rows together.
/// Error unless 0 <= fold < folds, folds >= 2, and there are as many different texts.
LabelledTexts take_fold(LabelledTexts& all, std::int64_t fold, std::int64_t folds, std::uint64_t seed);

/// Takes every tenth row out of `all` and gives those; of less than ten rows the last. So an earlier weft divided the
/// rows of its runs: it depends on their order, which new runs should not.
LabelledTexts every_tenth(LabelledTexts& all);

/// The names of the labels that no row has.
std::vector<std::string> absent_labels(const LabelledTexts& texts);

}  // namespace weft
#pragma GCC visibility pop
