// How many steps weft train takes.
#pragma once
#include <cstdint>
#include <string>

// The size of the training set.
struct TrainingSize {
  std::int64_t size = 0;   // rows, or tokens of a text
  std::int64_t batch = 1;  // of these in a batch
  bool rows = false;
};

struct ChosenSteps {
  std::int64_t steps;
  std::string note;  // "steps: 3,750, 5 epochs of 24,000 rows"
};

// The steps of that many epochs, with `micro_batches` batches in each step.
ChosenSteps steps_of_epochs(double epochs, const TrainingSize& size, std::int64_t micro_batches);

// The default number of steps: five epochs. Rows take at least 1,000 steps and a text 2,000, because few data need many
// passes, but no more than 100 epochs. Both take at most 20,000 steps, but rows at least one epoch. (A text may be so
// long that nobody would wait for an epoch.)
ChosenSteps usual_steps(const TrainingSize& size, std::int64_t micro_batches);

// The same rule as a text for the help page.
std::string describe_usual_steps();

// "1,234,567"
std::string grouped(std::int64_t count);
