/// \file
/// Texts whose labels are the targets of other tasks: numbers, several labels, or a tag for each word.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/balance.h"
#include "weft/labeled_texts.h"
#include "weft/row_data.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// The meaning of the labels of some rows.
struct TargetKind {
  Task task = Task::regression;      ///< classifier, regression, multilabel, tagging or retrieval
  std::vector<std::string> outputs;  ///< the names of the predicted numbers, of the labels, or of the tags
  OutputSpec output = {};            ///< regression: the mean and the standard deviation of the targets
};

/// Finds the outputs of a task in the labels of rows:
/// - classifier: a label is the name of a class. The outputs are the labels of the rows.
/// - regression: a label is one or more numbers, separated by blanks. The outputs are "value", or "value 1", "value 2",
///   …
/// - multilabel: a label is one or more names, separated by "|". Blanks around the names are ignored. "|" alone stands
///   for a row without a label; an empty label causes an Error.
/// - tagging: a label is a tag for each word of the text, separated by blanks.
/// - retrieval: a label is a text, and there are no outputs.
///
/// If a label has another format, throws an Error that quotes the row. Also throws an Error for any other task.
TargetKind find_targets(Task task, const LabeledTexts& rows);

/// Makes the data for the targets that `kind` describes. The row of a text is [cls], its symbols and [sep], as in
/// ClassifierData, with at most `length` tokens. For tagging, a row is the first `length` symbols of the text, and the
/// text must have one symbol for each tag. Throws an Error that quotes the row if a label has the wrong format or is
/// not among the outputs.
std::unique_ptr<RowData> target_data(const LabeledTexts& training, const LabeledTexts& validation,
                                     const TargetKind& kind, std::shared_ptr<const Tokenizer> tokenizer,
                                     std::int64_t length, std::int64_t batch, const LearningOptions& learning = {});

}  // namespace weft
WEFT_PUBLIC_END
