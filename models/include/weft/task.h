/// \file
/// Tasks: what a model predicts. A task's Data (weft/data.h) defines its batches, its loss and its metrics. A host
/// program may add its own tasks.
#pragma once
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// What a model predicts. register_task() returns further values.
enum class Task {
  causal_lm,   ///< each symbol, from those before it
  masked_lm,   ///< symbols that are masked, from those on both sides
  classifier,  ///< the class of a whole sequence
  regression,  ///< numbers of a whole sequence
  multilabel,  ///< for each label, whether a whole sequence has it
  tagging,     ///< the class of each token
  forecast,    ///< the numbers that follow a sequence of numbers
  retrieval,   ///< the vector of a sequence, near those of sequences that belong to it (weft/pair_data.h)
};

/// What a task learns from.
enum class Source {
  text,  ///< one text, whose symbols it predicts
  rows,  ///< rows, each with a target
};

/// The shape of a model's outputs for b sequences of n tokens.
enum class OutputShape {
  symbols,    ///< (b, n, vocabulary)
  per_row,    ///< (b, outputs)
  per_token,  ///< (b, n, outputs)
};

/// What an architecture has to know about a task.
struct TaskKind {
  std::string name;                            ///< "classifier", …
  Source source = Source::rows;                ///< what it learns from
  OutputShape outputs = OutputShape::per_row;  ///< the head
  bool causal = false;                         ///< no output depends on later tokens
};

/// The kind of a task. The reference stays valid for the rest of the process. Throws an Error for a value that is
/// neither weft's nor from register_task().
const TaskKind& task_kind(Task task);
/// Adds a task to weft's own, for the rest of the process. If its name is empty or taken, this throws an Error and adds
/// nothing. An architecture can do it if it has a task with the same outputs and causality. Any thread may call these
/// functions at any time.
Task register_task(TaskKind kind);

const char* task_name(Task task) noexcept;     ///< "causal-lm", "masked-lm", …; "unknown" if it is no task
Task task_from_name(const std::string& name);  ///< throws an Error if there is none
std::vector<std::string> tasks();              ///< their names

/// TaskKind::source. For a value that is no task it is rows.
Source task_source(Task task) noexcept;

}  // namespace weft
#pragma GCC visibility pop
