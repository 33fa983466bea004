// The tasks whose data weft data generates. The seed exactly determines every row.
#pragma once
#include <weft/random.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

namespace data {

struct Row {
  std::string text, label;
};

class GeneratedTask {
 public:
  virtual ~GeneratedTask() = default;
  // Adds the options that only this task has.
  virtual void add_to(CLI::App& command) = 0;
  // Throws a UsageError if options contradict each other.
  virtual void check() const = 0;
  // Returns one line that describes the task and its options.
  virtual std::string description() const = 0;
  // Makes a row from the random numbers. The symbols of the row's text are separated by spaces. Returns false if the
  // numbers make no valid row.
  virtual bool make(const weft::Random& random, Row& row) const = 0;
  // Returns the correct label of a text. Throws an Error if the text doesn't belong to the task.
  virtual std::string answer(const std::string& text) const = 0;
};

struct TaskKind {
  const char* name;
  const char* title;    // one line
  const char* meaning;  // for the help: the description, the source and the baseline
  std::unique_ptr<GeneratedTask> (*make)();
};

TaskKind listops_kind();
TaskKind recall_kind();

}  // namespace data
