// What weft data generates: tasks that are made exactly, of a seed.
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
  // Its own options.
  virtual void add_to(CLI::App& command) = 0;
  // UsageError for options that don't go together.
  virtual void check() const = 0;
  // What there is to say of the task as its options make it, in a line.
  virtual std::string description() const = 0;
  // The row of these random numbers, symbols with blanks between them. False if they make none within the rules.
  virtual bool make(const weft::Random& random, Row& row) const = 0;
  // The label of a text. Error if it is none of the task.
  virtual std::string answer(const std::string& text) const = 0;
};

struct TaskKind {
  const char* name;
  const char* title;    // a line
  const char* meaning;  // for the help: what it is, its source, the baseline
  std::unique_ptr<GeneratedTask> (*make)();
};

TaskKind listops_kind();
TaskKind recall_kind();

}  // namespace data
