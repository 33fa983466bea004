// Determines the number of steps of weft train.
#pragma once
#include <cstdint>
#include <string>

// The size of the training set.
struct TrainingSize {
  std::int64_t size = 0;   // number of rows, or of tokens of a text
  std::int64_t batch = 1;  // number of rows or tokens in a batch
  bool rows = false;
};

struct ChosenSteps {
  std::int64_t steps;
  std::string note;  // "steps: 3,750, 5 epochs of 24,000 rows"
};

// Returns the number of steps in this number of epochs, with `micro_batches` batches in each step.
ChosenSteps steps_of_epochs(double epochs, const TrainingSize& size, std::int64_t micro_batches);

// Returns the default number of steps, which is five epochs within limits. There are at least 1,000 steps for rows and
// 2,000 steps for a text, because a small data set needs many passes. However, this minimum never causes more than 100
// epochs. There are at most 20,000 steps. However, rows get at least one epoch, even if an epoch has more steps. Texts
// do not, because a text may be so long that an epoch would take too much time.
ChosenSteps usual_steps(const TrainingSize& size, std::int64_t micro_batches);

// Returns a description of the rule of usual_steps() for the help page.
std::string describe_usual_steps();

// Formats a number with separators, as in "1,234,567".
std::string grouped(std::int64_t count);
