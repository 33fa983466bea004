/// \file
/// Splits labeled texts at random into a held-out set and the rest, or into folds. A seed determines the split. Rows
/// with the same text always stay together, so the sizes of the parts are counted in distinct texts. Each part gets the
/// same share of the texts of every label, to within one text.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "weft/labeled_texts.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// Removes the fraction `share` of the rows from `all` and returns them as a validation or test set. The result has at
/// least one text, and at least one text remains in `all`. Both sets keep the order of the rows. Throws an Error unless
/// 0 < share < 1 and there are at least two distinct texts.
LabeledTexts hold_out(LabeledTexts& all, double share, std::uint64_t seed);

/// Removes the rows of one of `folds` folds from `all` and returns them. Each row belongs to exactly one of the folds 0
/// … folds - 1. Throws an Error unless 0 <= fold < folds, folds >= 2, and there are at least `folds` distinct texts.
LabeledTexts take_fold(LabeledTexts& all, std::int64_t fold, std::int64_t folds, std::uint64_t seed);

/// Removes every tenth row from `all` and returns these rows, or the last row if there are fewer than ten. An earlier
/// version of weft split the rows of its runs in this way. The result depends on the order of the rows, so new runs
/// should not use it.
LabeledTexts every_tenth(LabeledTexts& all);

/// Returns the names of the labels that no row has.
std::vector<std::string> absent_labels(const LabeledTexts& texts);

}  // namespace weft
WEFT_PUBLIC_END
