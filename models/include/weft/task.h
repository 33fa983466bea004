// Tasks: what a model predicts. The form of a task's batches, its loss and its metrics are its Data's (weft/data.h).
#pragma once
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace weft {

enum class Task { causal_lm, masked_lm, classifier };

const char* task_name(Task task) noexcept;     // "causal-lm", "masked-lm", "classifier"
Task task_from_name(const std::string& name);  // Error if it is none of those
std::vector<std::string> tasks();              // their names

// What a task learns from: a text, of which it predicts symbols, or rows of a text and a label each, of which it
// predicts the label: a model's outputs are then classes.
enum class Source { text, rows };
Source task_source(Task task) noexcept;

}  // namespace weft
#pragma GCC visibility pop
