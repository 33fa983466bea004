/// \file
/// Texts whose labels are targets of other tasks: numbers, several labels, or a tag for each word.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/balance.h"
#include "weft/labelled_texts.h"
#include "weft/row_data.h"

#pragma GCC visibility push(default)
namespace weft {

/// What the labels of some rows stand for.
struct TargetKind {
  Task task = Task::regression;      ///< regression, multilabel or tagging
  std::vector<std::string> outputs;  ///< the names of the predicted numbers, of the labels, or of the tags
  OutputSpec output = {};            ///< regression: the mean and the deviation of the targets
};

/// Finds the outputs of a task in rows:
/// - regression: a label is a number, or several, separated by blanks; the outputs are "value", or "value 1", "value
///   2", …
/// - multilabel: a label is names, separated by "|", without the blanks around them; it may be empty only as "|", for a
///   row without a label
/// - tagging: a label is a tag for each word of the text, separated by blanks
///
/// Throws an Error that quotes the row if a label is not of this form, or for another task.
TargetKind find_targets(Task task, const LabelledTexts& rows);

/// Data for these targets. A row of a text is [cls], its symbols and [sep], as in ClassifierData, at most `length`
/// tokens. For tagging it is the text's first `length` symbols, of which there must be one for each tag. Throws an
/// Error that quotes the row if a label doesn't fit or if it is not among the outputs.
std::unique_ptr<RowData> target_data(const LabelledTexts& training, const LabelledTexts& validation,
                                     const TargetKind& kind, std::shared_ptr<const Tokenizer> tokenizer,
                                     std::int64_t length, std::int64_t batch, const LearningOptions& learning = {});

}  // namespace weft
#pragma GCC visibility pop
