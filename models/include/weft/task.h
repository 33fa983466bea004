/// \file
/// Tasks: what a model predicts. The Data of a task (weft/data.h) defines its batches, its loss and its metrics. A host
/// program may add its own tasks.
#pragma once
#include <string>
#include <vector>

#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
namespace weft {

/// What a model predicts. register_task() returns further values.
enum class Task {
  causal_lm,   ///< each symbol, from the symbols before it
  masked_lm,   ///< masked symbols, from the symbols on both sides
  classifier,  ///< the class of a whole sequence
  regression,  ///< numbers for a whole sequence
  multilabel,  ///< for each label, whether it applies to the whole sequence
  tagging,     ///< a class for each token
  forecast,    ///< the numbers that follow a sequence of numbers
  retrieval,   ///< a vector for a sequence, close to the vectors of matching sequences (weft/pair_data.h)
};

/// The kind of data from which a task learns.
enum class Source {
  text,  ///< one text, whose symbols the model predicts
  rows,  ///< rows, each with a target
};

/// The shape of a model's outputs for b sequences of n tokens.
enum class OutputShape {
  symbols,    ///< (b, n, vocabulary)
  per_row,    ///< (b, outputs)
  per_token,  ///< (b, n, outputs)
};

/// What an architecture needs to know about a task.
struct TaskKind {
  std::string name;                            ///< for example "classifier"
  Source source = Source::rows;                ///< the kind of data from which it learns
  OutputShape outputs = OutputShape::per_row;  ///< the shape of the head's outputs
  bool causal = false;                         ///< no output depends on later tokens
};

/// Returns the kind of a task. The reference stays valid for the rest of the process. Throws an Error for a value that
/// weft does not define and register_task() did not return.
const TaskKind& task_kind(Task task);
/// Adds a task to weft's own, for the rest of the process. Throws an Error and adds nothing if its name is empty or
/// taken. An architecture supports the new task if it supports a task with the same outputs and causality. Any thread
/// may call these functions at any time.
Task register_task(TaskKind kind);

const char* task_name(Task task) noexcept;  ///< "causal-lm", "masked-lm", …; "unknown" for a value that is not a task
Task task_from_name(const std::string& name);  ///< throws an Error for an unknown name
std::vector<std::string> tasks();              ///< the names of all tasks

/// Returns TaskKind::source, or `rows` for a value that is not a task.
Source task_source(Task task) noexcept;

}  // namespace weft
WEFT_PUBLIC_END
