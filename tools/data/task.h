// The tasks of weft data: rows that are generated exactly, from a seed.
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
  // Adds the task's own options.
  virtual void add_to(CLI::App& command) = 0;
  // UsageError for options that contradict each other.
  virtual void check() const = 0;
  // One line that describes the task with its options.
  virtual std::string description() const = 0;
  // Makes a row, symbols separated by blanks, from these random numbers. False if they make no valid row.
  virtual bool make(const weft::Random& random, Row& row) const = 0;
  // The label of a text. Error if the text doesn't belong to the task.
  virtual std::string answer(const std::string& text) const = 0;
};

struct TaskKind {
  const char* name;
  const char* title;    // one line
  const char* meaning;  // for the help: description, source, baseline
  std::unique_ptr<GeneratedTask> (*make)();
};

TaskKind listops_kind();
TaskKind recall_kind();

}  // namespace data
