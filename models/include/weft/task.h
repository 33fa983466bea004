/// \file
/// Tasks: what a model predicts. The form of a task's batches, its loss and its metrics are its Data's (weft/data.h).
#pragma once
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

/// What is predicted.
enum class Task {
  causal_lm,   ///< each symbol, from those before it
  masked_lm,   ///< symbols that are masked, from those on both sides
  classifier,  ///< the class of a whole text
};

const char* task_name(Task task) noexcept;     ///< "causal-lm", "masked-lm" or "classifier"
Task task_from_name(const std::string& name);  ///< Error if it is none of those
std::vector<std::string> tasks();              ///< their names

/// What a task learns from.
enum class Source {
  text,  ///< one text, of which it predicts symbols
  rows,  ///< rows of a text and a label each, of which it predicts the label: a model's outputs are classes
};
/// rows for a classifier, else text.
Source task_source(Task task) noexcept;

}  // namespace weft
#pragma GCC visibility pop
