/// \file
/// Labeled rows in memory as the training data of any task: one function for all tasks that learn from rows.
#pragma once
#include <cstdint>
#include <memory>

#include "weft/classifier_data.h"
#include "weft/frame_rows.h"
#include "weft/model.h"
#include "weft/target_rows.h"
#include "weft/tokenizer.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// What a model reads from rows and what it predicts.
struct RowTask {
  TargetKind targets = {};                          ///< the task and its outputs, see find_targets()
  InputSpec input = {};                             ///< rows of numbers: see frame_input()
  std::shared_ptr<const Tokenizer> tokenizer = {};  ///< rows of texts: the model's tokenizer
};

/// How rows become batches. Except for `padding`, options that don't apply to the task and the rows must have their
/// default values.
struct TaskDataOptions {
  std::int64_t length = 0;          ///< the maximum length of a sequence
  std::int64_t batch = 32;          ///< the number of rows, or of pairs, in a batch
  Padding padding = Padding::full;  ///< classifiers of texts: see ClassifierData; ignored for others
  double word_dropout = 0;          ///< classifiers of texts: see ClassifierData
  Augmentation augmentation = {};   ///< pictures: random changes in training
  LearningOptions learning = {};    ///< what the run minimizes
};

/// Returns the kind of the tokenizer that is learned for a task by default: "whitespace" for tagging, "characters" for
/// language models, and "words" for all other tasks.
const char* usual_tokenizer(Task task) noexcept;

/// Returns all texts from which a tokenizer for the task learns: the texts of the rows, of a pair both texts, and for
/// retrieval also the labels, which are texts. The rows must exist as long as the result.
Texts texts_to_learn(const LabeledTexts& rows, Task task);

/// Makes the data of a task: ClassifierData, PairData, target_data() or frame_data(), whichever fits the task and the
/// rows. Throws their Errors, and an Error for an option that must have its default value.
std::unique_ptr<Data> task_data(LabeledTexts training, LabeledTexts validation, const RowTask& task,
                                const TaskDataOptions& options);

}  // namespace weft
WEFT_PUBLIC_END
