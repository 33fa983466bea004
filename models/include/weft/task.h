/// \file
/// Tasks: what a model predicts. A task's Data (weft/data.h) defines its batches, its loss and its metrics.
#pragma once
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// What a model predicts.
enum class Task {
  causal_lm,   ///< each symbol, from those before it
  masked_lm,   ///< symbols that are masked, from those on both sides
  classifier,  ///< the class of a whole text
};

const char* task_name(Task task) noexcept;     ///< "causal-lm", "masked-lm" or "classifier"
Task task_from_name(const std::string& name);  ///< throws an Error if there is none
std::vector<std::string> tasks();              ///< their names

/// What a task learns from.
enum class Source {
  text,  ///< one text, whose symbols it predicts
  rows,  ///< rows of a text and a label each; it predicts the label, and its outputs are classes
};
/// rows for a classifier, otherwise text.
Source task_source(Task task) noexcept;

}  // namespace weft
#pragma GCC visibility pop
